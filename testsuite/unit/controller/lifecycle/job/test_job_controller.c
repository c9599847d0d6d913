/* SPDX-License-Identifier: Apache-2.0 */
/* The job controller with an API that answers when the test lets it. */
#include "controller/lifecycle/job/job_controller.h"

#include <check.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/job/element_states.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/skipped_waits.h"
#include "testsuite/lib/suite.h"

static struct fake_clock now;
static struct fake_client *api;
static struct loop *loop;
static struct timer *end_of_turn;
static struct object_cache *cache;
static struct job_controller *control;

static void
stop(void *context)
{
    (void)context;
    loop_stop(loop);
}

/* Runs loop and API until both have nothing left to do. */
static void
settle(void)
{
    for (int i = 0; i < 10; i++) {
        fake_client_run(api);
        timer_start(end_of_turn, 1);
        loop_run(loop);
    }
    fake_client_run(api);
}

static const struct object *
put_job(void)
{
    const struct object *job =
        fake_client_put(api, &job_kind,
                        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":"
                        "\"j\",\"namespace\":\"default\",\"uid\":\"u\"},\"spec\":"
                        "{\"completions\":1,\"parallelism\":1,\"backoffLimit\":0,"
                        "\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}},"
                        "\"status\":{\"id\":7}}");

    settle();
    return job;
}

static const char *
uid_of(const struct kind *kind, const char *name)
{
    return fake_client_find(api, kind, "default", name)->meta->uid;
}

/* Stores the agent's report of the job's pod. */
static void
put_pod(const char *status)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    fake_client_put(api, &pod_kind,
                    arena_printf(arena,
                                 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":"
                                 "{\"name\":\"j-0\",\"namespace\":\"default\","
                                 "\"uid\":\"%s\",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\","
                                 "\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"%s\","
                                 "\"controller\":true}]},\"spec\":{\"nodeName\":\"n1\","
                                 "\"containers\":[{\"name\":\"main\"}]},\"status\":{%s}}",
                                 uid_of(&pod_kind, "j-0"), uid_of(&job_kind, "j"), status));
}

static const struct job *
the_job(void)
{
    return job_of(fake_client_find(api, &job_kind, "default", "j"));
}

/* Starts the controller with the objects that `api` has. */
static void
start(void)
{
    skip_waits();
    loop = loop_new();
    end_of_turn = timer_new(loop, stop, NULL);
    cache = object_cache_new(fake_client_client(api));
    control = job_controller_new(loop, fake_client_client(api), cache, &now.clock);
    object_cache_start(cache);
    settle();
}

static void
begin(void)
{
    now = (struct fake_clock)FAKE_CLOCK;
    api = fake_client_new();
    start();
}

static void
end(void)
{
    job_controller_free(control);
    object_cache_free(cache);
    timer_free(end_of_turn);
    loop_free(loop);
    fake_client_free(api);
}

/* A restarted controller reads the record of an array's elements. Meanwhile the pod of
 * element 0 goes, and its event comes before the record, which was read earlier, so it is read again.
 */
START_TEST(a_pod_that_goes_while_the_record_is_read_is_counted)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct element_chunk chunk = {.states = {ELEMENT_DONE}};

    element_chunk_format(&chunk, 0, &text);
    begin();
    fake_client_put(api, &job_kind,
                    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":"
                    "\"j\",\"namespace\":\"default\",\"uid\":\"u\"},\"spec\":{"
                    "\"array\":{\"tasks\":\"0-1\"},\"completions\":2,\"parallelism\":2,"
                    "\"completionMode\":\"Indexed\",\"backoffLimitPerIndex\":0,"
                    "\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}},"
                    "\"status\":{\"id\":7}}");
    fake_client_put(api, &pod_kind,
                    arena_printf(arena,
                                 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                                 "\"j-0\",\"namespace\":\"default\",\"ownerReferences\":[{"
                                 "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\","
                                 "\"uid\":\"%s\",\"controller\":true}],\"annotations\":{"
                                 "\"batch.kubernetes.io/job-completion-index\":\"0\"}},"
                                 "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":"
                                 "\"main\"}]},\"status\":{\"phase\":\"Succeeded\"}}",
                                 uid_of(&job_kind, "j")));
    for (int i = 0; i < 50; i++) /* pods are made, ends are settled */
        fake_client_answer(api, CLIENT_CREATE, "elements", 200, "{\"kept\":[],\"pods\":[]}");
    fake_client_run(api);
    timer_start(end_of_turn, 1);
    loop_run(loop); /* the record is asked for */
    fake_client_remove(api, &pod_kind, "default", "j-0");
    fake_client_answer(api, CLIENT_GET, "elements", 200, "{\"chunks\":[]}");
    fake_client_run(api);
    fake_client_answer(
        api, CLIENT_GET, "elements", 200,
        arena_printf(arena, "{\"chunks\":[{\"number\":0,\"text\":\"%s\"}]}", text.text));
    settle();

    ck_assert_uint_eq(fake_client_calls(api, CLIENT_GET, "elements"), 2);
    end();
}
END_TEST

START_TEST(a_job_gets_one_pod_and_an_event_says_so)
{
    begin();

    put_job();

    ck_assert_uint_eq(fake_client_count(api, &pod_kind), 1);
    ck_assert_ptr_nonnull(fake_client_find(api, &pod_kind, "default", "j-0"));
    ck_assert_uint_eq(fake_client_count(api, &event_kind), 1);
    end();
}
END_TEST

#define BURST 2000

static void
put_job_of_burst(int i)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    fake_client_put(api, &job_kind,
                    arena_printf(arena,
                                 "{\"metadata\":{\"name\":\"b%d\",\"namespace\":"
                                 "\"default\",\"uid\":\"u%d\"},\"spec\":{"
                                 "\"completions\":1,\"parallelism\":1,\"template\":{"
                                 "\"spec\":{\"containers\":[{\"name\":\"main\"}]}}},"
                                 "\"status\":{\"id\":%d}}",
                                 i, i, i + 1));
}

/* Makes the controller check the job; returns the number of pods in its status
 * then.
 */
static int64_t
count_told(int i)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *job = arena_printf(arena, "b%d", i);
    const char *pod = arena_printf(arena, "b%d-0", i);

    fake_client_put(api, &pod_kind,
                    arena_printf(arena,
                                 "{\"metadata\":{\"name\":\"%s\",\"namespace\":"
                                 "\"default\",\"uid\":\"%s\",\"ownerReferences\":[{"
                                 "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":"
                                 "\"%s\",\"uid\":\"u%d\",\"controller\":true}]},"
                                 "\"spec\":{\"nodeName\":\"n1\"}}",
                                 pod, uid_of(&pod_kind, pod), job, i));
    settle();
    return job_of(fake_client_find(api, &job_kind, "default", job))->status.active;
}

/* For jobs that arrive singly, the counts are written after a second. */
START_TEST(the_counts_of_a_job_are_written_the_later_the_more_jobs_wait)
{
    begin();
    for (int i = 0; i < BURST; i++)
        put_job_of_burst(i);
    for (int i = 0; i < 100 && fake_client_count(api, &pod_kind) < BURST; i++)
        settle();
    settle();
    ck_assert_uint_eq(fake_client_calls(api, CLIENT_MERGE_PATCH, "status"), 0);

    now.monotonic_us += INT64_C(1100000);
    ck_assert_int_eq(count_told(0), 1);
    ck_assert_int_eq(count_told(BURST - 1), 0);
    ck_assert_uint_eq(fake_client_calls(api, CLIENT_MERGE_PATCH, "status"), 1);

    now.monotonic_us += INT64_C(10000000);
    ck_assert_int_eq(count_told(BURST - 1), 1);
    end();
}
END_TEST

START_TEST(a_create_that_fails_is_tried_again)
{
    begin();
    fake_client_fail(api, CLIENT_CREATE, NULL, 503, "ServiceUnavailable");

    put_job();
    for (int i = 0; i < 100 && !fake_client_find(api, &pod_kind, "default", "j-0"); i++)
        settle();

    ck_assert_ptr_nonnull(fake_client_find(api, &pod_kind, "default", "j-0"));
    ck_assert(!job_is_finished(the_job()));
    end();
}
END_TEST

START_TEST(the_end_of_a_pod_is_known_though_it_went_at_once)
{
    begin();
    put_job();
    put_pod("\"phase\":\"Running\"");
    settle();

    put_pod("\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"main\","
            "\"state\":{\"terminated\":{\"exitCode\":3,\"startedAt\":"
            "\"2024-01-01T00:00:00Z\",\"finishedAt\":"
            "\"2024-01-01T00:00:05Z\"}}}]");
    fake_client_remove(api, &pod_kind, "default", "j-0");
    settle();

    ck_assert(job_is_finished(the_job()));
    ck_assert_int_eq(*the_job()->status.exit_code, 3);
    ck_assert_str_eq(the_job()->status.last_run->node_name, "n1");
    end();
}
END_TEST

/* Preempted, and removed when its node had ended it. */
#define REMOVED_POD(name, end)                                                      \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"default\",\"uid\":\"p\"," \
    "\"deletionTimestamp\":\"2024-01-01T00:00:04Z\"},"                              \
    "\"spec\":{\"nodeName\":\"n1\"},\"status\":{" end                               \
    ",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\"}],"        \
    "\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{"         \
    "\"exitCode\":3,\"startedAt\":\"2024-01-01T00:00:00Z\","                        \
    "\"finishedAt\":\"2024-01-01T00:00:05Z\"}}}]}}"
#define LOST     "\"phase\":\"Failed\""
#define FINISHED "\"phase\":\"Succeeded\""

static void
put_job_without_pods(const char *counts, const char *removed)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    fake_client_put(api, &job_kind,
                    arena_printf(arena,
                                 "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":"
                                 "{\"name\":\"j\",\"namespace\":\"default\",\"uid\":\"u\"},"
                                 "\"spec\":{\"completions\":1,\"parallelism\":1,"
                                 "\"backoffLimit\":0,\"requeue\":true,\"template\":{\"spec\":"
                                 "{\"containers\":[{\"name\":\"main\"}]}}},"
                                 "\"status\":{\"id\":7%s,\"removedPods\":[%s]}}",
                                 counts, removed));
}

static void
start_with_removed(const char *counts, const char *removed)
{
    now = (struct fake_clock)FAKE_CLOCK;
    api = fake_client_new();
    put_job_without_pods(counts, removed);
    start();
}

START_TEST(a_preempted_pod_that_went_uncounted_is_excused_by_the_next_controller)
{
    start_with_removed(",\"attempts\":1", REMOVED_POD("j-0", LOST));

    ck_assert(!job_is_finished(the_job()));
    ck_assert_ptr_nonnull(fake_client_find(api, &pod_kind, "default", "j-0-r1"));
    ck_assert_int_eq(the_job()->status.excused, 1);
    ck_assert_int_eq(*the_job()->status.exit_code, 3);
    ck_assert_ptr_null(the_job()->status.removed_pods);
    end();
}
END_TEST

START_TEST(two_pods_that_went_uncounted_count_though_no_attempt_was_written)
{
    start_with_removed("", REMOVED_POD("j-0", LOST) "," REMOVED_POD("j-0-r1", LOST));

    ck_assert_ptr_nonnull(fake_client_find(api, &pod_kind, "default", "j-0-r2"));
    ck_assert_int_eq(the_job()->status.excused, 2);
    end();
}
END_TEST

START_TEST(a_job_whose_pod_succeeded_and_went_uncounted_is_complete)
{
    start_with_removed(",\"attempts\":1", REMOVED_POD("j-0", FINISHED));

    ck_assert_ptr_nonnull(job_find_condition(the_job(), "Complete"));
    ck_assert_uint_eq(fake_client_count(api, &pod_kind), 0);
    end();
}
END_TEST

START_TEST(a_pod_that_was_counted_before_it_went_counts_once)
{
    start_with_removed(",\"attempts\":1,\"excused\":1", REMOVED_POD("j-0", LOST));

    ck_assert_int_eq(the_job()->status.excused, 1);
    ck_assert_int_eq(the_job()->status.failed, 0);
    ck_assert_ptr_nonnull(fake_client_find(api, &pod_kind, "default", "j-0-r1"));
    end();
}
END_TEST

/* The event of the Job may come before the event of the pod. */
START_TEST(a_pod_that_goes_stays_listed_until_its_end_is_counted)
{
    begin();
    put_job_without_pods("", "");
    settle();
    put_pod("\"phase\":\"Running\"");
    settle();

    put_job_without_pods(",\"attempts\":1", REMOVED_POD("j-0", LOST));
    settle();
    ck_assert_uint_eq(json_count(the_job()->status.removed_pods), 1);
    put_pod(LOST ",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\"}]");
    fake_client_remove(api, &pod_kind, "default", "j-0");
    settle();

    ck_assert_ptr_null(the_job()->status.removed_pods);
    ck_assert_int_eq(the_job()->status.excused, 1);
    ck_assert_ptr_nonnull(fake_client_find(api, &pod_kind, "default", "j-0-r1"));
    end();
}
END_TEST

START_TEST(a_pod_that_vanishes_fails_its_job_and_its_node_is_told)
{
    begin();
    put_job();
    put_pod("\"phase\":\"Running\"");
    settle();

    fake_client_remove(api, &pod_kind, "default", "j-0");
    settle();

    ck_assert_ptr_nonnull(job_find_condition(the_job(), "Failed"));
    ck_assert_str_eq(the_job()->status.last_run->node_name, "n1");
    end();
}
END_TEST

START_TEST(a_name_that_another_pod_has_is_not_taken_for_the_jobs)
{
    begin();
    fake_client_put(api, &pod_kind,
                    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":"
                    "{\"name\":\"j-0\",\"namespace\":\"default\"},\"spec\":"
                    "{\"containers\":[{\"name\":\"main\"}]},\"status\":"
                    "{\"phase\":\"Succeeded\"}}");
    settle();

    put_job();

    ck_assert(!job_is_finished(the_job()));
    ck_assert_int_eq(the_job()->status.active, 0);
    ck_assert_uint_eq(fake_client_count(api, &event_kind), 1);
    end();
}
END_TEST

static void
put_partition(const char *name, int maximum_requeues)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    fake_client_put(api, &partition_kind,
                    arena_printf(arena,
                                 "{\"metadata\":{\"name\":\"%s\"},\"spec\":{"
                                 "\"maximumRequeues\":%d}}",
                                 name, maximum_requeues));
    settle();
}

/* The nth pod of a requeueable job was lost with its node. */
static void
lose_pod(int n)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *name = n == 0 ? "j-0" : arena_printf(arena, "j-0-r%d", n);

    fake_client_put(api, &pod_kind,
                    arena_printf(arena,
                                 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                                 "\"uid\":\"%s\",\"ownerReferences\":[{\"apiVersion\":"
                                 "\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"%s\","
                                 "\"controller\":true}]},\"spec\":{\"nodeName\":\"n1\","
                                 "\"containers\":[{\"name\":\"main\"}]},\"status\":{\"phase\":"
                                 "\"Failed\",\"conditions\":[{\"type\":\"DisruptionTarget\","
                                 "\"status\":\"True\"}]}}",
                                 name, uid_of(&pod_kind, name), uid_of(&job_kind, "j")));
    settle();
}

static void
put_job_in(const char *partitions)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    fake_client_put(api, &job_kind,
                    arena_printf(arena,
                                 "{\"metadata\":{\"name\":\"j\",\"namespace\":"
                                 "\"default\",\"uid\":\"u\"},\"spec\":{\"requeue\":true,"
                                 "\"completions\":1,\"parallelism\":1,\"backoffLimit\":0,"
                                 "\"template\":{\"spec\":{\"placement\":{\"partition\":"
                                 "\"%s\"},\"containers\":[{\"name\":\"main\"}]}}},"
                                 "\"status\":{\"id\":7}}",
                                 partitions));
    settle();
}

static bool
is_held_for_requeues(void)
{
    const struct job *job = the_job();

    return job->status.cause != NULL && strcmp(job->status.cause->code, "JobHoldMaxRequeue") == 0;
}

START_TEST(the_least_of_site_and_partitions_says_how_often_it_starts_anew)
{
    static const struct {
        int site, of_a, of_b, most;
        const char *partitions;
    } cases[] = {
        {0, 1, 0, 1, "a"},   {2, 1, 0, 1, "a"}, {1, 2, 0, 1, "a"},       {0, 2, 1, 1, "a,b"},
        {0, 0, 1, 1, "a,b"}, {2, 0, 0, 2, "a"}, {2, 0, 0, 2, "nowhere"},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin();
        job_controller_limit_requeues(control, cases[i].site);
        put_partition("a", cases[i].of_a);
        put_partition("b", cases[i].of_b);
        put_job_in(cases[i].partitions);
        for (int n = 0; n < cases[i].most; n++)
            lose_pod(n);
        ck_assert_msg(!is_held_for_requeues(), "case %u", i);

        lose_pod(cases[i].most);
        ck_assert_msg(is_held_for_requeues(), "case %u", i);
        end();
    }
}
END_TEST

START_TEST(a_partition_that_is_changed_lets_go_what_it_held)
{
    begin();
    put_partition("a", 1);
    put_job_in("a");
    lose_pod(0);
    lose_pod(1);
    ck_assert(is_held_for_requeues());
    ck_assert_ptr_null(fake_client_find(api, &pod_kind, "default", "j-0-r2"));

    put_partition("a", 2);
    ck_assert_ptr_nonnull(fake_client_find(api, &pod_kind, "default", "j-0-r2"));
    end();
}
END_TEST

static void
put_quota(const char *namespace, int pods, int used)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    fake_client_put(api, &resource_quota_kind,
                    arena_printf(arena,
                                 "{\"metadata\":{\"name\":\"q\",\"namespace\":"
                                 "\"%s\",\"uid\":\"q-%s\"},\"status\":{"
                                 "\"hard\":{\"pods\":\"%d\"},\"used\":{"
                                 "\"pods\":\"%d\"}}}",
                                 namespace, namespace, pods, used));
    for (int i = 0; i < 3; i++) {
        fake_client_run(api);
        timer_start(end_of_turn, 1);
        loop_run(loop);
    }
}

/* There are more failures than the test makes calls. */
static void
refuse_creates(void)
{
    for (int i = 0; i < 200; i++)
        fake_client_fail(api, CLIENT_CREATE, NULL, 403,
                         "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1");
}

static unsigned
creates(void)
{
    return fake_client_calls(api, CLIENT_CREATE, NULL);
}

/* What waits for room that there is not is left alone, also by the timer that
 * tries once more after a refusal which room contradicts. So what happens next
 * is caused by the next change, however slow the machine is.
 */
static void
fill_quota(int pods)
{
    put_quota("default", pods, pods);
    settle();
}

/* It is refused so often that failures alone would cause no retry for a minute.
 */
START_TEST(a_refused_job_is_tried_when_its_quota_is_changed)
{
    unsigned before;

    begin();
    put_quota("default", 1, 1);
    put_quota("other", 1, 0);
    refuse_creates();
    put_job();
    for (int i = 2; i < 14; i++) {
        fill_quota(i - 1);
        before = creates();
        put_quota("default", i, i - 1);
        ck_assert_uint_gt(creates(), before);
    }
    ck_assert_uint_eq(fake_client_count(api, &pod_kind), 0);

    fill_quota(13);
    before = creates();
    put_quota("default", 13, 13);
    put_quota("other", 2, 0);
    settle();
    ck_assert_uint_eq(creates(), before);
    put_quota("default", 13, 12);
    ck_assert_uint_gt(creates(), before);

    fill_quota(13);
    before = creates();
    fake_client_remove(api, &resource_quota_kind, "default", "q");
    settle();
    ck_assert_uint_gt(creates(), before);
    end();
}
END_TEST

static void
put_one_of_many(unsigned n, bool is_held)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    fake_client_put(api, &job_kind,
                    arena_printf(arena,
                                 "{\"metadata\":{\"name\":\"j%u\",\"namespace\":"
                                 "\"default\",\"uid\":\"u%u\",\"creationTimestamp\":"
                                 "\"2026-01-01T%02u:%02u:00Z\"},\"spec\":{\"suspend\":%s,"
                                 "\"completions\":1,\"parallelism\":1,\"template\":{"
                                 "\"spec\":{\"containers\":[{\"name\":\"m\"}]}}},"
                                 "\"status\":{\"id\":%u}}",
                                 n, n, n / 60, n % 60, is_held ? "true" : "false", n + 1));
}

/* As many as are tried at a time are held, and are queued before the one that
 * is not.
 */
START_TEST(a_held_job_takes_no_turn_when_room_comes)
{
    enum { HELD = 64 };
    unsigned before;

    begin();
    put_quota("default", 1, 1);
    for (int i = 0; i < 10; i++)
        refuse_creates();
    for (unsigned n = 0; n <= HELD; n++)
        put_one_of_many(n, false);
    settle();
    for (int i = 2; i < 14; i++)
        put_quota("default", i, 1);
    for (unsigned n = 0; n < HELD; n++)
        put_one_of_many(n, true);
    fill_quota(13);

    before = creates();
    put_quota("default", 13, 0);
    ck_assert_uint_gt(creates(), before);

    before = creates();
    put_one_of_many(0, false);
    settle();
    ck_assert_uint_gt(creates(), before);
    end();
}
END_TEST

/* The call is under way when this controller loses the leadership. */
START_TEST(a_create_that_is_abandoned_is_not_said_to_be_refused)
{
    begin();
    fake_client_put(api, &job_kind,
                    "{\"metadata\":{\"name\":\"j\",\"namespace\":\"default\","
                    "\"uid\":\"u\"},\"spec\":{\"completions\":1,"
                    "\"parallelism\":1,\"template\":{\"spec\":{"
                    "\"containers\":[{\"name\":\"main\"}]}}},"
                    "\"status\":{\"id\":7}}");
    fake_client_run(api);
    timer_start(end_of_turn, 1);
    loop_run(loop);
    ck_assert_uint_eq(fake_client_calls(api, CLIENT_CREATE, NULL), 1);

    client_abandon(fake_client_client(api));

    ck_assert_uint_eq(fake_client_calls(api, CLIENT_CREATE, NULL), 1);
    ck_assert_uint_eq(fake_client_count(api, &pod_kind), 0);
    end();
}
END_TEST

/* Stores the job as its owner has changed it after its first pod. */
static void
change_job(const char *annotations, const char *spec)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    fake_client_put(api, &job_kind,
                    arena_printf(arena,
                                 "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                                 "\"metadata\":{\"name\":\"j\",\"namespace\":"
                                 "\"default\",\"uid\":\"u\",\"annotations\":{%s}},"
                                 "\"spec\":{\"completions\":1,\"parallelism\":1,"
                                 "\"backoffLimit\":0,%s\"template\":{\"spec\":{"
                                 "\"containers\":[{\"name\":\"main\"}]}}},\"status\":{"
                                 "\"id\":7,\"attempts\":1,\"active\":1}}",
                                 annotations, spec));
}

START_TEST(a_hold_that_is_taken_back_at_once_costs_nothing)
{
    begin();
    put_job();
    fake_client_fail(api, CLIENT_MERGE_PATCH, "status", 409, "Conflict");

    change_job("", "\"suspend\":true,");
    fake_client_run(api);
    timer_start(end_of_turn, 1);
    loop_run(loop);
    change_job("", "");
    settle();

    ck_assert(!job_is_finished(the_job()));
    ck_assert_ptr_nonnull(fake_client_find(api, &pod_kind, "default", "j-0"));
    ck_assert_int_eq(the_job()->status.failed, 0);
    end();
}
END_TEST

START_TEST(a_job_that_stays_held_has_its_pod_ended_and_excused)
{
    begin();
    put_job();

    change_job("", "\"suspend\":true,");
    settle();

    ck_assert(!job_is_finished(the_job()));
    ck_assert_uint_eq(fake_client_count(api, &pod_kind), 0);
    ck_assert_int_eq(the_job()->status.failed, 0);
    end();
}
END_TEST

/* The pod that is being created has the former template. */
START_TEST(a_requeue_waits_for_the_pod_that_is_being_made)
{
    begin();
    fake_client_put(api, &job_kind,
                    "{\"metadata\":{\"name\":\"j\",\"namespace\":\"default\","
                    "\"uid\":\"u\"},\"spec\":{\"completions\":1,"
                    "\"parallelism\":1,\"backoffLimit\":0,\"template\":{"
                    "\"spec\":{\"containers\":[{\"name\":\"main\"}]}}},"
                    "\"status\":{\"id\":7}}");
    fake_client_run(api);
    timer_start(end_of_turn, 1);
    loop_run(loop);
    ck_assert_uint_eq(fake_client_calls(api, CLIENT_CREATE, NULL), 1);
    ck_assert_uint_eq(fake_client_count(api, &pod_kind), 0);

    fake_client_put(api, &job_kind,
                    "{\"metadata\":{\"name\":\"j\",\"namespace\":\"default\","
                    "\"uid\":\"u\",\"annotations\":{"
                    "\"kiln.hpc/requeue-before\":\"1\"}},\"spec\":{"
                    "\"completions\":1,\"parallelism\":1,\"backoffLimit\":0,"
                    "\"template\":{\"spec\":{\"containers\":[{\"name\":"
                    "\"main\"}]}}},\"status\":{\"id\":7}}");
    settle();

    ck_assert(!job_is_finished(the_job()));
    ck_assert_int_eq(the_job()->status.requeued, 1);
    ck_assert_ptr_null(fake_client_find(api, &pod_kind, "default", "j-0"));
    ck_assert_uint_eq(fake_client_count(api, &pod_kind), 1);
    end();
}
END_TEST

/* The pod existed when it was to be created, and does not exist when the watch
 * has synced.
 */
START_TEST(a_pod_that_is_never_seen_is_made_anew)
{
    begin();
    fake_client_fail(api, CLIENT_CREATE, NULL, 409, "AlreadyExists");
    put_job();
    ck_assert_uint_eq(fake_client_count(api, &pod_kind), 0);

    now.monotonic_us += 61 * INT64_C(1000000);
    timer_start(end_of_turn, 1100);
    loop_run(loop);
    settle();

    ck_assert_ptr_nonnull(fake_client_find(api, &pod_kind, "default", "j-0"));
    ck_assert(!job_is_finished(the_job()));
    end();
}
END_TEST

static void
put_wide_job(const char *members)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    fake_client_put(api, &job_kind,
                    arena_printf(arena,
                                 "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                                 "\"metadata\":{\"name\":\"j\",\"namespace\":"
                                 "\"default\",\"uid\":\"u\"},\"spec\":{\"completions\":"
                                 "3,%s,\"template\":{\"spec\":{\"containers\":[{\"name\":"
                                 "\"main\"}]}}},\"status\":{\"id\":7}}",
                                 members));
    settle();
}

START_TEST(pods_go_when_fewer_are_wanted)
{
    begin();
    put_wide_job("\"parallelism\":3");
    ck_assert_uint_eq(fake_client_count(api, &pod_kind), 3);

    put_wide_job("\"parallelism\":1");

    ck_assert_uint_eq(fake_client_count(api, &pod_kind), 1);
    ck_assert_ptr_nonnull(fake_client_find(api, &pod_kind, "default", "j-0"));
    ck_assert_int_eq(the_job()->status.failed, 0);
    end();
}
END_TEST

static bool
is_anything(UNUSED const struct kind *kind, UNUSED const char *namespace, UNUSED const char *name,
            UNUSED const char *uid, UNUSED void *context)
{
    return true;
}

START_TEST(a_job_that_a_damaged_row_names_is_let_alone)
{
    begin();
    object_cache_ask_damaged(cache, is_anything, NULL);

    put_job();

    ck_assert_uint_eq(fake_client_count(api, &pod_kind), 0);
    ck_assert(!job_is_finished(the_job()));
    end();
}
END_TEST

START_TEST(a_job_of_another_controller_is_let_alone)
{
    begin();
    put_wide_job("\"parallelism\":3,\"managedBy\":\"example.com/other\"");
    ck_assert_uint_eq(fake_client_count(api, &pod_kind), 0);
    ck_assert_int_eq(the_job()->status.active, 0);
    end();
}
END_TEST

#define HELD_STATUS                                                        \
    "\"id\":7,\"state\":\"Held\",\"conditions\":[{\"type\":\"Suspended\"," \
    "\"status\":\"True\",\"reason\":\"JobSuspended\"}]"

static void
put_held_job(void)
{
    fake_client_put(api, &job_kind,
                    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                    "\"metadata\":{\"name\":\"j\",\"namespace\":\"default\","
                    "\"uid\":\"u\"},\"spec\":{\"completions\":1,"
                    "\"parallelism\":1,\"suspend\":true,\"template\":{"
                    "\"spec\":{\"containers\":[{\"name\":\"main\"}]}}},"
                    "\"status\":{" HELD_STATUS "}}");
}

START_TEST(a_job_that_comes_held_is_told_of_once_and_not_written)
{
    begin();
    put_held_job();
    settle();
    put_held_job(); /* any change */
    settle();

    ck_assert_uint_eq(fake_client_calls(api, CLIENT_MERGE_PATCH, "status"), 0);
    ck_assert_uint_eq(fake_client_count(api, &event_kind), 1);
    ck_assert_uint_eq(fake_client_count(api, &pod_kind), 0);
    end();
}
END_TEST

/* The former controller has reported it. */
START_TEST(a_job_that_was_held_before_is_not_told_of_again)
{
    now = (struct fake_clock)FAKE_CLOCK;
    api = fake_client_new();
    put_held_job();
    start();

    ck_assert_uint_eq(fake_client_calls(api, CLIENT_MERGE_PATCH, "status"), 0);
    ck_assert_uint_eq(fake_client_count(api, &event_kind), 0);
    end();
}
END_TEST

SUITE("job_control", a_pod_that_goes_while_the_record_is_read_is_counted,
      a_job_gets_one_pod_and_an_event_says_so,
      the_counts_of_a_job_are_written_the_later_the_more_jobs_wait,
      a_create_that_fails_is_tried_again, the_end_of_a_pod_is_known_though_it_went_at_once,
      a_preempted_pod_that_went_uncounted_is_excused_by_the_next_controller,
      two_pods_that_went_uncounted_count_though_no_attempt_was_written,
      a_job_whose_pod_succeeded_and_went_uncounted_is_complete,
      a_pod_that_was_counted_before_it_went_counts_once,
      a_pod_that_goes_stays_listed_until_its_end_is_counted,
      a_pod_that_vanishes_fails_its_job_and_its_node_is_told,
      a_name_that_another_pod_has_is_not_taken_for_the_jobs,
      the_least_of_site_and_partitions_says_how_often_it_starts_anew,
      a_partition_that_is_changed_lets_go_what_it_held,
      a_refused_job_is_tried_when_its_quota_is_changed, a_held_job_takes_no_turn_when_room_comes,
      a_create_that_is_abandoned_is_not_said_to_be_refused,
      a_hold_that_is_taken_back_at_once_costs_nothing,
      a_job_that_comes_held_is_told_of_once_and_not_written,
      a_job_that_was_held_before_is_not_told_of_again,
      a_job_that_stays_held_has_its_pod_ended_and_excused,
      a_requeue_waits_for_the_pod_that_is_being_made, a_pod_that_is_never_seen_is_made_anew,
      pods_go_when_fewer_are_wanted, a_job_that_a_damaged_row_names_is_let_alone,
      a_job_of_another_controller_is_let_alone)
