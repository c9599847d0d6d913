/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler [NODES [PODS]] - the scheduler alone, against an API in memory
 *
 * The workloads of kube-scheduler's scheduler_perf that need nothing but the
 * scheduler, by name. The real queue, cache, framework and binding run; the
 * API is the tests' fake one, whose cost is told apart. All nodes are looked
 * at, never a sample.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/scheduler.h"
#include "controller/scheduler/taps.h"
#include "lib/api/kind.h"
#include "lib/api/object.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/fake_client.h"

/* Pods of one kind. */
struct pod_kind_of {
    const char *labels; /* JSON members */
    const char *spec;   /* further members of the spec, comma first */
    const char *cpu, *memory;
};

#define MATCHES(color) \
    "\"labelSelector\":{\"matchLabels\":{\"color\":\"" color "\"}}"
#define COLOR(color) ",\"labels\":{\"color\":\"" color "\"}"
#define ZONE         "topology.kubernetes.io/zone"
#define HOST         "kubernetes.io/hostname"
#define NEAR(kind, color, key)                                           \
    ",\"affinity\":{\"" kind                                             \
    "\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{" MATCHES( \
        color) ",\"topologyKey\":\"" key "\"}]}}"
#define PREFER(kind, color, key)                                              \
    ",\"affinity\":{\"" kind                                                  \
    "\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":1," \
    "\"podAffinityTerm\":{" MATCHES(color) ",\"topologyKey\":\"" key "\"}}]}}"
#define SPREAD(when)                                                         \
    ",\"topologySpreadConstraints\":[{\"maxSkew\":5,\"topologyKey\":\"" ZONE \
    "\",\"whenUnsatisfiable\":\"" when "\"," MATCHES("blue") "}]"

static const struct pod_kind_of basic = {.cpu = "100m", .memory = "500Mi"};
static const struct pod_kind_of by_node = {
    .cpu = "100m",
    .memory = "500Mi",
    .spec = ",\"affinity\":{\"nodeAffinity\":{"
            "\"requiredDuringSchedulingIgnoredDuringExecution\":{"
            "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"" ZONE
            "\",\"operator\":\"In\",\"values\":[\"zone1\",\"zone2\"]}]}]}}}",
};
static const struct pod_kind_of exact = {
    .cpu = "4",
    .memory = "4Gi",
    .spec = ",\"placement\":{\"cpuPolicy\":\"exclusive\",\"numaPolicy\":"
            "\"single-numa-node\"}",
};
static const struct pod_kind_of spreading = {
    .labels = COLOR("blue"),
    .cpu = "100m",
    .memory = "500Mi",
    .spec = SPREAD("DoNotSchedule"),
};
static const struct pod_kind_of preferring_spread = {
    .labels = COLOR("blue"),
    .cpu = "100m",
    .memory = "500Mi",
    .spec = SPREAD("ScheduleAnyway"),
};
static const struct pod_kind_of apart = {
    .labels = COLOR("green"),
    .cpu = "100m",
    .memory = "500Mi",
    .spec = NEAR("podAntiAffinity", "green", HOST),
};
static const struct pod_kind_of together = {
    .labels = COLOR("blue"),
    .cpu = "100m",
    .memory = "500Mi",
    .spec = NEAR("podAffinity", "blue", ZONE),
};
static const struct pod_kind_of preferring_apart = {
    .labels = COLOR("yellow"),
    .cpu = "100m",
    .memory = "500Mi",
    .spec = PREFER("podAntiAffinity", "yellow", HOST),
};
static const struct pod_kind_of preferring_together = {
    .labels = COLOR("red"),
    .cpu = "100m",
    .memory = "500Mi",
    .spec = PREFER("podAffinity", "red", HOST),
};
static const struct pod_kind_of huge = {.cpu = "4000", .memory = "500Mi"};
static const struct pod_kind_of low = {.cpu = "900m", .memory = "500Mi"};
static const struct pod_kind_of high = {
    .cpu = "3000m",
    .memory = "500Mi",
    .spec = ",\"priority\":10",
};

#define MAX_INIT 5

/* Counts are in per cent: of nodes where they are asked for by node, of the
 * pods asked for elsewhere.
 */
struct workload {
    const char *name;
    const struct pod_kind_of *pods;
    unsigned percent;          /* of the pods that were asked for; 0: all */
    unsigned percent_of_nodes; /* instead */
    const struct pod_kind_of *init[MAX_INIT];
    unsigned init_percent_of_nodes; /* of each kind, placed before */
    unsigned nodes_percent;         /* of the nodes asked for; 0: all */
    bool has_topology;      /* nodes of 8 NUMA nodes, 16 cores and 2 PUs each */
    bool has_unschedulable; /* some pods more that fit nowhere come meanwhile */
    bool has_churn;         /* so do nodes and pods that come and go */
    bool is_hopeless;       /* nothing is to be placed */
};

static const struct workload workloads[] = {
    {.name = "SchedulingBasic",
     .pods = &basic,
     .init = {&basic},
     .init_percent_of_nodes = 20},
    {.name = "SchedulingNodeAffinity",
     .pods = &by_node,
     .init = {&by_node},
     .init_percent_of_nodes = 100},
    {.name = "NumaExact", .pods = &exact, .has_topology = true},
    {.name = "TopologySpreading",
     .pods = &spreading,
     .percent = 50,
     .init = {&basic},
     .init_percent_of_nodes = 100},
    {.name = "PreferredTopologySpreading",
     .pods = &preferring_spread,
     .percent = 50,
     .init = {&basic},
     .init_percent_of_nodes = 100},
    {.name = "SchedulingPodAntiAffinity",
     .pods = &apart,
     .percent_of_nodes = 40,
     .init = {&apart},
     .init_percent_of_nodes = 20},
    {.name = "SchedulingPodAffinity",
     .pods = &together,
     .percent = 50,
     .init = {&together},
     .init_percent_of_nodes = 100},
    {.name = "SchedulingPreferredPodAffinity",
     .pods = &preferring_together,
     .percent = 50,
     .init = {&preferring_together},
     .init_percent_of_nodes = 100},
    {.name = "SchedulingPreferredPodAntiAffinity",
     .pods = &preferring_apart,
     .percent = 50,
     .init = {&preferring_apart},
     .init_percent_of_nodes = 100},
    {.name = "MixedSchedulingBasePod",
     .pods = &basic,
     .percent = 50,
     .init =
         {&basic, &together, &apart, &preferring_together, &preferring_apart},
     .init_percent_of_nodes = 40},
    {.name = "Unschedulable", .pods = &basic, .has_unschedulable = true},
    {.name = "SchedulingWithMixedChurn", .pods = &basic, .has_churn = true},
    {.name = "PreemptionBasic",
     .pods = &high,
     .nodes_percent = 10,
     .percent_of_nodes = 100,
     .init = {&low},
     .init_percent_of_nodes = 400},
    {.name = "Hopeless", .pods = &huge, .is_hopeless = true},
};

static int64_t
now_us(void)
{
    return clock_monotonic_us(&clock_system);
}

/* What this thread has had of the processor: others on the machine do not
 * count.
 */
static int64_t
cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void
add_topology(struct strbuf *s)
{
    strbuf_add_text(s,
                    ",\"topology\":{\"cpus\":\"0-255\",\"packages\":"
                    "[\"0-63,128-191\",\"64-127,192-255\"],\"cores\":[");
    for (unsigned c = 0; c < 128; c++)
        strbuf_printf(s, "%s\"%u,%u\"", c > 0 ? "," : "", c, c + 128);
    strbuf_add_text(s, "],\"numaNodes\":[");
    for (unsigned n = 0; n < 8; n++)
        strbuf_printf(s,
                      "%s{\"node\":%u,\"cpus\":\"%u-%u,%u-%u\",\"memory\":"
                      "\"64Gi\"}",
                      n > 0 ? "," : "",
                      n,
                      n * 16,
                      n * 16 + 15,
                      128 + n * 16,
                      128 + n * 16 + 15);
    strbuf_add_text(s, "]}");
}

static void
add_nodes(struct fake_client *api, const struct workload *w, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

        strbuf_printf(
            &s,
            "{\"metadata\":{\"name\":\"node-%u\",\"labels\":{"
            "\"kubernetes.io/hostname\":\"node-%u\","
            "\"topology.kubernetes.io/zone\":\"zone%u\"}},\"status\":{"
            "\"allocatable\":{\"cpu\":\"%s\",\"memory\":\"%s\",\"pods\":"
            "\"110\"}",
            i,
            i,
            i % 3 + 1,
            w->has_topology ? "256" : "4",
            w->has_topology ? "512Gi" : "32Gi");
        if (w->has_topology)
            add_topology(&s);
        strbuf_add_text(&s, "}}");
        fake_client_put(api, &node_kind, s.text);
    }
}

static void
add_pods(struct fake_client *api,
         const struct pod_kind_of *kind,
         const char *prefix,
         unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

        strbuf_printf(
            &s,
            "{\"metadata\":{\"name\":\"%s-%u\",\"namespace\":\"bench\"%s},"
            "\"spec\":{\"schedulerName\":\"default-scheduler\","
            "\"containers\":[{\"name\":\"pause\",\"image\":\"host\","
            "\"resources\":{\"requests\":{\"cpu\":\"%s\",\"memory\":\"%s\"}}}]"
            "%s}}",
            prefix,
            i,
            kind->labels != NULL ? kind->labels : "",
            kind->cpu,
            kind->memory,
            kind->spec != NULL ? kind->spec : "");
        fake_client_put(api, &pod_kind, s.text);
    }
}

static int
compare_times(const void *a, const void *b)
{
    int64_t ta = *(const int64_t *)a, tb = *(const int64_t *)b;

    return (ta > tb) - (ta < tb);
}

static long
rss_mib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

/* One run of a workload. */
struct run {
    struct fake_client *api;
    struct scheduler *scheduler;
    unsigned nodes, pods, churned;
    int64_t *cycles; /* us each */
    unsigned n_cycles, capacity;
    int64_t scheduler_us, cpu_us;
};

static void
report(const struct workload *w,
       const struct run *r,
       uint64_t placed,
       int64_t all_us)
{
    double done = w->is_hopeless ? r->n_cycles : (double)placed;

    qsort(r->cycles, r->n_cycles, sizeof(*r->cycles), compare_times);
    printf("%-34s %6u %6u %6llu %9.0f %9.0f %9.0f %7.0f %7.0f %5ld\n",
           w->name,
           r->nodes,
           r->pods,
           (unsigned long long)placed,
           done * 1e6 / (double)r->cpu_us,
           done * 1e6 / (double)r->scheduler_us,
           done * 1e6 / (double)all_us,
           (double)r->cycles[r->n_cycles / 2],
           (double)r->cycles[(size_t)r->n_cycles * 99 / 100],
           rss_mib());
    fflush(stdout);
}

static void
tick(struct run *r)
{
    int64_t t, cpu;

    fake_client_run(r->api);
    t = now_us();
    cpu = cpu_us();
    scheduler_tick(r->scheduler);
    r->scheduler_us += now_us() - t;
    r->cpu_us += cpu_us() - cpu;
    fake_client_run(r->api);
}

static bool
work(struct run *r)
{
    int64_t t = now_us(), cpu = cpu_us();
    bool more = scheduler_work(r->scheduler, 1);

    if (r->n_cycles == r->capacity) {
        r->capacity = r->capacity * 2 + 1024;
        r->cycles = xrealloc_array(r->cycles, r->capacity, sizeof(*r->cycles));
    }
    r->cycles[r->n_cycles] = now_us() - t;
    r->scheduler_us += r->cycles[r->n_cycles++];
    r->cpu_us += cpu_us() - cpu;
    return more;
}

/* What comes and goes meanwhile: a node nobody may use, and a pod that fits
 * nowhere.
 */
static void
churn(struct run *r, const struct workload *w)
{
    CLEANUP_FREE char *name = xasprintf("churn-%u", r->churned++);

    if (w->has_churn)
        fake_client_put(r->api,
                        &node_kind,
                        r->churned % 2 == 0
                            ? "{\"metadata\":{\"name\":\"churn\"},\"spec\":{"
                              "\"unschedulable\":true}}"
                            : "{\"metadata\":{\"name\":\"churn\",\"labels\":{"
                              "\"a\":\"b\"}},\"spec\":{\"unschedulable\":"
                              "true}}");
    add_pods(r->api, &huge, name, 1);
    if (w->has_churn && r->churned > 1) {
        CLEANUP_FREE char *old = xasprintf("churn-%u-0", r->churned - 2);

        fake_client_remove(r->api, &pod_kind, "bench", old);
    }
}

/* Until so many are placed, or nothing more will be. */
static void
drive(struct run *r, const struct workload *w, uint64_t wanted, bool is_init)
{
    uint64_t before = scheduler_count(r->scheduler).scheduled;
    unsigned idle = 0;
    bool more = true;

    while (idle < 2000) {
        struct scheduler_counts counts;

        more = work(r);
        if (more && r->n_cycles % 256 != 0)
            continue;
        if (!is_init && (w->has_churn || w->has_unschedulable))
            churn(r, w);
        tick(r);
        counts = scheduler_count(r->scheduler);
        if (counts.scheduled - before >= wanted
            || (w->is_hopeless && counts.active == 0))
            break;
        idle = counts.active + counts.in_flight > 0 ? 0 : idle + 1;
        if (idle > 0)
            usleep(1000); /* what backs off comes back */
    }
}

static unsigned
wanted_pods(const struct workload *w, unsigned nodes, unsigned pods)
{
    if (w->percent_of_nodes > 0)
        return nodes * w->percent_of_nodes / 100;
    return w->percent > 0 ? pods * w->percent / 100 : pods;
}

static void
place_init(struct run *r, const struct workload *w)
{
    unsigned count = r->nodes * w->init_percent_of_nodes / 100;
    unsigned n = 0;

    for (; n < MAX_INIT && w->init[n] != NULL; n++) {
        CLEANUP_FREE char *prefix = xasprintf("init%u", n);

        add_pods(r->api, w->init[n], prefix, count);
    }
    if (n == 0)
        return;
    fake_client_run(r->api);
    drive(r, w, (uint64_t)count * n, true);
    r->n_cycles = 0;
    r->scheduler_us = r->cpu_us = 0;
}

/* The scheduler's time is that of its cycles and of what it does with the
 * API's answers; the rest is the fake API making objects.
 */
static void
run(const struct workload *w, unsigned nodes, unsigned pods)
{
    struct run r = {.api = fake_client_new()};
    struct client *client = fake_client_client(r.api);
    struct taps *taps;
    struct error err = {0};
    int64_t began_us;
    uint64_t before;

    r.nodes = w->nodes_percent > 0 ? nodes * w->nodes_percent / 100 : nodes;
    r.pods = wanted_pods(w, r.nodes, pods);
    if (scheduler_new(&(struct scheduler_settings){.client = client,
                                                   .clock = &clock_system,
                                                   .seed = 1},
                      &r.scheduler,
                      &err)
        < 0) {
        fprintf(stderr, "scheduler: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
    add_nodes(r.api, w, r.nodes);
    taps = taps_new(r.scheduler, client, NULL, NULL);
    fake_client_run(r.api);
    place_init(&r, w);
    before = scheduler_count(r.scheduler).scheduled;
    add_pods(r.api, w->pods, "pod", r.pods);
    fake_client_run(r.api);
    began_us = now_us();
    drive(&r, w, r.pods, false);
    report(w,
           &r,
           scheduler_count(r.scheduler).scheduled - before,
           now_us() - began_us);
    taps_free(taps);
    scheduler_free(r.scheduler);
    fake_client_free(r.api);
    free(r.cycles);
}

int
main(int argc, char **argv)
{
    unsigned nodes = argc > 1 ? (unsigned)atoi(argv[1]) : 5000;
    unsigned pods = argc > 2 ? (unsigned)atoi(argv[2]) : 10000;
    struct utsname machine;

    uname(&machine);
    printf("# %s %s; all nodes looked at; \"pods/s\" is the scheduler "
           "alone (\"by CPU/s\": of the processor's time it had), \"with "
           "API\" adds the fake API in the same thread\n",
           machine.sysname,
           machine.release);
    printf("%-34s %6s %6s %6s %9s %9s %9s %7s %7s %5s\n",
           "workload",
           "nodes",
           "pods",
           "placed",
           "by CPU/s",
           "pods/s",
           "with API",
           "p50 us",
           "p99 us",
           "MiB");
    for (size_t i = 0; i < ARRAY_SIZE(workloads); i++)
        if (argc <= 3 || strcmp(argv[3], workloads[i].name) == 0)
            run(&workloads[i], nodes, pods);
    if (argc > 3)
        return EXIT_SUCCESS;
    /* What one decision costs among ten times as many nodes, and a tenth. */
    run(&workloads[0], nodes / 10, pods / 10);
    run(&workloads[0], nodes * 10, pods);
    return EXIT_SUCCESS;
}
