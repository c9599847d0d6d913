/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/bench/placing/mix.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/occupancy.h"
#include "lib/base/alloc.h"
#include "lib/base/heap.h"
#include "lib/base/list.h"
#include "lib/base/random.h"
#include "testsuite/bench/placing/blind.h"
#include "testsuite/bench/placing/yard.h"

#define NUMA    8u
#define CORES   8u /* of each NUMA node */
#define GIB     32u
#define MEAN_S  100.0
#define HORIZON 8000.0
#define WARM_UP 1000.0
#define LOAD    1.1
#define DEPTH   10u /* pods of the queue that are tried */
#define KINDS   512u

static const struct yard_shape shape = {
    .packages = 2,
    .numa = NUMA,
    .cores = CORES,
    .threads = 1,
    .gib = GIB,
    .cores_per_l3 = CORES,
    .has_gpus = true,
};

const char *const mix_names[MIX_STRATEGIES] = {
    [MIX_FIRST_FIT] = "blind first fit",        [MIX_SPREAD] = "blind spread",
    [MIX_REJECTED] = "blind, node refuses",     [MIX_KILN_BEST_EFFORT] = "Kiln, best-effort",
    [MIX_KILN_RESTRICTED] = "Kiln, restricted",
};

struct job {
    struct blind_job ask; /* cores, memory, GPUs */
    unsigned kind;        /* jobs of one kind have the same request */
    double seconds;
    double end;
    struct list link; /* waiting */
    size_t place_in_heap;
    /* Its place */
    struct pod_view *pod;
    struct blind_place place;
};

struct pod_run {
    enum mix_strategy strategy;
    enum mix_sizes sizes;
    struct random_source dice;
    struct yard *yard;
    struct blind *blind;
    struct list waiting;
    struct heap *running;
    double now, busy_since;
    double core_seconds; /* used, after the warm-up */
    unsigned cores_used;
    unsigned n_nodes, n_waiting;
    struct mix_result result;
    uint64_t aligned, single, cores;
};

static double
uniform(struct pod_run *r)
{
    return ((double)(random_next(&r->dice) >> 11) + 0.5) / 9007199254740992.0;
}

static double
exponential(struct pod_run *r, double mean)
{
    return -mean * log(uniform(r));
}

/* Cores, and how many of a hundred jobs request that number. */
static const unsigned popular[][2] = {
    {1, 18}, {2, 14},  {3, 4},  {4, 16}, {6, 5},  {8, 16},
    {12, 5}, {16, 10}, {24, 3}, {32, 6}, {48, 1}, {64, 2},
};

static double
mean_cores(const struct pod_run *r)
{
    double sum = 0;

    if (r->sizes == MIX_EVEN)
        return (1 + NUMA * CORES) / 2.0;
    for (size_t i = 0; i < ARRAY_SIZE(popular); i++)
        sum += popular[i][0] * popular[i][1];
    return sum / 100;
}

static unsigned
draw_size(struct pod_run *r)
{
    unsigned which, i = 0;

    if (r->sizes == MIX_EVEN)
        return 1 + (unsigned)random_below(&r->dice, NUMA * CORES);
    which = (unsigned)random_below(&r->dice, 100);
    while (which >= popular[i][1])
        which -= popular[i++][1];
    return popular[i][0];
}

static struct job *
draw_job(struct pod_run *r)
{
    struct job *j = xnew(struct job);
    unsigned memory = 1u << random_below(&r->dice, 3);
    bool has_gpus = random_below(&r->dice, 10) == 0;

    j->ask.cores = draw_size(r);
    j->ask.gib = j->ask.cores * memory;
    if (has_gpus)
        j->ask.gpus = (j->ask.cores + CORES - 1) / CORES;
    j->kind = ((j->ask.cores - 1) * 4 + (unsigned)__builtin_ctz(memory)) * 2 + has_gpus;
    j->seconds = exponential(r, MEAN_S);
    list_init(&j->link);
    j->place_in_heap = HEAP_NOWHERE;
    return j;
}

/* The smallest number of NUMA nodes that cores, memory and GPUs need on an
 * empty machine.
 */
static unsigned
fewest(const struct blind_job *ask)
{
    unsigned cores = (ask->cores + CORES - 1) / CORES;
    unsigned memory = (ask->gib + GIB - 1) / GIB;
    unsigned most = cores > memory ? cores : memory;

    return most > ask->gpus ? most : ask->gpus;
}

static unsigned
width_of(const struct job *j, const struct node_view *node)
{
    const struct holding *h = j->pod->holding;
    uint64_t nodes = 0;

    for (unsigned i = 0; i < h->n_cores; i++)
        nodes |= UINT64_C(1) << node->ledger.occupancy->topology_index->cores[h->cores[i]].numa;
    for (unsigned i = 0; i < h->n_devices; i++)
        nodes |= UINT64_C(1) << h->devices[i]; /* one on each NUMA node */
    for (unsigned i = 0; i < h->n_memory; i++)
        nodes |= UINT64_C(1) << h->memory[i].numa;
    return (unsigned)__builtin_popcountll(nodes);
}

/* Returns the number of NUMA nodes on which it was placed; 0: none. */
static unsigned
place_by_kiln(struct pod_run *r, struct job *j)
{
    struct node_view *node;

    if (j->pod == NULL)
        j->pod =
            yard_pod(r->yard, &(struct yard_request){
                                  .cpus = j->ask.cores,
                                  .gib = j->ask.gib,
                                  .gpus = j->ask.gpus,
                                  .numa_policy = r->strategy == MIX_KILN_RESTRICTED ? "restricted"
                                                                                    : "best-effort",
                              });
    node = yard_place(r->yard, j->pod);
    return node != NULL ? width_of(j, node) : 0;
}

static unsigned
place(struct pod_run *r, struct job *j)
{
    unsigned width;

    if (r->yard != NULL)
        return place_by_kiln(r, j);
    width = blind_put(r->blind, &j->ask, r->strategy == MIX_SPREAD, &j->place);
    if (width > fewest(&j->ask) && r->strategy == MIX_REJECTED) {
        r->result.refused++;
        blind_take_away(r->blind, &j->ask, &j->place);
        return 0;
    }
    return width;
}

static void
account(struct pod_run *r)
{
    if (r->now > WARM_UP) {
        double since = r->busy_since > WARM_UP ? r->busy_since : WARM_UP;

        r->core_seconds += r->cores_used * (r->now - since);
    }
    r->busy_since = r->now;
}

static bool
start(struct pod_run *r, struct job *j)
{
    unsigned width = place(r, j);

    if (width == 0)
        return false;
    account(r);
    r->cores_used += j->ask.cores;
    j->end = r->now + j->seconds;
    heap_push(r->running, j);
    r->result.placed++;
    r->cores += j->ask.cores;
    r->aligned += width <= fewest(&j->ask);
    r->single += width == 1;
    return true;
}

/* Tries every waiting job in turn; skips one if another of its kind has just
 * failed.
 */
static void
start_waiting(struct pod_run *r)
{
    bool has_failed[KINDS] = {0};
    unsigned seen = 0;

    list_foreach_safe(link, &r->waiting)
    {
        struct job *j = container_of(link, struct job, link);

        if (seen++ == DEPTH)
            return;
        if (has_failed[j->kind])
            continue;
        if (start(r, j)) {
            list_remove(&j->link);
            r->n_waiting--;
        } else {
            has_failed[j->kind] = true;
        }
    }
}

static void
job_free(struct job *j)
{
    pod_view_unref(j->pod);
    free(j);
}

static void
end_job(struct pod_run *r, struct job *j)
{
    account(r);
    r->cores_used -= j->ask.cores;
    if (r->yard != NULL)
        yard_remove(r->yard, j->pod);
    else
        blind_take_away(r->blind, &j->ask, &j->place);
    job_free(j);
}

static bool
ends_before(const void *a, const void *b, void *context)
{
    (void)context;
    return ((const struct job *)a)->end < ((const struct job *)b)->end;
}

static void
simulate(struct pod_run *r)
{
    double gap = MEAN_S * mean_cores(r) / (LOAD * r->n_nodes * NUMA * CORES);
    double next = exponential(r, gap);

    while (r->now < HORIZON) {
        struct job *exit_record = heap_count(r->running) > 0 ? heap_top(r->running) : NULL;

        if (exit_record != NULL && exit_record->end <= next) {
            heap_pop(r->running);
            r->now = exit_record->end;
            end_job(r, exit_record);
            start_waiting(r);
        } else {
            struct job *j = draw_job(r);

            r->now = next;
            next += exponential(r, gap);
            list_add_last(&r->waiting, &j->link);
            r->n_waiting++;
            if (r->n_waiting <= DEPTH && start(r, j)) {
                list_remove(&j->link);
                r->n_waiting--;
            }
        }
    }
    account(r);
}

static void
clean_up(struct pod_run *r)
{
    while (heap_count(r->running) > 0)
        end_job(r, heap_pop(r->running));
    list_foreach_safe(link, &r->waiting)
    {
        struct job *j = container_of(link, struct job, link);

        list_remove(&j->link);
        job_free(j);
    }
    heap_free(r->running);
    yard_free(r->yard);
    blind_free(r->blind);
}

struct mix_result
mix_run(enum mix_strategy strategy, enum mix_sizes sizes, unsigned nodes)
{
    struct pod_run r = {.strategy = strategy, .sizes = sizes, .dice = {7}, .n_nodes = nodes};

    list_init(&r.waiting);
    r.running = heap_new(ends_before, NULL, offsetof(struct job, place_in_heap));
    if (strategy >= MIX_KILN_BEST_EFFORT)
        r.yard = yard_new(&shape, nodes);
    else
        r.blind = blind_new(NUMA, CORES, GIB, nodes);
    simulate(&r);
    r.result.aligned = (double)r.aligned / r.result.placed;
    r.result.width_1 = (double)r.single / r.result.placed;
    r.result.mean_cores = (double)r.cores / r.result.placed;
    r.result.utilization = r.core_seconds / ((HORIZON - WARM_UP) * nodes * NUMA * CORES);
    if (r.yard != NULL)
        r.result.refused = yard_refusals(r.yard);
    clean_up(&r);
    return r.result;
}
