/* SPDX-License-Identifier: Apache-2.0 */
/* gang [NODES [GANGS]] - gangs through the scheduler alone, with an API in memory
 *
 * GANGS (1000) PodGroups of 2 to 256 pods (16 on average), each pod on its own
 * node, over NODES (5000) nodes with room for all of them: decisions per second of
 * the scheduler's thread; also by the topology, racks of 16 nodes in blocks of 256, and
 * how many of the gangs are then in as few racks as can be. Then the nodes are full of pods with time limits, and a
 * gang of 2, 16 and 256 pods waits: what the API has to write while its reservation
 * moves. The same with the pods alone, without a group, is the comparison.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "controller/scheduler/informers.h"
#include "controller/scheduler/scheduler.h"
#include "controller/scheduler/state/topology_levels.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/random.h"
#include "testsuite/lib/fake_client.h"

#define CORES 16 /* of a node; a pod of a gang takes 4 */
#define RACK  16 /* nodes */
#define BLOCK 256

static int64_t
thread_cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

struct cluster {
    struct fake_client *api;
    struct scheduler *scheduler;
    struct informers *informers;
    int64_t cpu_ns; /* of the scheduler */
};

/* Answers of the API, which are not the scheduler's work, are not counted. */
static void
work(struct cluster *c)
{
    bool is_more = true;

    while (is_more) {
        int64_t began_ns;

        fake_client_run(c->api);
        began_ns = thread_cpu_ns();
        is_more = scheduler_work(c->scheduler, 1000);
        c->cpu_ns += thread_cpu_ns() - began_ns;
    }
    scheduler_tick(c->scheduler);
    fake_client_run(c->api);
}

static void
cluster_init(struct cluster *c, unsigned nodes, struct topology_levels *topology)
{
    struct error err = {0};

    *c = (struct cluster){.api = fake_client_new()};
    if (scheduler_new(
            &(struct scheduler_settings){
                .client = fake_client_client(c->api),
                .clock = &clock_system,
                .seed = 1,
                .topology = topology,
            },
            &c->scheduler, &err)
        < 0) {
        fprintf(stderr, "gang: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
    for (unsigned i = 0; i < nodes; i++) {
        CLEANUP_FREE char *json =
            xasprintf("{\"metadata\":{\"name\":\"n%u\",\"labels\":{\"block\":\"b%u\","
                      "\"rack\":\"r%u\"}},\"status\":{\"allocatable\":{\"cpu\":\"%d\","
                      "\"memory\":\"64Gi\",\"pods\":\"99\"}}}",
                      i, i / BLOCK, i / RACK, CORES);

        fake_client_put(c->api, &node_kind, json);
    }
    c->informers = informers_new(c->scheduler, fake_client_client(c->api), NULL, NULL);
    fake_client_run(c->api);
    scheduler_start(c->scheduler);
    work(c);
}

static void
cluster_fini(struct cluster *c)
{
    informers_free(c->informers);
    scheduler_free(c->scheduler);
    fake_client_free(c->api);
}

static void
add_group(struct cluster *c, const char *name, unsigned size)
{
    CLEANUP_FREE char *json =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"d\",\"annotations\":{"
                  "\"kiln.hpc/uid\":\"1001\"}},\"spec\":{\"schedulingPolicy\":{\"gang\":{"
                  "\"minCount\":%u}},\"disruptionMode\":{\"all\":{}},\"onePerNode\":true}}",
                  name, size);

    fake_client_put(c->api, &pod_group_kind, json);
}

static void
add_pods(struct cluster *c, const char *group, unsigned size, unsigned cpus, unsigned limit_s,
         const char *more)
{
    for (unsigned i = 0; i < size; i++) {
        CLEANUP_FREE char *json =
            xasprintf("{\"metadata\":{\"name\":\"%s-%u\",\"namespace\":\"d\"},\"spec\":{"
                      "\"activeDeadlineSeconds\":%u,\"securityContext\":{\"runAsUser\":1001},"
                      "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":"
                      "\"%u\",\"memory\":\"1Gi\"}}}]%s}}",
                      group, i, limit_s, cpus, more);

        fake_client_put(c->api, &pod_kind, json);
    }
}

/* From 2 to 256, 16 on average. */
static unsigned
draw_size(struct random_source *dice)
{
    static const struct {
        unsigned size, percent;
    } sizes[] = {{2, 27}, {4, 24}, {8, 18}, {16, 14}, {32, 9}, {64, 5}, {128, 2}, {256, 1}};
    uint64_t at = random_below(dice, 100);
    unsigned i = 0;

    while (at >= sizes[i].percent)
        at -= sizes[i++].percent;
    return sizes[i].size;
}

/* Whether it is in as few racks as it could be if all of them were empty. */
static bool
is_near(const struct cluster *c, unsigned gang, unsigned size)
{
    unsigned racks[256], count = 0;

    for (unsigned i = 0; i < size; i++) {
        char name[32];
        const char *node;
        unsigned rack, at = 0;

        snprintf(name, sizeof(name), "g%u-%u", gang, i);
        node = pod_of(fake_client_find(c->api, &pod_kind, "d", name))->spec.node_name;
        if (node == NULL)
            return false;
        rack = (unsigned)strtoul(node + 1, NULL, 10) / RACK;
        while (at < count && racks[at] != rack)
            at++;
        if (at == count)
            racks[count++] = rack;
    }
    return count <= (size + RACK - 1) / RACK;
}

/* Gangs from number `first` on; returns how many pods they have. */
static unsigned
submit(struct cluster *c, struct random_source *dice, unsigned first, unsigned gangs, bool is_gang,
       unsigned *ret_sizes)
{
    unsigned pods = 0;

    for (unsigned i = first; i < first + gangs; i++) {
        CLEANUP_FREE char *name = xasprintf("g%u", i);
        unsigned size = ret_sizes[i] = draw_size(dice);
        char more[80] = "";

        if (is_gang)
            add_group(c, name, size);
        if (is_gang)
            snprintf(more, sizeof(more), ",\"schedulingGroup\":{\"podGroupName\":\"%s\"}", name);
        add_pods(c, name, size, 4, 3600, more);
        pods += size;
    }
    return pods;
}

static void
report(const struct cluster *c, const char *what, unsigned first, unsigned gangs, unsigned pods,
       const unsigned *sizes, bool is_gang)
{
    unsigned placed = 0, n_near = 0;

    for (unsigned i = first; i < first + gangs; i++) {
        char name[32];

        snprintf(name, sizeof(name), "g%u-0", i);
        placed += pod_of(fake_client_find(c->api, &pod_kind, "d", name))->spec.node_name != NULL;
        n_near += is_gang && is_near(c, i, sizes[i]);
    }
    printf("%-28s %6u of %u placed, %u pods: %8.0f gangs/s, %8.0f pods/s", what, placed, gangs,
           pods, gangs / ((double)c->cpu_ns / 1e9), pods / ((double)c->cpu_ns / 1e9));
    if (is_gang)
        printf(", %.1f %% in fewest racks", 100.0 * n_near / gangs);
    printf("\n");
}

static void
end_gang(struct cluster *c, unsigned gang, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        char name[32];

        snprintf(name, sizeof(name), "g%u-%u", gang, i);
        fake_client_remove(c->api, &pod_kind, "d", name);
    }
}

/* Into an empty cluster; then a random half of the gangs ends, and as many others come. */
static void
decide(unsigned nodes, unsigned gangs, bool is_gang, struct topology_levels *topology)
{
    CLEANUP_FREE unsigned *sizes = xnew_array(unsigned, 2 * gangs);
    const unsigned half = gangs / 2;
    struct random_source dice = {.state = 7};
    struct cluster c;
    unsigned pods;

    cluster_init(&c, nodes, topology);
    pods = submit(&c, &dice, 0, gangs, is_gang, sizes);
    c.cpu_ns = 0;
    work(&c);
    report(&c,
           !is_gang           ? "the same pods, one by one"
           : topology != NULL ? "gangs, by the topology"
                              : "gangs",
           0, gangs, pods, sizes, is_gang);
    if (is_gang && half > 0) {
        for (unsigned i = 0; i < gangs; i++)
            if (random_below(&dice, 2) == 0)
                end_gang(&c, i, sizes[i]);
        work(&c);
        pods = submit(&c, &dice, gangs, half, true, sizes);
        c.cpu_ns = 0;
        work(&c);
        report(&c, "... when half have ended", gangs, half, pods, sizes, true);
    }
    cluster_fini(&c);
}

static unsigned
count_writes(const struct cluster *c)
{
    return fake_client_calls(c->api, CLIENT_MERGE_PATCH, "status")
           + fake_client_calls(c->api, CLIENT_STRATEGIC_PATCH, "status")
           + fake_client_calls(c->api, CLIENT_CREATE, NULL)
           + fake_client_calls(c->api, CLIENT_REPLACE, NULL)
           + fake_client_calls(c->api, CLIENT_REPLACE, "status");
}

/* Writes have a rate limit, so they go on for some time. */
static void
work_until_quiet(struct cluster *c)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    unsigned quiet = 0;

    while (quiet < 5) {
        unsigned before = count_writes(c);

        work(c);
        quiet = count_writes(c) == before ? quiet + 1 : 0;
        nanosleep(&pause, NULL);
    }
}

/* Every node is full until its pod's limit, each at another time. Then pods end before
 * their limits, so the reservation of the gang moves forward.
 */
static void
wait_with(unsigned size)
{
    const unsigned nodes = size * 4, moves = 50;
    unsigned before, first;
    struct cluster c;

    cluster_init(&c, nodes, NULL);
    for (unsigned i = 0; i < nodes; i++) {
        CLEANUP_FREE char *name = xasprintf("full%u", i);

        add_pods(&c, name, 1, CORES, 3600 + 60 * i, "");
    }
    work(&c);
    before = count_writes(&c);
    add_group(&c, "wide", size);
    add_pods(&c, "wide", size, CORES, 3600, ",\"schedulingGroup\":{\"podGroupName\":\"wide\"}");
    work_until_quiet(&c);
    first = count_writes(&c) - before;
    before += first;
    for (unsigned i = 0; i < moves; i++) {
        CLEANUP_FREE char *name = xasprintf("full%u-0", size + i);

        if (i >= size - 1)
            break; /* with one more it starts */
        fake_client_remove(c.api, &pod_kind, "d", name);
        work_until_quiet(&c);
    }
    printf(
        "a gang of %3u waits: %u writes at first, %.2f for each of %u moves of its reservation\n",
        size, first, (double)(count_writes(&c) - before) / (size - 1 < moves ? size - 1 : moves),
        size - 1 < moves ? size - 1 : moves);
    cluster_fini(&c);
}

/* Every node is full of a less important pod: what one decision costs that finds victims
 * for all pods of the gang.
 */
static void
preempt_with(unsigned nodes, unsigned size)
{
    struct cluster c;
    size_t before;

    cluster_init(&c, nodes, NULL);
    for (unsigned i = 0; i < nodes; i++) {
        CLEANUP_FREE char *name = xasprintf("low%u", i);

        add_pods(&c, name, 1, CORES, 3600, ",\"priority\":1");
    }
    work(&c);
    before = fake_client_count(c.api, &pod_kind);
    add_group(&c, "high", size);
    add_pods(&c, "high", size, CORES, 3600,
             ",\"priority\":10,\"schedulingGroup\":{\"podGroupName\":\"high\"}");
    fake_client_run(c.api);
    c.cpu_ns = -thread_cpu_ns();
    (void)scheduler_work(c.scheduler, 1);
    c.cpu_ns += thread_cpu_ns();
    work_until_quiet(&c);
    printf("a gang of %3u preempts on %u nodes: %zu victims, one decision of %.1f ms\n", size,
           nodes, before + size - fake_client_count(c.api, &pod_kind), (double)c.cpu_ns / 1e6);
    cluster_fini(&c);
}

int
main(int argc, char **argv)
{
    unsigned nodes = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5000;
    unsigned gangs = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1000;
    struct topology_levels *topology = topology_levels_new();

    if (nodes < 256 || gangs == 0) {
        fprintf(stderr, "usage: gang [NODES [GANGS]], with 256 nodes or more\n");
        return EXIT_FAILURE;
    }
    topology_levels_set(topology, (const char *const[]){"block", "rack"}, 2);
    decide(nodes, gangs, true, NULL);
    decide(nodes, gangs, true, topology);
    decide(nodes, gangs, false, NULL);
    topology_levels_free(topology);
    wait_with(2);
    wait_with(16);
    wait_with(256);
    preempt_with(nodes, 2);
    preempt_with(nodes, 256);
    return EXIT_SUCCESS;
}
