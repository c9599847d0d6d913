/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations and backfilling, through the real scheduler. */
#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/state/cache.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

static void
group_by_labels(const struct object *pod, struct group_terms *ret_terms, void *context)
{
    const struct string_map *labels = &pod_of(pod)->meta.labels;
    const char *members = string_map_find(labels, "members");

    (void)context;
    ret_terms->name = string_map_find(labels, "group");
    if (ret_terms->name != NULL && members != NULL)
        ret_terms->wanted = (unsigned)strtoul(members, NULL, 10);
}

/* A world with backfill and these arguments (number of reservations). */
static struct world *
backfill_new(const char *args, bool without_sharing)
{
    static struct profile_plugin plugins[PROFILE_MAX_PLUGINS];
    static struct arena *arena;
    static struct profile_settings profile = {
        .scheduler_name = "default-scheduler",
        .plugins = plugins,
        .percentage_of_nodes = 100,
    };
    struct error err = {0};

    if (arena == NULL)
        arena = arena_new(1024);
    for (unsigned i = 0; i < n_default_profile; i++) {
        plugins[i] = default_profile[i];
        if (plugins[i].plugin->less != NULL)
            plugins[i].plugin = plugin_find("SubmissionOrder");
        if (args != NULL && strcmp(default_profile[i].plugin->name, "Backfill") == 0)
            plugins[i].args = json_parse(arena, args, strlen(args), NULL, &err);
    }
    profile.n_plugins = n_default_profile;
    return world_new(&(struct scheduler_settings){
        .profiles = &profile,
        .n_profiles = 1,
        .group_of = group_by_labels,
        .without_sharing = without_sharing,
        .initial_backoff_us = 1000,
        .max_backoff_us = 1000,
    });
}

/* Seconds since the test began. */
static int64_t
now(const struct world *w)
{
    return (w->time.real_us - FAKE_BEGIN) / FAKE_SECOND;
}

struct job {
    const char *name;
    unsigned cpus;
    int64_t limit; /* seconds; 0: none */
    const char *node;
    int64_t start; /* running since then */
    const char *group;
    unsigned members;
    const char *spec;
    int64_t deadline; /* seconds; 0: none */
};

static void
put(struct world *w, struct job job)
{
    struct strbuf s = STRBUF_INIT;
    static unsigned n_jobs;
    char time[TIME_TEXT_SIZE];

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                  "\"annotations\":{\"kiln.hpc/job-id\":\"%u\"",
                  job.name, ++n_jobs);
    if (job.deadline > 0) {
        time_format(FAKE_BEGIN + job.deadline * FAKE_SECOND, false, time);
        strbuf_printf(&s, ",\"kiln.hpc/deadline\":\"%s\"", time);
    }
    strbuf_add_text(&s, "}");
    if (job.group != NULL)
        strbuf_printf(&s, ",\"labels\":{\"group\":\"%s\",\"members\":\"%u\"}", job.group,
                      job.members);
    strbuf_printf(&s,
                  "},\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":"
                  "\"host\",\"resources\":{\"requests\":{\"cpu\":\"%u\"}}}]%s",
                  job.cpus, job.spec != NULL ? job.spec : "");
    if (job.limit > 0)
        strbuf_printf(&s, ",\"activeDeadlineSeconds\":%lld", (long long)job.limit);
    if (job.node != NULL) {
        time_format(FAKE_BEGIN + job.start * FAKE_SECOND, false, time);
        strbuf_printf(&s,
                      ",\"nodeName\":\"%s\"},\"status\":{\"phase\":\"Running\","
                      "\"startTime\":\"%s\"}}",
                      job.node, time);
    } else {
        strbuf_add_text(&s, "}}");
    }
    fake_client_put(w->api, &pod_kind, s.text);
    strbuf_fini(&s);
}

#define JOB(job_name, n_cpus, seconds, ...)                               \
    (struct job)                                                          \
    {                                                                     \
        .name = job_name, .cpus = n_cpus, .limit = seconds, ##__VA_ARGS__ \
    }
#define PUT(w, ...) put(w, JOB(__VA_ARGS__))

static void
end(struct world *w, const char *name)
{
    fake_client_remove(w->api, &pod_kind, "default", name);
}

static void
advance(struct world *w, int64_t seconds)
{
    world_advance(w, seconds * 1000);
    world_advance(w, 10);
    world_advance(w, 10);
    fake_clock_advance(&w->time, -20000);
}

/* A job that was just bound runs from now on. */
static void
begin(struct world *w, struct job job)
{
    job.node = xstrdup(world_node_of(w, job.name));
    ck_assert_str_ne(job.node, "");
    job.start = now(w);
    put(w, job);
    free((void *)(uintptr_t)job.node);
    world_settle(w);
}

static void
check_node(const struct world *w, const char *name, const char *node)
{
    if (strcmp(world_node_of(w, name), node) != 0)
        ck_abort_msg("'%s' is on '%s', not on '%s', at %lld", name, world_node_of(w, name), node,
                     (long long)now(w));
}

/* Seconds since the beginning; -1: no reservation. */
static int64_t
reserved_at(const struct world *w, const char *key)
{
    const struct reservation *r = timeline_find(w->scheduler->handle.timeline, key);

    return r != NULL && r->places != NULL ? (r->from_us - FAKE_BEGIN) / FAKE_SECOND : -1;
}

static const char *
reserved_node(const struct world *w, const char *key)
{
    const struct reservation *r = timeline_find(w->scheduler->handle.timeline, key);

    return r != NULL && r->places != NULL ? r->places[0].node->name : "";
}

/* One node of 8 CPUs: a and b use it until 100, "wide" needs all of it. */
static struct world *
world_with_wide(void)
{
    struct world *w = backfill_new(NULL, false);

    world_add_node(w, "n1", 8);
    PUT(w, "a", 4, 100, .node = "n1");
    PUT(w, "b", 4, 100, .node = "n1");
    world_settle(w);
    PUT(w, "wide", 8, 50);
    world_settle(w);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 100);
    return w;
}

/* Another pod's early end may still help it, so the pod is not ended here. */
START_TEST(a_pod_too_late_for_its_deadline_gets_no_reservation)
{
    struct world *w = backfill_new(NULL, false);

    world_add_node(w, "n1", 8);
    PUT(w, "a", 4, 100, .node = "n1");
    PUT(w, "b", 4, 60, .node = "n1");
    world_settle(w);
    PUT(w, "late", 8, 50, .deadline = 149);
    PUT(w, "next", 8, 50, .deadline = 150);
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "default/late"), -1);
    ck_assert_int_eq(reserved_at(w, "default/next"), 100);
    ck_assert_str_eq(world_pod(w, "late")->status.cause->message,
                     "waits for 8 CPUs on n1; by current estimates too late "
                     "for its deadline");
    ck_assert_int_eq(world_pod(w, "late")->status.cause->from_us, 0);
    ck_assert_ptr_null(world_pod(w, "late")->status.cause->node);

    advance(w, 10);
    end(w, "a");
    end(w, "b");
    advance(w, 0);
    check_node(w, "late", "n1");
    world_free(w);
}
END_TEST

/* The pod's status is written often, and its owner may change it. */
START_TEST(one_that_changes_before_it_is_asked_about_room_gets_it)
{
    struct world *w = backfill_new(NULL, false);
    const struct queued_pod *queued;

    world_add_node(w, "n1", 8);
    PUT(w, "a", 4, 100, .node = "n1");
    PUT(w, "b", 4, 200, .node = "n1");
    world_settle(w);
    PUT(w, "wide", 8, 50);
    PUT(w, "waits", 4, 50);
    advance(w, 10);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 200);
    check_node(w, "waits", "");

    end(w, "a");
    fake_client_run(w->api);
    queued = queue_find(w->scheduler->queue, "default", "waits");
    recorder_set_start(w->scheduler->recorder, queued->pod, FAKE_BEGIN + 3600 * FAKE_SECOND, false);
    recorder_flush(w->scheduler->recorder);
    fake_client_run(w->api);
    advance(w, 0);
    check_node(w, "waits", "n1");
    world_free(w);
}
END_TEST

/* --- One pod --------------------------------------------------------------- */

START_TEST(a_wide_pod_is_passed_by_those_that_do_not_delay_it)
{
    struct world *w = world_with_wide();

    advance(w, 50);
    end(w, "a");
    PUT(w, "long", 4, 51);
    PUT(w, "endless", 1, 0);
    PUT(w, "short", 2, 50);
    advance(w, 0);
    check_node(w, "long", "");
    check_node(w, "endless", "");
    check_node(w, "short", "n1");
    ck_assert_str_eq(world_pod(w, "long")->status.cause->code, "Priority");
    ck_assert_str_eq(world_pod(w, "long")->status.cause->message,
                     "would delay jobs before it on every node that has room");
    ck_assert_int_eq(world_pod(w, "long")->status.cause->from_us, FAKE_BEGIN + 150 * FAKE_SECOND);
    begin(w, JOB("short", 2, 50));

    advance(w, 49);
    end(w, "short");
    advance(w, 1);
    end(w, "b");
    advance(w, 0);
    check_node(w, "wide", "n1");
    check_node(w, "long", "");
    world_free(w);
}
END_TEST

START_TEST(those_who_are_before_it_in_the_order_take_its_room)
{
    struct world *w = world_with_wide();

    PUT(w, "first", 4, 1000, .spec = ",\"priority\":5");
    advance(w, 10);
    end(w, "a");
    advance(w, 0);
    check_node(w, "first", "n1");
    ck_assert_int_eq(reserved_at(w, "default/wide"), 1010);
    world_free(w);
}
END_TEST

START_TEST(a_job_that_ends_early_moves_the_reservation)
{
    struct world *w = world_with_wide();

    PUT(w, "b", 4, 300, .node = "n1"); /* its limit was changed */
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 300);
    advance(w, 20);
    end(w, "b");
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 100);
    end(w, "a");
    advance(w, 0);
    check_node(w, "wide", "n1");
    ck_assert_int_eq(reserved_at(w, "default/wide"), -1);
    world_free(w);
}
END_TEST

START_TEST(a_reservation_that_ends_wakes_those_it_kept_out)
{
    struct world *w = world_with_wide();

    end(w, "a");
    PUT(w, "long", 4, 500);
    advance(w, 0);
    check_node(w, "long", "");
    end(w, "wide");
    advance(w, 0);
    check_node(w, "long", "n1");
    world_free(w);
}
END_TEST

START_TEST(a_job_past_its_end_ends_at_any_moment_and_then_within_the_grace)
{
    struct world *w = world_with_wide();

    end(w, "a");
    PUT(w, "long", 4, 110);
    advance(w, 105);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 106);
    advance(w, 25);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 160);
    check_node(w, "long", "");
    world_free(w);
}
END_TEST

START_TEST(no_reservation_is_made_where_nobody_has_an_end)
{
    struct world *w = backfill_new(NULL, false);

    world_add_node(w, "n1", 8);
    PUT(w, "a", 4, 0, .node = "n1");
    PUT(w, "wide", 8, 50);
    PUT(w, "small", 4, 50);
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "default/wide"), -1);
    check_node(w, "small", "n1");
    world_free(w);
}
END_TEST

START_TEST(the_head_that_can_never_start_leaves_the_reservation_to_the_next)
{
    struct world *w = backfill_new(NULL, false);

    world_add_node(w, "n1", 8);
    PUT(w, "a", 4, 100, .node = "n1");
    PUT(w, "huge", 64, 50);
    PUT(w, "elsewhere", 1, 50, .spec = ",\"nodeSelector\":{\"x\":\"y\"}");
    PUT(w, "wide", 8, 50);
    PUT(w, "next", 8, 50);
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 100);
    end(w, "wide");
    advance(w, 0);
    world_free(w);
}
END_TEST

START_TEST(a_pod_that_fits_no_node_gets_no_reservation)
{
    struct world *w = backfill_new(NULL, false);

    world_add_node(w, "n1", 4);
    fake_client_put(w->api, &pod_kind,
                    "{\"metadata\":{\"name\":\"gpus\",\"namespace\":\"default\"},"
                    "\"spec\":{\"activeDeadlineSeconds\":60,\"containers\":[{"
                    "\"name\":\"main\",\"image\":\"host\",\"resources\":{"
                    "\"requests\":{\"cpu\":\"1\",\"example.com/gpu\":\"1\"}}}]}}");
    PUT(w, "waits", 8, 50);
    advance(w, 0);
    check_node(w, "gpus", "");
    ck_assert_int_eq(reserved_at(w, "default/gpus"), -1);
    ck_assert_int_eq(reserved_at(w, "default/waits"), -1);
    world_free(w);
}
END_TEST

START_TEST(a_reserved_node_that_goes_moves_the_reservation)
{
    struct world *w = world_with_wide();

    world_add_node(w, "n2", 8);
    PUT(w, "c", 8, 500, .node = "n2");
    advance(w, 0);
    ck_assert_str_eq(reserved_node(w, "default/wide"), "n1");
    fake_client_remove(w->api, &node_kind, NULL, "n1");
    advance(w, 0);
    ck_assert_str_eq(reserved_node(w, "default/wide"), "n2");
    ck_assert_int_eq(reserved_at(w, "default/wide"), 500);
    fake_client_remove(w->api, &node_kind, NULL, "n2");
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "default/wide"), -1);
    world_free(w);
}
END_TEST

START_TEST(a_node_that_joins_is_the_heads)
{
    struct world *w = world_with_wide();

    PUT(w, "long", 2, 500);
    advance(w, 10);
    world_add_node(w, "n2", 8);
    advance(w, 0);
    check_node(w, "wide", "n2");
    world_free(w);
}
END_TEST

/* An agent also reports its kernel and its images. */
START_TEST(a_node_that_says_nothing_new_wakes_nobody)
{
    struct world *w = world_with_wide();
    const char *uid = fake_client_find(w->api, &node_kind, NULL, "n1")->meta->uid;
    CLEANUP_FREE char *node =
        xasprintf("{\"metadata\":{\"name\":\"n1\",\"uid\":\"%s\"},\"status\":{"
                  "\"allocatable\":{\"cpu\":\"8\",\"memory\":\"64Gi\",\"pods\":"
                  "\"110\"},\"nodeInfo\":{\"kernelVersion\":\"6.1\"}}}",
                  uid);
    unsigned attempts = queue_find(w->scheduler->queue, "default", "wide")->attempts;

    for (unsigned i = 0; i < 5; i++) {
        fake_client_put(w->api, &node_kind, node);
        advance(w, 0);
    }

    ck_assert_uint_eq(queue_find(w->scheduler->queue, "default", "wide")->attempts, attempts);
    world_free(w);
}
END_TEST

START_TEST(a_clock_that_jumps_moves_the_reservation_and_starts_nobody)
{
    struct world *w = world_with_wide();

    PUT(w, "long", 4, 1000);
    w->time.real_us += 3600 * FAKE_SECOND;
    advance(w, 1);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 100 + 117 * 30);
    check_node(w, "wide", "");
    check_node(w, "long", "");
    w->time.real_us -= 7200 * FAKE_SECOND;
    advance(w, 1);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 100);
    end(w, "a");
    end(w, "b");
    advance(w, 0);
    check_node(w, "wide", "n1");
    world_free(w);
}
END_TEST

START_TEST(a_scheduler_that_starts_anew_reserves_the_same)
{
    struct world *w = world_with_wide();

    PUT(w, "long", 4, 500);
    end(w, "a");
    advance(w, 0);
    world_restart(w);
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "default/wide"), 100);
    check_node(w, "long", "");
    world_free(w);
}
END_TEST

/* Two NUMA nodes of four cores: "a" uses one until 100, "b" two cores of the
 * other. The head of the queue needs a whole one.
 */
START_TEST(shapes_count_not_amounts)
{
    struct world *w = backfill_new(NULL, false);

    world_add_numa_node(w, "n1", 2, 4);
    world_add_pod(w, "a", "8", "1Gi", SINGLE_NUMA ",\"activeDeadlineSeconds\":100");
    world_add_pod(w, "b", "4", "1Gi", SINGLE_NUMA ",\"activeDeadlineSeconds\":1000");
    world_settle(w);
    check_node(w, "b", "n1");
    world_add_pod(w, "head", "8", "1Gi", SINGLE_NUMA ",\"activeDeadlineSeconds\":50");
    world_settle(w);
    ck_assert_int_eq(reserved_at(w, "default/head"), 100);
    /* Beside b it delays no other job, however long it takes. */
    world_add_pod(w, "beside", "4", "1Gi", SINGLE_NUMA ",\"activeDeadlineSeconds\":5000");
    world_settle(w);
    check_node(w, "beside", "n1");
    end(w, "a");
    world_settle(w);
    world_advance(w, 1000);
    check_node(w, "head", "n1");
    world_free(w);
}
END_TEST

/* --- A model ---------------------------------------------------------------- */

/* A brute-force model of the same jobs: nodes with that many CPUs, jobs of one
 * pod in the order of their numbers.
 */
#define MODEL_JOBS 48
#define MODEL_CPUS 4

struct model_job {
    int64_t cpus, submit, limit, run;
    int node; /* -1: not placed yet */
    int64_t start;
    bool has_ended;
};

static uint64_t model_seed;
static int model_nodes;

static int64_t
draw(int64_t below)
{
    model_seed = model_seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((model_seed >> 33) % (uint64_t)below);
}

static int64_t
used_at(const struct model_job *jobs, int node, int64_t at, int64_t time)
{
    int64_t used = 0;

    for (int i = 0; i < MODEL_JOBS; i++) {
        const struct model_job *j = &jobs[i];
        int64_t end_at = j->start + j->limit;

        if (j->node == node && !j->has_ended && (time == at || end_at > time))
            used += j->cpus;
    }
    return used;
}

/* The earliest time at which the first waiting job that cannot start now could
 * start, by the limits of running jobs; -1: there is no such job.
 */
static int64_t
shadow_of(const struct model_job *jobs, int head, int64_t at)
{
    int64_t best = INT64_MAX;

    for (int node = 0; node < model_nodes; node++)
        for (int i = -1; i < MODEL_JOBS; i++) {
            int64_t time = i < 0 ? at : jobs[i].start + jobs[i].limit;

            if ((i >= 0 && (jobs[i].node != node || jobs[i].has_ended)) || time < at
                || time >= best)
                continue;
            if (used_at(jobs, node, at, time) + jobs[head].cpus <= MODEL_CPUS)
                best = time;
        }
    return best;
}

static int
find_head(const struct model_job *jobs, int64_t at)
{
    for (int i = 0; i < MODEL_JOBS; i++)
        if (jobs[i].node < 0 && jobs[i].submit <= at)
            return i;
    return -1;
}

/* Copies the starts that the scheduler has decided. */
static void
take_starts(struct world *w, struct model_job *jobs, int64_t at)
{
    for (int i = 0; i < MODEL_JOBS; i++) {
        CLEANUP_FREE char *name = xasprintf("j%02d", i);
        const char *node;

        if (jobs[i].submit > at || jobs[i].node >= 0)
            continue;
        node = world_node_of(w, name);
        if (*node == '\0')
            continue;
        jobs[i].node = node[1] - '1';
        jobs[i].start = at;
        begin(w, JOB(name, (unsigned)jobs[i].cpus, jobs[i].limit));
    }
}

static void
step_model(struct world *w, struct model_job *jobs, int64_t at)
{
    for (int i = 0; i < MODEL_JOBS; i++) {
        CLEANUP_FREE char *name = xasprintf("j%02d", i);

        if (jobs[i].node >= 0 && !jobs[i].has_ended && jobs[i].start + jobs[i].run <= at) {
            jobs[i].has_ended = true;
            end(w, name);
        }
        if (jobs[i].submit == at)
            PUT(w, name, (unsigned)jobs[i].cpus, jobs[i].limit);
    }
}

/* After each second: the head's start, computed by brute force, is not later
 * than before other jobs started, equals the reservation, and is not later than
 * promised.
 */
static void
run_model(uint64_t seed, int n_nodes, bool without_sharing, int64_t *starts)
{
    struct world *w = backfill_new(NULL, without_sharing);
    struct model_job jobs[MODEL_JOBS];
    int64_t promised = INT64_MAX;
    int head_before = -1, left = MODEL_JOBS;

    model_seed = seed;
    model_nodes = n_nodes;
    for (int i = 0; i < model_nodes; i++) {
        CLEANUP_FREE char *name = xasprintf("n%d", i + 1);

        world_add_node(w, name, MODEL_CPUS);
    }
    for (int i = 0; i < MODEL_JOBS; i++) {
        jobs[i] = (struct model_job){.cpus = 1 + draw(MODEL_CPUS),
                                     .submit = i == 0 ? 0 : jobs[i - 1].submit + draw(4),
                                     .limit = 2 + draw(30),
                                     .node = -1};
        jobs[i].run = 1 + draw(jobs[i].limit);
    }
    for (int64_t at = 0; left > 0; at++) {
        int64_t before, reserved;
        int head;

        ck_assert_int_lt(at, 5000);
        step_model(w, jobs, at);
        advance(w, 0);
        head = find_head(jobs, at);
        before = head >= 0 ? shadow_of(jobs, head, at) : INT64_MAX;
        take_starts(w, jobs, at);
        if (head >= 0 && before == at)
            ck_assert_msg(jobs[head].node >= 0, "seed %d: job %d has room at %d", (int)seed, head,
                          (int)at);
        head = find_head(jobs, at);
        if (head >= 0) {
            CLEANUP_FREE char *key = xasprintf("default/j%02d", head);

            reserved = reserved_at(w, key);
            ck_assert_int_eq(reserved, shadow_of(jobs, head, at));
            if (head == head_before)
                ck_assert_int_le(reserved, promised);
            promised = reserved;
        }
        head_before = head;
        left = 0;
        for (int i = 0; i < MODEL_JOBS; i++)
            left += !jobs[i].has_ended;
        fake_clock_advance(&w->time, FAKE_SECOND);
    }
    for (int i = 0; i < MODEL_JOBS; i++)
        starts[i] = jobs[i].start * model_nodes + jobs[i].node;
    world_free(w);
}

START_TEST(nobody_who_passes_makes_the_first_start_later)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        int64_t starts[MODEL_JOBS];

        run_model(seed, 3, false, starts);
    }
}
END_TEST

/* On one node, because ties between equal nodes are broken at random. */
START_TEST(results_that_are_shared_decide_the_same)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        int64_t shared[MODEL_JOBS], own[MODEL_JOBS];

        run_model(seed, 1, false, shared);
        run_model(seed, 1, true, own);
        for (int i = 0; i < MODEL_JOBS; i++)
            ck_assert_msg(shared[i] == own[i], "seed %d: job %d", (int)seed, i);
    }
}
END_TEST

/* Meanwhile other pods may not use the room. */
START_TEST(one_that_backs_off_is_reserved_before_those_behind_it)
{
    struct world *w = backfill_new(NULL, false);
    struct queue *q = w->scheduler->queue;

    world_add_node(w, "n1", 4);
    PUT(w, "a", 4, 100, .node = "n1");
    PUT(w, "first", 4, 50);
    PUT(w, "second", 4, 60);
    PUT(w, "third", 3, 70);
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "default/first"), 100);
    /* All are tried, and the failed ones are to be tried again. */
    queue_event(q, &event_assigned_pod_delete, NULL, NULL);
    world_settle(w);
    queue_activate(q, "default", "third");
    queue_event(q, &event_assigned_pod_delete, NULL, NULL);
    ck_assert_int_eq(queue_find(q, "default", "second")->state, QUEUE_BACKOFF);
    end(w, "first");
    world_settle(w);

    ck_assert_int_eq(reserved_at(w, "default/second"), 100);
    ck_assert_int_eq(reserved_at(w, "default/third"), -1);
    world_free(w);
}
END_TEST

/* --- Groups ---------------------------------------------------------------- */

/* Nodes n1 to n4 of one CPU. */
static struct world *
world_of_small_nodes(const char *args)
{
    struct world *w = backfill_new(args, false);

    for (unsigned i = 1; i <= 4; i++) {
        CLEANUP_FREE char *name = xasprintf("n%u", i);

        world_add_node(w, name, 1);
    }
    world_settle(w);
    return w;
}

static void
put_group(struct world *w, const char *name, unsigned count, int64_t limit)
{
    for (unsigned i = 0; i < count; i++) {
        CLEANUP_FREE char *member = xasprintf("%s%u", name, i);

        PUT(w, member, 1, limit, .group = name, .members = count);
    }
}

START_TEST(a_group_is_reserved_all_its_nodes)
{
    struct world *w = world_of_small_nodes(NULL);

    PUT(w, "a", 1, 100, .node = "n1");
    PUT(w, "b", 1, 200, .node = "n2");
    PUT(w, "c", 1, 300, .node = "n3");
    put_group(w, "g", 3, 50);
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "@default/g/0"), 200);

    /* n4 is reserved for the group from 200 on. */
    PUT(w, "long", 1, 201);
    PUT(w, "short", 1, 200);
    advance(w, 0);
    check_node(w, "long", "");
    check_node(w, "short", "n4");
    world_free(w);
}
END_TEST

START_TEST(room_beside_a_group_is_taken_by_long_pods)
{
    struct world *w = world_of_small_nodes(NULL);

    PUT(w, "a", 1, 100, .node = "n1");
    PUT(w, "b", 1, 100, .node = "n2");
    put_group(w, "g", 3, 50); /* n1, n2 and one of n3 and n4 */
    PUT(w, "long", 1, 500);
    PUT(w, "longer", 1, 600);
    advance(w, 0);
    ck_assert_str_ne(world_node_of(w, "long"), "");
    check_node(w, "longer", "");
    end(w, "a");
    end(w, "b");
    advance(w, 0);
    ck_assert_str_ne(world_node_of(w, "g0"), "");
    ck_assert_str_ne(world_node_of(w, "g2"), "");
    world_free(w);
}
END_TEST

/* A job that ends in time gets the node that is not reserved; a long job may
 * still use the other.
 */
START_TEST(a_short_one_exchanges_its_node_with_the_group)
{
    struct world *w = world_of_small_nodes(NULL);

    PUT(w, "a", 1, 100, .node = "n1");
    PUT(w, "b", 1, 100, .node = "n2");
    put_group(w, "g", 3, 50);
    PUT(w, "short", 1, 80);
    advance(w, 0);
    ck_assert_str_ne(world_node_of(w, "short"), "");
    PUT(w, "long", 1, 500);
    advance(w, 0);
    ck_assert_str_ne(world_node_of(w, "long"), "");
    ck_assert_int_eq(reserved_at(w, "@default/g/0"), 100);
    world_free(w);
}
END_TEST

START_TEST(a_group_without_one_of_its_members_loses_its_reservation)
{
    struct world *w = world_of_small_nodes(NULL);

    for (unsigned i = 1; i <= 3; i++) {
        CLEANUP_FREE char *name = xasprintf("n%u", i);

        PUT(w, name, 1, 100, .node = name);
    }
    put_group(w, "g", 3, 50);
    PUT(w, "long", 1, 500);
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "@default/g/0"), 100);
    ck_assert_str_ne(world_node_of(w, "long"), "");
    end(w, "g1");
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "@default/g/0"), -1);
    world_free(w);
}
END_TEST

/* --- Several reservations -------------------------------------------------- */

START_TEST(a_second_reservation_is_planned_around_the_first)
{
    struct world *w = world_of_small_nodes("{\"reservations\":3}");

    for (unsigned i = 1; i <= 4; i++) {
        CLEANUP_FREE char *name = xasprintf("n%u", i);

        PUT(w, name, 1, 100 * i, .node = name);
    }
    put_group(w, "g", 3, 1000); /* n1, n2 and n3 from 300 to 1300 */
    put_group(w, "h", 2, 100);  /* n1 and n2 are free for it at 200 */
    PUT(w, "one", 1, 900);      /* n4 at 400 */
    advance(w, 0);
    ck_assert_int_eq(reserved_at(w, "@default/g/0"), 300);
    ck_assert_int_eq(reserved_at(w, "@default/h/0"), 200);
    ck_assert_int_eq(reserved_at(w, "default/one"), 400);
    world_free(w);
}
END_TEST

START_TEST(the_number_of_reservations_is_at_least_one)
{
    struct error err = {0};
    struct profile *p = NULL;
    CLEANUP(arena_freep) struct arena *arena = arena_new(1024);
    struct profile_plugin plugin = {.plugin = plugin_find("Backfill")};
    struct handle handle = {.reasons = string_ids_new()};

    plugin.args = json_parse(arena, "{\"reservations\":0}", 18, NULL, &err);
    ck_assert_int_lt(profile_new(&(struct profile_settings){.scheduler_name = "x",
                                                            .plugins = &plugin,
                                                            .n_plugins = 1,
                                                            .handle = &handle},
                                 &p, &err),
                     0);
    ck_assert_str_eq(err.text, "profile 'x': plugin 'Backfill': reservations: 0 is not "
                               "between 1 and 1000");
    string_ids_free(handle.reasons);
}
END_TEST

/* The amounts would suffice, but no NUMA node is large enough, even when empty.
 */
START_TEST(a_pod_too_large_for_any_numa_node_is_not_tried_at_each_end)
{
    struct world *w = backfill_new(NULL, false);
    unsigned attempts;

    world_add_numa_node(w, "n1", 2, 4);
    world_add_pod(w, "a", "4", "1Gi", EXCLUSIVE);
    world_add_pod(w, "b", "4", "1Gi", EXCLUSIVE ",\"activeDeadlineSeconds\":100");
    world_settle(w);
    check_node(w, "a", "n1");
    world_add_pod(w, "never", "12", "1Gi", SINGLE_NUMA ",\"activeDeadlineSeconds\":50");
    world_add_pod(w, "head", "12", "1Gi", EXCLUSIVE ",\"activeDeadlineSeconds\":50");
    advance(w, 1);
    ck_assert_int_eq(reserved_at(w, "default/never"), -1);
    ck_assert_int_ge(reserved_at(w, "default/head"), 100);
    attempts = queue_find(w->scheduler->queue, "default", "never")->attempts;
    end(w, "b");
    advance(w, 1);
    check_node(w, "head", "n1");
    ck_assert_uint_eq(queue_find(w->scheduler->queue, "default", "never")->attempts, attempts);
    world_free(w);
}
END_TEST

SUITE("backfill", a_wide_pod_is_passed_by_those_that_do_not_delay_it,
      those_who_are_before_it_in_the_order_take_its_room,
      a_pod_too_late_for_its_deadline_gets_no_reservation,
      one_that_changes_before_it_is_asked_about_room_gets_it,
      a_job_that_ends_early_moves_the_reservation, a_reservation_that_ends_wakes_those_it_kept_out,
      a_job_past_its_end_ends_at_any_moment_and_then_within_the_grace,
      no_reservation_is_made_where_nobody_has_an_end,
      the_head_that_can_never_start_leaves_the_reservation_to_the_next,
      a_pod_that_fits_no_node_gets_no_reservation, a_reserved_node_that_goes_moves_the_reservation,
      a_node_that_joins_is_the_heads, a_node_that_says_nothing_new_wakes_nobody,
      a_clock_that_jumps_moves_the_reservation_and_starts_nobody,
      a_scheduler_that_starts_anew_reserves_the_same,
      a_pod_too_large_for_any_numa_node_is_not_tried_at_each_end, shapes_count_not_amounts,
      nobody_who_passes_makes_the_first_start_later, results_that_are_shared_decide_the_same,
      one_that_backs_off_is_reserved_before_those_behind_it, a_group_is_reserved_all_its_nodes,
      room_beside_a_group_is_taken_by_long_pods, a_short_one_exchanges_its_node_with_the_group,
      a_group_without_one_of_its_members_loses_its_reservation,
      a_second_reservation_is_planned_around_the_first, the_number_of_reservations_is_at_least_one)
