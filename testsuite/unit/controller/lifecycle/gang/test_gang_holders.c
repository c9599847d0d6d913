/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/gang/gang_holders.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/skipped_waits.h"
#include "testsuite/lib/suite.h"

struct stage {
    struct fake_client *api;
    struct loop *loop;
    struct object_cache *cache;
    struct gang_holders *orphans;
    unsigned turns;
};

#define OF_JOB                                                             \
    ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\"," \
    "\"name\":\"g\",\"uid\":\"job\",\"controller\":true}]"

/* The pod of that rank; its owner "": its Job was deleted. */
static void
put_pod(struct stage *s, int index, const char *owner, const char *phase)
{
    CLEANUP_FREE char *text = xasprintf(
        "{\"metadata\":{\"name\":\"g-%d\",\"namespace\":\"default\",\"uid\":\"uid-%d\","
        "\"annotations\":{\"kiln.hpc/start-barrier\":\"3\",\"kiln.hpc/gang-started\":\"now\","
        "\"batch.kubernetes.io/job-completion-index\":\"%d\"}%s},\"spec\":{\"nodeName\":\"n%d\","
        "\"schedulingGroup\":{\"podGroupName\":\"g\"},\"execution\":{\"runs\":\"First\"},"
        "\"containers\":[{\"name\":\"main\",\"command\":[\"%s\"]}]},\"status\":{\"phase\":\"%s\"}}",
        index, index, index, owner, index, index == 0 ? "sh" : "kiln-pause", phase);

    fake_client_put(s->api, &pod_kind, text);
}

static void
open_stage(struct stage *s)
{
    s->cache = object_cache_new(fake_client_client(s->api));
    s->orphans = gang_holders_new(s->loop, fake_client_client(s->api), s->cache);
    object_cache_start(s->cache);
}

static void
close_stage(struct stage *s)
{
    gang_holders_free(s->orphans);
    object_cache_free(s->cache);
}

static void
stage_init(struct stage *s)
{
    s->api = fake_client_new();
    skip_waits();
    s->loop = loop_new();
}

static void
stage_fini(struct stage *s)
{
    close_stage(s);
    loop_free(s->loop);
    fake_client_free(s->api);
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

static unsigned
removed(struct stage *s)
{
    settle(s);
    return fake_client_calls(s->api, CLIENT_DELETE, NULL);
}

/* The Job's own end of its pods is the Job's. */
START_TEST(a_holder_with_a_job_is_left_to_it)
{
    struct stage s;

    stage_init(&s);
    open_stage(&s);
    for (int i = 0; i < 3; i++)
        put_pod(&s, i, OF_JOB, "Running");
    ck_assert_uint_eq(removed(&s), 0);
    put_pod(&s, 0, OF_JOB, "Succeeded");
    ck_assert_uint_eq(removed(&s), 0);
    stage_fini(&s);
}
END_TEST

/* The owners go one after the other, those of the holders first. */
START_TEST(orphans_hold_their_nodes_until_the_script_is_over)
{
    struct stage s;

    stage_init(&s);
    open_stage(&s);
    for (int i = 0; i < 3; i++)
        put_pod(&s, i, OF_JOB, "Running");
    settle(&s);
    for (int i = 2; i >= 0; i--) {
        put_pod(&s, i, "", "Running");
        ck_assert_uint_eq(removed(&s), 0);
    }
    put_pod(&s, 0, "", "Failed");
    ck_assert_uint_eq(removed(&s), 2);
    stage_fini(&s);
}
END_TEST

START_TEST(a_script_that_was_removed_is_over)
{
    struct stage s;

    stage_init(&s);
    open_stage(&s);
    for (int i = 0; i < 3; i++)
        put_pod(&s, i, "", "Running");
    ck_assert_uint_eq(removed(&s), 0);
    fake_client_remove(s.api, &pod_kind, "default", "g-0");
    ck_assert_uint_eq(removed(&s), 2);
    stage_fini(&s);
}
END_TEST

/* The pods are listed one after the other, and the script may be the last. */
START_TEST(a_restart_finds_the_same)
{
    struct stage s;

    stage_init(&s);
    for (int i = 2; i >= 0; i--)
        put_pod(&s, i, "", "Running");
    open_stage(&s);
    ck_assert_uint_eq(removed(&s), 0);
    close_stage(&s);
    put_pod(&s, 0, "", "Succeeded");
    open_stage(&s);
    ck_assert_uint_eq(removed(&s), 2);
    stage_fini(&s);
}
END_TEST

SUITE("gang_holders", a_holder_with_a_job_is_left_to_it,
      orphans_hold_their_nodes_until_the_script_is_over, a_script_that_was_removed_is_over,
      a_restart_finds_the_same)
