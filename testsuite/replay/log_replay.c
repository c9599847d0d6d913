/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/replay/log_replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controller/scheduler/bind/binding_client.h"
#include "controller/scheduler/config/kube_configuration.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/scheduler.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/heap.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/replay/job_log.h"
#include "testsuite/replay/pod_maker.h"

/* START is read again after this time. */
#define LOOK_S 5

/* The cluster's state of a job of the log, in the same order. */
struct live_job {
    struct log_job *job;
    const struct object **pods;
    unsigned count, n_bound;
    int64_t end_s;
    int64_t told_s; /* predicted start; -1: no prediction */
    int64_t seen_s; /* START when it was last read; -1: none */
    size_t place;   /* index in the heap of running jobs */
};

struct log_replay {
    const struct log_replay_settings *settings;
    struct job_log *log;
    struct fake_clock time;
    struct binding_client *api;
    struct pod_maker *pod_maker;
    struct scheduler *scheduler;
    struct live_job *jobs;
    struct heap *running; /* by their end */
    size_t n_submitted, n_waiting;
    int64_t now_s;
    double *errors_s; /* of START, one for each job that was told one */
    struct log_replay_figures figures;
    char group_name[32];
};

static const struct object *
parse_object(const struct kind *kind, const struct strbuf *text)
{
    const struct object *object = NULL;
    struct error err = {0};

    if (object_parse(kind, text->text, text->length, &object, &err) < 0) {
        fprintf(stderr, "replay: %s: %s\n", err.text, text->text);
        abort();
    }
    return object;
}

static void
add_nodes(struct log_replay *r)
{
    for (unsigned i = 0; i < r->settings->nodes; i++) {
        CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;
        CLEANUP(object_unrefp) const struct object *node = NULL;

        strbuf_printf(&s,
                      "{\"metadata\":{\"name\":\"node-%u\",\"uid\":\"node-%u\","
                      "\"resourceVersion\":\"1\",\"labels\":{"
                      "\"kubernetes.io/hostname\":\"node-%u\"}},\"status\":{"
                      "\"allocatable\":{\"cpu\":\"%u\",\"memory\":\"1Ti\",\"pods\":"
                      "\"%u\"},\"conditions\":[{\"type\":\"Ready\",\"status\":"
                      "\"True\"}]}}",
                      i, i, i, r->settings->cores_per_node, r->settings->cores_per_node + 10);
        node = parse_object(&node_kind, &s);
        scheduler_node_changed(r->scheduler, NULL, node);
    }
}

/* Pods are named JOB-MEMBER by their indexes. */
static struct live_job *
find_job(const struct log_replay *r, const char *pod_name, unsigned *ret_member)
{
    char *end;
    size_t job = strtoul(pod_name + 1, &end, 10);

    *ret_member = (unsigned)strtoul(end + 1, NULL, 10);
    return &r->jobs[job];
}

static void
group_of(const struct object *pod, struct group_terms *ret_terms, void *context)
{
    struct log_replay *r = context;
    unsigned member;
    const struct live_job *l = find_job(r, pod->meta->name, &member);

    snprintf(r->group_name, sizeof(r->group_name), "j%zu", l - r->jobs);
    *ret_terms = (struct group_terms){.name = r->group_name, .wanted = l->count};
}

/* `node` is NULL while the pod waits. */
static const struct object *
make_pod(const struct log_replay *r, const struct live_job *l, unsigned member, const char *node)
{
    const struct log_job *j = l->job;
    unsigned cores = r->settings->cores_per_node;
    unsigned rest = j->procs - (l->count - 1) * cores;
    unsigned equal = (j->procs + l->count - 1) / l->count; /* as ksub -n divides them */

    return pod_maker_make(r->pod_maker, &(struct pod_words){
                                            .job = (uint64_t)(l - r->jobs),
                                            .member = member,
                                            .cpus = r->settings->has_equal_members ? equal
                                                    : member + 1 < l->count        ? cores
                                                                                   : rest,
                                            .created_us = FAKE_BEGIN + j->submit_s * FAKE_SECOND,
                                            .started_us = FAKE_BEGIN + r->now_s * FAKE_SECOND,
                                            .limit_s = j->limit_s,
                                            .user = j->user >= 0 ? 1000 + j->user : 999,
                                            .node = node,
                                        });
}

static bool
ends_before(const void *a, const void *b, void *context)
{
    const struct live_job *x = a, *y = b;

    (void)context;
    return x->end_s != y->end_s ? x->end_s < y->end_s : x < y;
}

static void
note_start(struct log_replay *r, struct live_job *l)
{
    l->job->start_s = r->now_s;
    l->end_s = r->now_s + l->job->run_s;
    heap_push(r->running, l);
    r->n_waiting--;
    if (l->told_s >= 0) {
        double late_s = (double)(r->now_s - l->told_s);

        r->errors_s[r->figures.n_told++] = late_s < 0 ? -late_s : late_s;
        r->figures.n_exact += r->now_s == l->told_s;
        r->figures.late_s += late_s;
    }
}

static void
pod_bound(const char *namespace, const char *pod_name, const char *node_name,
          const struct json *allocation, void *context)
{
    struct log_replay *r = context;
    unsigned member;
    struct live_job *l = find_job(r, pod_name, &member);
    CLEANUP(object_unrefp) const struct object *before = l->pods[member];

    (void)namespace;
    (void)allocation;
    l->pods[member] = make_pod(r, l, member, node_name);
    scheduler_pod_changed(r->scheduler, before, l->pods[member]);
    if (++l->n_bound == l->count)
        note_start(r, l);
}

static void
submit(struct log_replay *r, struct live_job *l)
{
    l->pods = xnew_array(const struct object *, l->count);
    for (unsigned i = 0; i < l->count; i++) {
        l->pods[i] = make_pod(r, l, i, NULL);
        scheduler_pod_changed(r->scheduler, NULL, l->pods[i]);
    }
    if (++r->n_waiting > r->figures.most_waiting)
        r->figures.most_waiting = r->n_waiting;
}

static void
end_job(struct log_replay *r, struct live_job *l)
{
    for (unsigned i = 0; i < l->count; i++) {
        scheduler_pod_changed(r->scheduler, l->pods[i], NULL);
        object_unref(l->pods[i]);
    }
    free(l->pods);
    l->pods = NULL;
}

static bool
is_idle(const struct log_replay *r)
{
    struct scheduler_counts c = scheduler_count(r->scheduler);

    return c.active == 0 && c.in_flight == 0 && c.binding == 0;
}

/* Works until nothing is left to do in this second. Backoff is shorter than
 * that: the clock is advanced to its end, and a start counts for the second.
 */
static void
settle(struct log_replay *r)
{
    int64_t second_ends_us = r->time.monotonic_us + FAKE_SECOND;

    for (;;) {
        int64_t next_us;

        while (scheduler_work(r->scheduler, 1000))
            continue;
        if (binding_client_run(r->api))
            continue;
        scheduler_tick(r->scheduler);
        if (binding_client_run(r->api) || !is_idle(r))
            continue;
        next_us = scheduler_next_us(r->scheduler);
        if (next_us >= second_ends_us)
            return;
        if (next_us > r->time.monotonic_us)
            fake_clock_advance(&r->time, next_us - r->time.monotonic_us);
    }
}

/* START of a waiting job; -1: it has none. */
static int64_t
read_start(const struct log_replay *r, const struct live_job *l)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *answer = scheduler_explain(r->scheduler, l->pods[0], false, arena);
    const char *from = json_path_text(answer, "start.from");
    int64_t from_us;

    return from != NULL && time_parse(from, &from_us) == 0 ? (from_us - FAKE_BEGIN) / FAKE_SECOND
                                                           : -1;
}

static void
ask_start(struct log_replay *r, struct live_job *l)
{
    r->figures.n_asked++;
    l->told_s = read_start(r, l);
}

static void
set_now(struct log_replay *r, int64_t now_s)
{
    static const struct fake_clock begin = FAKE_CLOCK;

    r->now_s = now_s;
    r->time.monotonic_us = begin.monotonic_us + now_s * FAKE_SECOND;
    r->time.real_us = begin.real_us + now_s * FAKE_SECOND;
}

/* INT64_MAX: no further event is scheduled. */
static int64_t
find_next(const struct log_replay *r)
{
    const struct live_job *ending = heap_top(r->running);
    int64_t next_s = ending != NULL ? ending->end_s : INT64_MAX;

    if (r->n_submitted < r->log->count && r->log->jobs[r->n_submitted].submit_s < next_s)
        next_s = r->log->jobs[r->n_submitted].submit_s;
    return next_s;
}

static int64_t
process_cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

static void
run_second(struct log_replay *r)
{
    size_t first = r->n_submitted;
    struct live_job *l;
    int64_t began_us = clock_monotonic_us(&clock_system);
    int64_t cpu_us = process_cpu_us();

    while ((l = heap_top(r->running)) != NULL && l->end_s == r->now_s) {
        heap_pop(r->running);
        end_job(r, l);
    }
    while (r->n_submitted < r->log->count && r->log->jobs[r->n_submitted].submit_s == r->now_s)
        submit(r, &r->jobs[r->n_submitted++]);
    settle(r);
    r->figures.wall_us += clock_monotonic_us(&clock_system) - began_us;
    r->figures.cpu_us += process_cpu_us() - cpu_us;
    for (; r->settings->predicts && first < r->n_submitted; first++)
        if (r->jobs[first].job->start_s < 0)
            ask_start(r, &r->jobs[first]);
}

static void
look(struct log_replay *r, bool is_first)
{
    for (size_t i = 0; i < r->n_submitted; i++) {
        struct live_job *l = &r->jobs[i];
        int64_t seen_s;

        if (l->job->start_s >= 0)
            continue;
        seen_s = read_start(r, l);
        r->figures.n_looked += !is_first;
        r->figures.n_moved += !is_first && seen_s != l->seen_s;
        l->seen_s = seen_s;
    }
}

/* Nothing happens until the next event, so no START may move. The first look
 * comes after a new forecast could be made.
 */
static void
look_until(struct log_replay *r, int64_t next_s)
{
    for (unsigned i = 0; i <= r->settings->looks && r->now_s + LOOK_S < next_s; i++) {
        set_now(r, r->now_s + LOOK_S);
        scheduler_tick(r->scheduler);
        settle(r);
        look(r, i == 0);
    }
    /* A scheduler ticks all the time, also just before an event. */
    if (r->now_s + 1 < next_s) {
        set_now(r, next_s - 1);
        scheduler_tick(r->scheduler);
        settle(r);
    }
}

static int
run_all(struct log_replay *r, struct error *err)
{
    int64_t next_s;

    while ((next_s = find_next(r)) != INT64_MAX) {
        if (r->settings->looks > 0 && r->n_waiting > 0)
            look_until(r, next_s);
        set_now(r, next_s);
        run_second(r);
    }
    if (r->n_waiting > 0)
        return error_set(err, -EDEADLK,
                         "%zu jobs wait, and nothing runs that they could wait "
                         "for",
                         r->n_waiting);
    return 0;
}

static int
make_jobs(struct log_replay *r, struct error *err)
{
    unsigned cores = r->settings->cores_per_node;

    r->jobs = xnew_array(struct live_job, r->log->count);
    r->errors_s = xnew_array(double, r->log->count + 1);
    for (size_t i = 0; i < r->log->count; i++) {
        struct log_job *j = &r->log->jobs[i];

        r->jobs[i] = (struct live_job){
            .job = j,
            .count = (j->procs + cores - 1) / cores,
            .told_s = -1,
            .place = HEAP_NOWHERE,
        };
        if (r->jobs[i].count > QUEUED_GROUP_MAX)
            return error_set(err, -EINVAL,
                             "job %lld needs %u nodes, and %u are placed "
                             "together at the most: use --cores-per-node",
                             (long long)j->id, r->jobs[i].count, QUEUED_GROUP_MAX);
    }
    return 0;
}

static int
open_scheduler(struct log_replay *r, struct error *err)
{
    const struct kube_configuration *c = r->settings->configuration;
    struct scheduler_settings set = {
        .client = binding_client_client(r->api),
        .clock = &r->time.clock,
        .seed = r->settings->seed,
        .initial_backoff_us = 1,
        .max_backoff_us = 1,
        /* Without looks, a forecast is made only for the jobs that are asked about. */
        .without_forecast = r->settings->looks == 0,
        .group_of = group_of,
        .context = r,
    };

    if (c != NULL)
        set.profiles = kube_configuration_profiles(c, &set.n_profiles);
    return scheduler_new(&set, &r->scheduler, err);
}

static int
compare_errors(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void
finish(struct log_replay *r)
{
    struct log_replay_figures *f = &r->figures;

    if (r->scheduler != NULL)
        f->attempts = scheduler_count(r->scheduler).attempts;
    if (f->n_told == 0)
        return;
    for (size_t i = 0; i < f->n_told; i++)
        f->error_s += r->errors_s[i];
    f->error_s /= (double)f->n_told;
    f->late_s /= (double)f->n_told;
    qsort(r->errors_s, f->n_told, sizeof(double), compare_errors);
    f->median_s = r->errors_s[f->n_told / 2];
}

static void
replay_fini(struct log_replay *r)
{
    for (size_t i = 0; i < r->log->count; i++) {
        for (unsigned k = 0; r->jobs[i].pods != NULL && k < r->jobs[i].count; k++)
            object_unref(r->jobs[i].pods[k]);
        free(r->jobs[i].pods);
    }
    free(r->jobs);
    free(r->errors_s);
    scheduler_free(r->scheduler);
    binding_client_free(r->api);
    pod_maker_free(r->pod_maker);
    heap_free(r->running);
}

int
log_replay_run(struct job_log *log, const struct log_replay_settings *settings,
               struct log_replay_figures *ret_figures, struct error *err)
{
    struct log_replay r = {
        .settings = settings,
        .log = log,
        .time = FAKE_CLOCK,
    };
    int status;

    r.api = binding_client_new(pod_bound, &r);
    r.pod_maker = pod_maker_new();
    r.running = heap_new(ends_before, NULL, offsetof(struct live_job, place));
    status = make_jobs(&r, err);
    if (status == 0)
        status = open_scheduler(&r, err);
    if (status == 0) {
        add_nodes(&r);
        scheduler_start(r.scheduler);
        status = run_all(&r, err);
    }
    finish(&r);
    if (status == 0)
        *ret_figures = r.figures;
    replay_fini(&r);
    return status;
}
