/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/bench/placing/decisions.h"

#include <stdint.h>
#include <time.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "lib/base/alloc.h"
#include "lib/base/random.h"
#include "testsuite/bench/placing/yard.h"

#define ROUNDS 20u

static const struct yard_shape shape = {
    .packages = 2,
    .numa = 8,
    .cores = 16,
    .threads = 2,
    .gib = 64,
    .cores_per_l3 = 8,
};

static const unsigned sizes[] = {4, 8, 2, 16, 6, 12, 24, 32};

/* CPU time of this process, so that other processes do not count. */
static int64_t
now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static struct pod_view *
make_pod(struct yard *y, unsigned kind)
{
    unsigned cpus = sizes[kind % ARRAY_SIZE(sizes)];

    return yard_pod(y, &(struct yard_request){
                           .cpus = cpus,
                           .gib = cpus / 2,
                           .mib = kind / ARRAY_SIZE(sizes),
                           .numa_policy = "single-numa-node",
                       });
}

/* Adds pods of all sizes until they have half of the CPUs. */
static unsigned
fill_half(struct yard *y, unsigned nodes, struct pod_view **pods, unsigned most)
{
    struct random_source dice = {3};
    unsigned cpus = 0, count = 0;

    while (cpus < nodes * 128 && count < most) {
        unsigned kind = (unsigned)random_below(&dice, ARRAY_SIZE(sizes));
        struct pod_view *pod = make_pod(y, kind);

        if (yard_place(y, pod) == NULL) {
            pod_view_unref(pod);
            break;
        }
        pods[count++] = pod;
        cpus += sizes[kind];
    }
    return count;
}

static double
look_ns(struct yard *y, unsigned nodes)
{
    struct pod_view *pod = make_pod(y, 0);
    int64_t began_us = now_us();

    for (unsigned i = 0; i < ROUNDS; i++)
        yard_look(y, pod);
    began_us = now_us() - began_us;
    pod_view_unref(pod);
    return (double)began_us * 1000 / (ROUNDS * nodes);
}

static const struct yard_shape large_shape = {
    .packages = 4,
    .numa = 64,
    .cores = 8,
    .threads = 2,
    .gib = 16,
    .cores_per_l3 = 8,
};

#define LARGE_NODES  4u
#define LARGE_FILL   40u
#define LARGE_ROUNDS 200u

struct decisions_large
decisions_run_large(unsigned cpus, const char *numa_policy)
{
    struct decisions_large result = {0};
    struct yard *y = yard_new(&large_shape, LARGE_NODES);
    struct random_source dice = {3};
    struct pod_view *there[LARGE_NODES * LARGE_FILL];
    unsigned n = 0;
    struct pod_view *pod;
    int64_t began_us;

    while (n < LARGE_NODES * LARGE_FILL) {
        pod = make_pod(y, (unsigned)random_below(&dice, ARRAY_SIZE(sizes)));
        if (yard_place(y, pod) != NULL)
            there[n++] = pod;
        else
            pod_view_unref(pod);
    }
    pod = yard_pod(y, &(struct yard_request){
                          .cpus = cpus,
                          .gib = cpus / 2,
                          .numa_policy = numa_policy,
                      });
    began_us = now_us();
    for (unsigned i = 0; i < LARGE_ROUNDS; i++)
        yard_look(y, pod);
    result.look_ns = (double)(now_us() - began_us) * 1000 / (LARGE_ROUNDS * LARGE_NODES);
    began_us = now_us();
    for (unsigned i = 0; i < LARGE_ROUNDS; i++) {
        if (yard_place(y, pod) == NULL)
            break;
        yard_remove(y, pod);
    }
    result.decision_us = (double)(now_us() - began_us) / LARGE_ROUNDS;
    pod_view_unref(pod);
    while (n > 0) {
        yard_remove(y, there[--n]);
        pod_view_unref(there[n]);
    }
    yard_free(y);
    return result;
}

/* Each new pod replaces one that leaves, so that the nodes stay half full. */
struct decisions_result
decisions_run(unsigned nodes, unsigned pods, unsigned kinds)
{
    struct decisions_result result = {0};
    struct yard *y = yard_new(&shape, nodes);
    struct random_source dice = {5};
    unsigned most = nodes * 64, n, placed = 0;
    struct pod_view **there = xnew_array(struct pod_view *, most);
    struct pod_view **next = xnew_array(struct pod_view *, pods);
    int64_t began_us, spent_us = 0;

    n = fill_half(y, nodes, there, most);
    result.look_ns = look_ns(y, nodes);
    for (unsigned i = 0; i < pods; i++)
        next[i] = make_pod(y, i % kinds);
    for (unsigned i = 0; i < pods; i++) {
        unsigned leaves = (unsigned)random_below(&dice, n);

        yard_remove(y, there[leaves]);
        pod_view_unref(there[leaves]);
        began_us = now_us();
        placed += yard_place(y, next[i]) != NULL;
        spent_us += now_us() - began_us;
        there[leaves] = next[i];
    }
    result.per_s = 1e6 * pods / (double)spent_us;
    result.placed = placed;
    result.refused = yard_refusals(y);
    for (unsigned i = 0; i < n; i++) {
        yard_remove(y, there[i]);
        pod_view_unref(there[i]);
    }
    free(there);
    free(next);
    yard_free(y);
    return result;
}
