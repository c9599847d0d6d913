/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/gang/gang_starter.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/skipped_waits.h"
#include "testsuite/lib/suite.h"

#define PREPARED "\"conditions\":[{\"type\":\"Prepared\",\"status\":\"True\"}]"

/* The controller on a real event loop and a fake API. */
struct stage {
    struct fake_clock time;
    struct fake_client *api;
    struct loop *loop;
    struct object_cache *cache;
    struct gang_starter *starter;
    unsigned turns;
};

static void
put_job(struct stage *s)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"g\",\"namespace\":\"default\",\"uid\":\"job\"},\"spec\":{"
        "\"parallelism\":3,\"completions\":3,\"completionMode\":\"Indexed\",\"scheduling\":{"
        "\"schedulingPolicy\":{\"gang\":{}}},\"template\":{\"spec\":{\"execution\":{\"runs\":"
        "\"Each\"},\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\"}]}}}}";

    fake_client_put(s->api, &job_kind, text);
}

static void
put_pod(struct stage *s, int index, const char *mark, const char *status)
{
    CLEANUP_FREE char *text = xasprintf(
        "{\"metadata\":{\"name\":\"g-%d\",\"namespace\":\"default\",\"uid\":\"uid-%d\","
        "\"annotations\":{\"kiln.hpc/start-barrier\":\"3\"%s},\"ownerReferences\":[{"
        "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"g\",\"uid\":\"job\","
        "\"controller\":true}]},\"spec\":{\"nodeName\":\"n%d\",\"containers\":[{\"name\":"
        "\"main\"}]},\"status\":{%s%s%s}}",
        index, index, mark, index, strstr(status, "phase") != NULL ? "" : "\"phase\":\"Pending\"",
        status[0] != '\0' && strstr(status, "phase") == NULL ? "," : "", status);

    fake_client_put(s->api, &pod_kind, text);
}

static void
put_node(struct stage *s, const char *name, const char *ready)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\"},\"status\":{\"conditions\":[{\"type\":"
                  "\"Ready\",\"status\":\"%s\"}]}}",
                  name, ready);

    fake_client_put(s->api, &node_kind, text);
}

static void
start_controller(struct stage *s)
{
    s->cache = object_cache_new(fake_client_client(s->api));
    s->starter = gang_starter_new(&(struct gang_starter_settings){
        .loop = s->loop,
        .client = fake_client_client(s->api),
        .cache = s->cache,
        .clock = &s->time.clock,
        .wait_ms = 500, /* on the fake clock; the timer is real */
    });
    object_cache_start(s->cache);
}

static void
stop_controller(struct stage *s)
{
    gang_starter_free(s->starter);
    object_cache_free(s->cache);
}

static void
stage_init(struct stage *s)
{
    static const struct fake_clock clock = FAKE_CLOCK;

    s->time = clock;
    s->api = fake_client_new();
    skip_waits();
    s->loop = loop_new();
    put_job(s);
    start_controller(s);
}

static void
turn(void *arg)
{
    struct stage *s = arg;

    fake_client_run(s->api);
    if (--s->turns == 0)
        loop_stop(s->loop);
}

static void
settle(struct stage *s)
{
    CLEANUP(timer_freep) struct timer *timer = timer_new(s->loop, turn, s);

    s->turns = 20;
    timer_repeat(timer, 1);
    loop_run(s->loop);
}

static void
stage_fini(struct stage *s)
{
    stop_controller(s);
    loop_free(s->loop);
    fake_client_free(s->api);
}

static unsigned
n_starts(const struct stage *s)
{
    return fake_client_calls(s->api, CLIENT_CREATE, "start");
}

START_TEST(a_gang_is_started_once_when_its_last_pod_is_prepared)
{
    struct stage s;

    stage_init(&s);
    fake_client_answer(s.api, CLIENT_CREATE, "start", 200, "{}");
    for (int i = 0; i < 3; i++)
        put_pod(&s, i, "", "");
    settle(&s);
    put_pod(&s, 0, "", PREPARED);
    put_pod(&s, 2, "", PREPARED);
    settle(&s);
    ck_assert_uint_eq(n_starts(&s), 0);

    put_pod(&s, 1, "", PREPARED);
    settle(&s);
    ck_assert_uint_eq(n_starts(&s), 1);

    for (int i = 0; i < 3; i++)
        put_pod(&s, i, ",\"kiln.hpc/gang-started\":\"t\"", PREPARED);
    settle(&s);
    ck_assert_uint_eq(n_starts(&s), 1);
    stage_fini(&s);
}
END_TEST

START_TEST(a_controller_that_was_restarted_starts_what_is_prepared)
{
    struct stage s;

    stage_init(&s);
    stop_controller(&s);
    for (int i = 0; i < 3; i++)
        put_pod(&s, i, "", PREPARED);
    fake_client_answer(s.api, CLIENT_CREATE, "start", 200, "{}");

    start_controller(&s);
    settle(&s);

    ck_assert_uint_eq(n_starts(&s), 1);
    stage_fini(&s);
}
END_TEST

START_TEST(a_pod_that_is_deleted_is_no_member)
{
    struct stage s;

    stage_init(&s);
    put_pod(&s, 0, "", PREPARED);
    put_pod(&s, 1, "", PREPARED);
    fake_client_remove(s.api, &pod_kind, "default", "g-1");
    put_pod(&s, 2, "", PREPARED);
    put_pod(&s, 1, "", "");
    settle(&s);
    ck_assert_uint_eq(n_starts(&s), 0);

    put_pod(&s, 1, "", "\"reason\":\"PrologFailed\"," PREPARED);
    fake_client_answer(s.api, CLIENT_CREATE, "start", 200, "{}");
    settle(&s);
    ck_assert_uint_eq(n_starts(&s), 1);
    stage_fini(&s);
}
END_TEST

START_TEST(one_on_a_silent_node_is_waited_for)
{
    struct stage s;

    stage_init(&s);
    put_node(&s, "n1", "Unknown");
    for (int i = 0; i < 3; i++)
        put_pod(&s, i, "", PREPARED);
    settle(&s);
    ck_assert_uint_eq(n_starts(&s), 0);

    put_node(&s, "n1", "True");
    fake_client_answer(s.api, CLIENT_CREATE, "start", 200, "{}");
    for (int i = 0; i < 200 && n_starts(&s) == 0; i++)
        settle(&s);
    ck_assert_uint_eq(n_starts(&s), 1);
    stage_fini(&s);
}
END_TEST

START_TEST(a_start_that_is_refused_is_tried_again)
{
    struct stage s;

    stage_init(&s);
    fake_client_fail(s.api, CLIENT_CREATE, "start", 409, "Conflict");
    for (int i = 0; i < 3; i++)
        put_pod(&s, i, "", PREPARED);
    settle(&s);
    fake_client_answer(s.api, CLIENT_CREATE, "start", 200, "{}");
    for (int i = 0; i < 200 && n_starts(&s) < 2; i++)
        settle(&s);
    ck_assert_uint_eq(n_starts(&s), 2);
    stage_fini(&s);
}
END_TEST

/* It is marked, so that the job is not charged, and deleted. */
START_TEST(one_that_the_others_wait_for_too_long_is_ended)
{
    struct stage s;
    const struct object *pod;

    stage_init(&s);
    put_pod(&s, 0, "", PREPARED);
    put_pod(&s, 1, "", "");
    put_pod(&s, 2, "", "");
    settle(&s);
    fake_clock_advance(&s.time, 499000);
    for (int i = 0; i < 5; i++)
        settle(&s);
    ck_assert_uint_eq(fake_client_calls(s.api, CLIENT_DELETE, NULL), 0);
    s.time.real_us += 3600 * FAKE_SECOND; /* somebody sets the clock */
    settle(&s);
    ck_assert_uint_eq(fake_client_calls(s.api, CLIENT_DELETE, NULL), 0);

    fake_clock_advance(&s.time, 1000);
    for (int i = 0; i < 200 && fake_client_calls(s.api, CLIENT_DELETE, NULL) == 0; i++)
        settle(&s);

    ck_assert_uint_eq(fake_client_calls(s.api, CLIENT_STRATEGIC_PATCH, "status"), 1);
    ck_assert_uint_eq(fake_client_calls(s.api, CLIENT_DELETE, NULL), 1);
    pod = fake_client_find(s.api, &pod_kind, "default", "g-1");
    if (pod != NULL) {
        ck_assert(pod_was_not_started(pod_of(pod)));
        ck_assert_int_ne(pod->meta->deleted_at_us, 0);
    }
    ck_assert_uint_eq(n_starts(&s), 0);
    stage_fini(&s);
}
END_TEST

static void
put_orphan(struct stage *s)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"g-0\",\"namespace\":\"default\",\"uid\":\"uid-0\","
        "\"annotations\":{\"kiln.hpc/start-barrier\":\"3\"}},\"spec\":{\"nodeName\":\"n0\","
        "\"containers\":[{\"name\":\"main\"}]},\"status\":{\"phase\":\"Pending\"," PREPARED "}}";

    fake_client_put(s->api, &pod_kind, text);
}

START_TEST(pods_of_a_former_job_of_that_name_do_not_count)
{
    struct stage s;

    stage_init(&s);
    put_pod(&s, 0, "", PREPARED);
    settle(&s);
    put_orphan(&s); /* its Job was deleted */
    settle(&s);
    fake_client_remove(s.api, &pod_kind, "default", "g-0");
    settle(&s);
    fake_clock_advance(&s.time, 10 * FAKE_SECOND);

    put_pod(&s, 0, "", PREPARED);
    put_pod(&s, 1, "", "");
    put_pod(&s, 2, "", "");
    for (int i = 0; i < 5; i++)
        settle(&s);
    ck_assert_uint_eq(fake_client_calls(s.api, CLIENT_STRATEGIC_PATCH, "status"), 0);
    stage_fini(&s);
}
END_TEST

/* Its nodes would be held for ever. */
START_TEST(a_pod_that_lost_its_job_before_the_start_is_deleted)
{
    struct stage s;

    stage_init(&s);
    put_pod(&s, 0, "", "");
    settle(&s);
    ck_assert_uint_eq(fake_client_calls(s.api, CLIENT_DELETE, NULL), 0);
    put_orphan(&s);
    settle(&s);
    ck_assert_uint_eq(fake_client_calls(s.api, CLIENT_DELETE, NULL), 1);
    stage_fini(&s);
}
END_TEST

static unsigned n_looks;

static int64_t
count_look(struct clock *c)
{
    n_looks++;
    return fake_clock_monotonic_us(c);
}

/* The others may be gone already, while the Job is about to end these. */
START_TEST(nobody_is_left_to_wait_for_costs_a_look_now_and_then)
{
    struct stage s;

    stage_init(&s);
    s.time.clock.monotonic_us = count_look;
    put_pod(&s, 0, "", PREPARED);
    settle(&s);
    fake_clock_advance(&s.time, 10 * FAKE_SECOND);
    for (int i = 0; i < 40; i++)
        settle(&s);
    n_looks = 0;
    for (int i = 0; i < 10; i++)
        settle(&s);
    ck_assert_uint_lt(n_looks, 20);
    ck_assert_uint_eq(fake_client_calls(s.api, CLIENT_STRATEGIC_PATCH, "status"), 0);
    stage_fini(&s);
}
END_TEST

/* An agent that does not wait has run it. The others could never start. */
START_TEST(those_that_wait_for_one_that_has_ended_do_not_wait_for_ever)
{
    struct stage s;
    const struct object *pod;

    stage_init(&s);
    put_pod(&s, 2, "", PREPARED);
    put_pod(&s, 1, "", PREPARED);
    put_pod(&s, 0, "", "\"phase\":\"Succeeded\"");
    settle(&s);
    fake_clock_advance(&s.time, 499000);
    for (int i = 0; i < 5; i++)
        settle(&s);
    ck_assert_uint_eq(fake_client_calls(s.api, CLIENT_DELETE, NULL), 0);

    fake_clock_advance(&s.time, 1000);
    for (int i = 0; i < 200 && fake_client_calls(s.api, CLIENT_DELETE, NULL) == 0; i++)
        settle(&s);

    ck_assert_uint_eq(fake_client_calls(s.api, CLIENT_DELETE, NULL), 1);
    pod = fake_client_find(s.api, &pod_kind, "default", "g-1");
    ck_assert(pod == NULL || pod_was_disrupted(pod_of(pod)));
    ck_assert_ptr_nonnull(fake_client_find(s.api, &pod_kind, "default", "g-2"));
    ck_assert_uint_eq(n_starts(&s), 0);
    stage_fini(&s);
}
END_TEST

SUITE("gang_starter", a_gang_is_started_once_when_its_last_pod_is_prepared,
      a_controller_that_was_restarted_starts_what_is_prepared, a_pod_that_is_deleted_is_no_member,
      one_on_a_silent_node_is_waited_for, a_start_that_is_refused_is_tried_again,
      one_that_the_others_wait_for_too_long_is_ended,
      pods_of_a_former_job_of_that_name_do_not_count,
      a_pod_that_lost_its_job_before_the_start_is_deleted,
      nobody_is_left_to_wait_for_costs_a_look_now_and_then,
      those_that_wait_for_one_that_has_ended_do_not_wait_for_ever)
