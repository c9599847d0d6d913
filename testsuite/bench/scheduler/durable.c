/* SPDX-License-Identifier: Apache-2.0 */
/* durable [NODES [PODS [WORKLOAD [DIRECTORY]]]] - the scheduler with the real
 * API server and the real store
 *
 * As in the controller, the API and the store share one thread, the store's
 * writer and the scheduler have their own; every binding is admitted, validated
 * and on the disk before it counts. The pods exist before the clock starts. The
 * store is in a directory below DIRECTORY (/var/tmp) that is removed again.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/apiserver.h"
#include "controller/apiserver/request/api_profile.h"
#include "controller/scheduler/informers.h"
#include "controller/scheduler/scheduler.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"
#include "testsuite/bench/scheduler/sampling.h"
#include "testsuite/bench/scheduler/workload.h"

#define SPAN_NS    INT64_C(100000000)
#define TXN_MOST   500
#define CYCLES     64
#define TICK_MS    100
#define PATIENCE_S 30

struct pod_run {
    const struct workload *workload;
    unsigned nodes, pods;

    /* Used by the main thread. */
    char *directory;
    struct policy policy;
    struct loop *loop;
    struct workers *workers;
    struct store *store;
    struct apiserver *server;
    struct store_txn *txn;
    unsigned n_in_txn;
    unsigned uid;

    /* Used by the scheduler's thread. */
    pthread_t thread;
    struct loop *own;
    struct client *client;
    struct scheduler *scheduler;
    struct informers *informers;
    struct timer *work, *tick;
    bool is_going;
    uint64_t expected, wanted; /* initially in the queue; to be placed in all */
    uint64_t before;
    int64_t began_us, moved_us, ended_us;
    int64_t cpu_ns;
    uint64_t seen;
    struct sampling sampling;
};

static int64_t
now_us(void)
{
    return clock_monotonic_us(&clock_system);
}

static void
failed(const struct error *err, void *context)
{
    (void)context;
    fprintf(stderr, "durable: the store failed: %s\n", err->text);
    exit(EXIT_FAILURE);
}

/* Filling the store directly, without the API */

static void
commit(struct pod_run *r)
{
    if (r->txn != NULL)
        store_commit(r->txn, NULL, NULL);
    r->txn = NULL;
    r->n_in_txn = 0;
}

static void
put(void *context, const struct kind *kind, const char *text)
{
    struct pod_run *r = context;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct error err = {0};
    struct json *tree = json_parse(arena, text, strlen(text), NULL, &err);
    struct json *meta;

    if (r->txn == NULL)
        r->txn = store_begin(r->store);
    if (tree == NULL)
        failed(&err, NULL);
    meta = json_make_object(arena, tree, "metadata");
    json_set(arena, meta, "uid", json_stringf(arena, "uid-%u", r->uid++));
    json_set(arena, meta, "resourceVersion",
             json_stringf(arena, "%lld", (long long)store_txn_revision(r->txn)));
    if (record_normalize(kind->record, arena, tree, NULL, &err) < 0)
        failed(&err, NULL);
    store_txn_put(r->txn, object_new_packed(kind, tree, store_txn_patterns(r->txn)), NULL);
    if (++r->n_in_txn == TXN_MOST)
        commit(r);
}

static void
stop(int outcome, void *arg)
{
    (void)outcome;
    loop_stop(arg);
}

static void
wait_for_disk(struct pod_run *r)
{
    commit(r);
    store_when_durable(r->store, stop, r->loop);
    loop_run(r->loop);
}

static void
open_cluster(struct pod_run *r, const char *below)
{
    struct error err = {0};

    r->directory = xasprintf("%s/kiln-bench.XXXXXX", below);
    if (mkdtemp(r->directory) == NULL) {
        perror(r->directory);
        exit(EXIT_FAILURE);
    }
    r->policy.minimum_uid = 1000;
    r->loop = loop_new();
    r->workers = workers_new(1);
    if (store_open(&(struct store_settings){.loop = r->loop,
                                            .clock = &clock_system,
                                            .location.directory = r->directory,
                                            .failed = failed},
                   &r->store, &err)
        < 0)
        failed(&err, NULL);
    r->server = apiserver_new(&(struct apiserver_settings){.loop = r->loop,
                                                           .clock = &clock_system,
                                                           .store = r->store,
                                                           .workers = r->workers,
                                                           .profile = &api_profile_kiln,
                                                           .policy = &r->policy});
    loop_drain(r->loop);
}

static void
close_cluster(struct pod_run *r)
{
    CLEANUP_FREE char *command = xasprintf("rm -rf '%s'", r->directory);

    loop_drain(r->loop);
    apiserver_stop(r->server);
    store_close(r->store);
    workers_free(r->workers);
    loop_drain(r->loop);
    apiserver_free(r->server);
    loop_drain(r->loop);
    loop_free(r->loop);
    if (system(command) != 0)
        fprintf(stderr, "durable: '%s' stays\n", r->directory);
    free(r->directory);
}

/* The scheduler's thread */

static void
end(struct pod_run *r)
{
    r->is_going = false;
    r->ended_us = r->moved_us;
    timer_stop(r->work);
    timer_stop(r->tick);
    loop_stop(r->loop);
}

static void
look(struct pod_run *r)
{
    uint64_t placed = scheduler_count(r->scheduler).scheduled;
    int64_t now = now_us();

    if (placed != r->seen)
        r->moved_us = now;
    r->seen = placed;
    sampling_look(&r->sampling, now * 1000, placed);
    if (placed - r->before >= r->wanted || now - r->moved_us > INT64_C(1000000) * PATIENCE_S)
        end(r);
}

static void
work_due(void *arg)
{
    struct pod_run *r = arg;
    bool more = true;

    for (unsigned i = 0; i < CYCLES && more; i++) {
        int64_t cpu = thread_cpu_ns();

        more = scheduler_work(r->scheduler, 1);
        sampling_cycle(&r->sampling, thread_cpu_ns() - cpu);
    }
    look(r);
    if (more && r->is_going)
        timer_start(r->work, 0);
}

static void
tick_due(void *arg)
{
    struct pod_run *r = arg;

    scheduler_tick(r->scheduler);
    look(r);
}

static void
ready(void *context)
{
    struct pod_run *r = context;

    if (r->is_going && !timer_is_running(r->work))
        timer_start(r->work, 0);
}

/* Scheduling begins when all pods are known. */
static void
begin_when_known(void *arg)
{
    struct pod_run *r = arg;

    if (scheduler_count(r->scheduler).active < r->expected) {
        timer_start(r->tick, 10);
        return;
    }
    scheduler_start(r->scheduler);
    timer_free(r->tick);
    r->tick = timer_new(r->own, tick_due, r);
    r->before = r->seen = scheduler_count(r->scheduler).scheduled;
    r->began_us = r->moved_us = now_us();
    r->cpu_ns = thread_cpu_ns();
    sampling_reset(&r->sampling, r->began_us * 1000, r->before);
    r->is_going = true;
    timer_repeat(r->tick, TICK_MS);
    timer_start(r->work, 0);
}

static void
begin(void *arg)
{
    struct pod_run *r = arg;

    timer_free(r->tick);
    r->tick = timer_new(r->own, begin_when_known, r);
    timer_start(r->tick, 0);
}

static void *
schedule(void *arg)
{
    struct pod_run *r = arg;
    struct error err = {0};

    r->client = apiserver_client_new(r->server, r->own, APISERVER_SCHEDULER);
    r->work = timer_new(r->own, work_due, r);
    r->tick = timer_new(r->own, begin_when_known, r);
    if (scheduler_new(&(struct scheduler_settings){.client = r->client,
                                                   .clock = &clock_system,
                                                   .seed = 1,
                                                   .ready = ready,
                                                   .context = r},
                      &r->scheduler, &err)
        < 0)
        failed(&err, NULL);
    r->informers = informers_new(r->scheduler, r->client, NULL, NULL);
    loop_run(r->own);
    informers_free(r->informers);
    scheduler_free(r->scheduler);
    timer_free(r->work);
    timer_free(r->tick);
    client_free(r->client);
    loop_drain(r->own);
    return NULL;
}

/* Places that many pods, which are in the store now. */
static void
place(struct pod_run *r, uint64_t pods)
{
    wait_for_disk(r);
    r->expected = r->wanted = pods;
    loop_post(r->own, begin, r);
    loop_run(r->loop);
}

static unsigned
put_init(struct pod_run *r)
{
    const struct workload *w = r->workload;
    unsigned count = r->nodes * w->init_percent_of_nodes / 100;
    const struct stage stage = {put, r};
    unsigned n = 0;

    for (; n < MAX_INIT && w->init[n] != NULL; n++) {
        CLEANUP_FREE char *prefix = xasprintf("init%u", n);

        add_pods(&stage, w->init[n], prefix, count);
    }
    return n * count;
}

static void
report(struct pod_run *r)
{
    struct sampling_figures f = sampling_figures(&r->sampling);

    printf("%-34s %6u %6u %6llu %9.0f %9.0f %9.0f %7.0f %7.0f %5ld\n", r->workload->name, r->nodes,
           r->pods, (unsigned long long)(r->seen - r->before),
           (double)(r->seen - r->before) * 1e6 / (double)(r->ended_us - r->began_us), f.p50_rate,
           f.p99_rate, f.p50_us, f.p99_us, resident_mib());
    fflush(stdout);
}

static void
run(const struct workload *w, unsigned nodes, unsigned pods, const char *below)
{
    struct pod_run r = {.workload = w, .sampling.span_ns = SPAN_NS};
    const struct stage stage = {put, &r};
    unsigned init;

    r.nodes = workload_nodes(w, nodes);
    r.pods = workload_pods(w, r.nodes, pods);
    open_cluster(&r, below);
    put(&r, &namespace_kind, "{\"metadata\":{\"name\":\"bench\"}}");
    add_nodes(&stage, w, r.nodes);
    wait_for_disk(&r);
    r.own = loop_new();
    if (pthread_create(&r.thread, NULL, schedule, &r) != 0)
        abort();
    (void)pthread_setname_np(r.thread, "scheduler");
    init = put_init(&r);
    if (init > 0)
        place(&r, init);
    add_pods(&stage, w->pods, "pod", r.pods);
    place(&r, r.pods);
    report(&r);
    loop_stop(r.own);
    pthread_join(r.thread, NULL);
    loop_free(r.own);
    close_cluster(&r);
    sampling_fini(&r.sampling);
}

/* Workloads without pods that must end meanwhile: there are no agents here that
 * would end a preempted pod.
 */
static bool
is_steady(const struct workload *w)
{
    return w->pods != &high && !w->has_churn && !w->has_unschedulable && !w->has_preemptors
           && !w->is_hopeless;
}

int
main(int argc, char **argv)
{
    unsigned nodes = argc > 1 ? (unsigned)atoi(argv[1]) : 5000;
    unsigned pods = argc > 2 ? (unsigned)atoi(argv[2]) : 20000;
    const char *below = argc > 4 ? argv[4] : "/var/tmp";
    struct utsname machine;

    log_set_level(LOG_LEVEL_WARNING);
    uname(&machine);
    printf("# %s %s; all nodes looked at; real API server and durable store in "
           "%s; pods/s by the clock, p50 and p99 of spans of 100 ms; cycles by "
           "the processor's time\n",
           machine.sysname, machine.release, below);
    printf("%-34s %6s %6s %6s %9s %9s %9s %7s %7s %5s\n", "workload", "nodes", "pods", "placed",
           "pods/s", "p50/s", "p99/s", "p50 us", "p99 us", "MiB");
    for (unsigned i = 0; i < n_workloads; i++)
        if (argc > 3 ? strcmp(argv[3], workloads[i].name) == 0 : is_steady(&workloads[i]))
            run(&workloads[i], nodes, pods, below);
    return EXIT_SUCCESS;
}
