/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler [NODES [PODS [WORKLOAD]]] - the scheduler alone, with an API in
 * memory
 *
 * The workloads of kube-scheduler's scheduler_perf that need only the
 * scheduler, by name. The real queue, cache, framework and binding run; the API
 * is the tests' fake one, whose cost is printed separately. All nodes are
 * evaluated, never a sample.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "controller/scheduler/informers.h"
#include "controller/scheduler/scheduler.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "testsuite/bench/scheduler/sampling.h"
#include "testsuite/bench/scheduler/workload.h"
#include "testsuite/lib/fake_client.h"

static int64_t
now_us(void)
{
    return clock_monotonic_us(&clock_system);
}

/* One run of a workload. */
struct pod_run {
    struct fake_client *api;
    struct stage stage;
    struct scheduler *scheduler;
    unsigned nodes, pods, churned;
    struct sampling sampling;
    int64_t scheduler_us, cpu_ns;
};

/* Spans of the scheduler's own time, which is only a small part of the run. */
#define SPAN_NS INT64_C(10000000)

static void
put(void *context, const struct kind *kind, const char *json)
{
    fake_client_put(context, kind, json);
}

static void
report(const struct workload *w, struct pod_run *r, uint64_t placed, int64_t all_us)
{
    double done = w->is_hopeless ? r->sampling.n_cycles : (double)placed;
    struct sampling_figures f = sampling_figures(&r->sampling);

    printf("%-34s %6u %6u %6llu %9.0f %9.0f %9.0f %9.0f %9.0f %7.0f %7.0f "
           "%5ld\n",
           w->name, r->nodes, r->pods, (unsigned long long)placed, done * 1e9 / (double)r->cpu_ns,
           f.p50_rate, f.p99_rate, done * 1e6 / (double)r->scheduler_us,
           done * 1e6 / (double)all_us, f.p50_us, f.p99_us, resident_mib());
    fflush(stdout);
}

static void
tick(struct pod_run *r)
{
    int64_t t, cpu;

    fake_client_run(r->api);
    t = now_us();
    cpu = thread_cpu_ns();
    scheduler_tick(r->scheduler);
    r->scheduler_us += now_us() - t;
    r->cpu_ns += thread_cpu_ns() - cpu;
    fake_client_run(r->api);
}

static bool
work(struct pod_run *r)
{
    int64_t t = now_us(), cpu = thread_cpu_ns();
    bool more = scheduler_work(r->scheduler, 1);

    cpu = thread_cpu_ns() - cpu;
    r->scheduler_us += now_us() - t;
    r->cpu_ns += cpu;
    sampling_cycle(&r->sampling, cpu);
    return more;
}

/* Adds and deletes objects during the run: a node that no pod may use, and a
 * pod that fits nowhere. Like upstream's churn, which recreates objects.
 */
static void
churn(struct pod_run *r, const struct workload *w)
{
    CLEANUP_FREE char *name = xasprintf("churn-%u", r->churned++);

    if (w->has_churn && r->churned % 2 == 1)
        fake_client_put(r->api, &node_kind,
                        "{\"metadata\":{\"name\":\"churn\"},\"spec\":{"
                        "\"unschedulable\":true}}");
    else if (w->has_churn)
        fake_client_remove(r->api, &node_kind, NULL, "churn");
    add_pods(&r->stage, w->has_preemptors ? &high : &huge, name, 1);
    if (w->has_churn && r->churned > 1) {
        CLEANUP_FREE char *old = xasprintf("churn-%u-0", r->churned - 2);

        fake_client_remove(r->api, &pod_kind, "bench", old);
    }
}

/* Runs until that many pods are placed, or no more can be. */
static void
drive(struct pod_run *r, const struct workload *w, uint64_t wanted, bool is_init)
{
    uint64_t before = scheduler_count(r->scheduler).scheduled;
    unsigned idle = 0;
    bool more = true;

    while (idle < 2000) {
        struct scheduler_counts counts;

        more = work(r);
        if (more && r->sampling.n_cycles % 256 != 0)
            continue;
        if (!is_init && (w->has_churn || w->has_unschedulable || w->has_preemptors))
            churn(r, w);
        tick(r);
        counts = scheduler_count(r->scheduler);
        sampling_look(&r->sampling, r->cpu_ns, counts.scheduled);
        if (counts.scheduled - before >= wanted || (w->is_hopeless && counts.active == 0))
            break;
        idle = counts.active + counts.in_flight > 0 ? 0 : idle + 1;
        if (idle > 0)
            usleep(1000); /* pods in backoff become ready */
    }
}

static void
place_init(struct pod_run *r, const struct workload *w)
{
    unsigned count = r->nodes * w->init_percent_of_nodes / 100;
    unsigned n = 0;

    for (; n < MAX_INIT && w->init[n] != NULL; n++) {
        CLEANUP_FREE char *prefix = xasprintf("init%u", n);

        add_pods(&r->stage, w->init[n], prefix, count);
    }
    if (n == 0)
        return;
    fake_client_run(r->api);
    drive(r, w, (uint64_t)count * n, true);
}

/* The scheduler's time includes its cycles and its handling of the API's
 * answers; the rest is the fake API's time to make objects.
 */
static void
run(const struct workload *w, unsigned nodes, unsigned pods)
{
    struct pod_run r = {.api = fake_client_new(), .sampling.span_ns = SPAN_NS};
    struct client *client = fake_client_client(r.api);
    struct informers *informers;
    struct error err = {0};
    int64_t began_us;
    uint64_t before;

    r.stage = (struct stage){put, r.api};
    r.nodes = workload_nodes(w, nodes);
    r.pods = workload_pods(w, r.nodes, pods);
    if (scheduler_new(
            &(struct scheduler_settings){.client = client, .clock = &clock_system, .seed = 1},
            &r.scheduler, &err)
        < 0) {
        fprintf(stderr, "scheduler: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
    add_nodes(&r.stage, w, r.nodes);
    informers = informers_new(r.scheduler, client, NULL, NULL);
    fake_client_run(r.api);
    scheduler_start(r.scheduler);
    place_init(&r, w);
    before = scheduler_count(r.scheduler).scheduled;
    add_pods(&r.stage, w->pods, "pod", r.pods);
    fake_client_run(r.api);
    r.scheduler_us = r.cpu_ns = 0;
    sampling_reset(&r.sampling, 0, before);
    began_us = now_us();
    drive(&r, w, r.pods, false);
    report(w, &r, scheduler_count(r.scheduler).scheduled - before, now_us() - began_us);
    informers_free(informers);
    scheduler_free(r.scheduler);
    fake_client_free(r.api);
    sampling_fini(&r.sampling);
}

int
main(int argc, char **argv)
{
    unsigned nodes = argc > 1 ? (unsigned)atoi(argv[1]) : 5000;
    unsigned pods = argc > 2 ? (unsigned)atoi(argv[2]) : 10000;
    struct utsname machine;

    uname(&machine);
    printf("# %s %s; all nodes looked at; \"by CPU/s\" is the scheduler alone, "
           "of the processor's time it had, p50 and p99 of spans of 10 ms of "
           "it; \"pods/s\" by the clock, \"with API\" with the fake API in the "
           "same thread; cycles by the processor's time\n",
           machine.sysname, machine.release);
    printf("%-34s %6s %6s %6s %9s %9s %9s %9s %9s %7s %7s %5s\n", "workload", "nodes", "pods",
           "placed", "by CPU/s", "p50/s", "p99/s", "pods/s", "with API", "p50 us", "p99 us", "MiB");
    for (unsigned i = 0; i < n_workloads; i++)
        if (argc <= 3 || strcmp(argv[3], workloads[i].name) == 0)
            run(&workloads[i], nodes, pods);
    if (argc > 3)
        return EXIT_SUCCESS;
    /* The cost of one decision among ten times as many nodes, and a tenth. */
    run(&workloads[0], nodes / 10, pods / 10);
    run(&workloads[0], nodes * 10, pods);
    return EXIT_SUCCESS;
}
