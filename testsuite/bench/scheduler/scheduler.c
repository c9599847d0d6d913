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

struct workload {
    const char *name;
    const char *pod_labels; /* JSON members */
    const char *pod_spec;   /* further members of the spec, comma first */
    const char *cpu, *memory;
    bool has_topology; /* nodes of 8 NUMA nodes, 16 cores and 2 PUs each */
    unsigned percent;  /* of the pods that were asked for */
};

static const struct workload workloads[] = {
    {.name = "SchedulingBasic", .cpu = "100m", .memory = "500Mi"},
    {.name = "SchedulingNodeAffinity",
     .cpu = "100m",
     .memory = "500Mi",
     .pod_spec = ",\"affinity\":{\"nodeAffinity\":{"
                 "\"requiredDuringSchedulingIgnoredDuringExecution\":{"
                 "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"
                 "\"topology.kubernetes.io/zone\",\"operator\":\"In\","
                 "\"values\":[\"zone1\",\"zone2\"]}]}]}}}"},
    {.name = "NumaExact",
     .cpu = "4",
     .memory = "4Gi",
     .has_topology = true,
     .pod_spec = ",\"placement\":{\"cpuPolicy\":\"exclusive\",\"numaPolicy\":"
                 "\"single-numa-node\"}"},
    {.name = "TopologySpreading",
     .cpu = "100m",
     .memory = "500Mi",
     .percent = 20,
     .pod_labels = ",\"labels\":{\"color\":\"blue\"}",
     .pod_spec =
         ",\"topologySpreadConstraints\":[{\"maxSkew\":5,\"topologyKey\":"
         "\"topology.kubernetes.io/zone\",\"whenUnsatisfiable\":"
         "\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":{\"color\":"
         "\"blue\"}}}]"},
    {.name = "SchedulingPodAntiAffinity",
     .cpu = "100m",
     .memory = "500Mi",
     .percent = 10,
     .pod_labels = ",\"labels\":{\"color\":\"green\"}",
     .pod_spec = ",\"affinity\":{\"podAntiAffinity\":{"
                 "\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
                 "\"labelSelector\":{\"matchLabels\":{\"color\":\"green\"}},"
                 "\"topologyKey\":\"kubernetes.io/hostname\"}]}}"},
    {.name = "SchedulingPodAffinity",
     .cpu = "100m",
     .memory = "500Mi",
     .percent = 10,
     .pod_labels = ",\"labels\":{\"color\":\"blue\"}",
     .pod_spec = ",\"affinity\":{\"podAffinity\":{"
                 "\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
                 "\"labelSelector\":{\"matchLabels\":{\"color\":\"blue\"}},"
                 "\"topologyKey\":\"topology.kubernetes.io/zone\"}]}}"},
    {.name = "Unschedulable", .cpu = "4000", .memory = "500Mi"},
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
add_pods(struct fake_client *api, const struct workload *w, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

        strbuf_printf(
            &s,
            "{\"metadata\":{\"name\":\"pod-%u\",\"namespace\":\"bench\"%s},"
            "\"spec\":{\"schedulerName\":\"default-scheduler\","
            "\"containers\":[{\"name\":\"pause\",\"image\":\"host\","
            "\"resources\":{\"requests\":{\"cpu\":\"%s\",\"memory\":\"%s\"}}}]"
            "%s}}",
            i,
            w->pod_labels != NULL ? w->pod_labels : "",
            w->cpu,
            w->memory,
            w->pod_spec != NULL ? w->pod_spec : "");
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

static void
report(const struct workload *w,
       unsigned nodes,
       unsigned pods,
       const struct scheduler_counts *counts,
       int64_t *cycles,
       unsigned n_cycles,
       int64_t scheduler_us,
       int64_t scheduler_cpu_us,
       int64_t all_us)
{
    qsort(cycles, n_cycles, sizeof(*cycles), compare_times);
    printf("%-28s %6u %6u %8llu %10.0f %10.0f %10.0f %8.1f %8.1f %6ld\n",
           w->name,
           nodes,
           pods,
           (unsigned long long)counts->scheduled,
           n_cycles * 1e6 / (double)scheduler_cpu_us,
           n_cycles * 1e6 / (double)scheduler_us,
           n_cycles * 1e6 / (double)all_us,
           (double)cycles[n_cycles / 2],
           (double)cycles[(size_t)n_cycles * 99 / 100],
           rss_mib());
    fflush(stdout);
}

/* The scheduler's time is that of its cycles and of what it does with the
 * API's answers; the rest is the fake API making objects.
 */
static void
run(const struct workload *w, unsigned nodes, unsigned pods)
{
    struct fake_client *api = fake_client_new();
    struct client *client = fake_client_client(api);
    struct scheduler_counts counts;
    struct scheduler *s;
    struct taps *taps;
    struct error err = {0};
    int64_t began_us, scheduler_us = 0, scheduler_cpu_us = 0, *cycles;
    unsigned n = 0;
    bool more = true;

    if (w->percent > 0)
        pods = pods * w->percent / 100;
    cycles = xnew_array(int64_t, pods + 1);
    if (scheduler_new(&(struct scheduler_settings){.client = client,
                                                   .clock = &clock_system,
                                                   .seed = 1},
                      &s,
                      &err)
        < 0) {
        fprintf(stderr, "scheduler: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
    add_nodes(api, w, nodes);
    taps = taps_new(s, client, NULL, NULL);
    fake_client_run(api);
    add_pods(api, w, pods);
    fake_client_run(api);

    began_us = now_us();
    while (more && n < pods) {
        int64_t t = now_us(), cpu = cpu_us();

        more = scheduler_work(s, 1);
        cycles[n] = now_us() - t;
        scheduler_us += cycles[n++];
        scheduler_cpu_us += cpu_us() - cpu;
        if (n % 256 == 0 || !more) {
            fake_client_run(api);
            t = now_us();
            cpu = cpu_us();
            scheduler_tick(s);
            scheduler_us += now_us() - t;
            scheduler_cpu_us += cpu_us() - cpu;
        }
    }
    fake_client_run(api);
    counts = scheduler_count(s);
    report(w,
           nodes,
           pods,
           &counts,
           cycles,
           n,
           scheduler_us,
           scheduler_cpu_us,
           now_us() - began_us);
    taps_free(taps);
    scheduler_free(s);
    fake_client_free(api);
    free(cycles);
}

int
main(int argc, char **argv)
{
    unsigned nodes = argc > 1 ? (unsigned)atoi(argv[1]) : 5000;
    unsigned pods = argc > 2 ? (unsigned)atoi(argv[2]) : 10000;
    struct utsname machine;

    uname(&machine);
    printf("# %s %s; all nodes looked at; \"cycles/s\" is the scheduler "
           "alone (\"by CPU/s\": of the processor's time it had), \"with "
           "API\" adds the fake API in the same thread\n",
           machine.sysname,
           machine.release);
    printf("%-28s %6s %6s %8s %10s %10s %10s %8s %8s %6s\n",
           "workload",
           "nodes",
           "pods",
           "placed",
           "by CPU/s",
           "cycles/s",
           "with API",
           "p50 us",
           "p99 us",
           "MiB");
    for (size_t i = 0; i < ARRAY_SIZE(workloads); i++)
        if (argc <= 3 || strcmp(argv[3], workloads[i].name) == 0)
            run(&workloads[i], nodes, pods);
    return EXIT_SUCCESS;
}
