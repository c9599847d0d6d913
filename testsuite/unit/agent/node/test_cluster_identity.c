/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/cluster_identity.h"

#include <check.h>
#include <string.h>

#include "lib/loop/loop.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

#define MARK(revision, run, since)                                                          \
    "{\"clusterUID\":\"c-1\",\"mark\":\"c-1 " revision " 4 " run " seal\",\"since\":" since \
    ",\"lost\":[]}"
#define ANSWER(lost) "{\"clusterUID\":\"c-1\",\"mark\":\"c-1 7\",\"lost\":[" lost "]}"

static char *directory;
static struct loop *loop;
static struct fake_client *fake;
static struct cluster_identity *identity;
static unsigned n_answers[CLUSTER_UNKNOWN + 1];
static int64_t held; /* the revision of the only pod here; 0: there is none */

static void
note(enum cluster_answer answer, UNUSED void *context)
{
    n_answers[answer]++;
}

static bool
holds(int64_t after, int64_t before, UNUSED void *context)
{
    return held > after && held < before;
}

static void
open_identity(void)
{
    identity = cluster_identity_new(&(struct cluster_identity_settings){
        .loop = loop,
        .client = fake_client_client(fake),
        .node = "n1",
        .state_dir = directory,
        .every_ms = 60000,
        .holds = holds,
        .answered = note,
    });
}

static void
ask(const char *answer)
{
    fake_client_answer(fake, CLIENT_CREATE, "mark", 200, answer);
    cluster_identity_ask(identity);
    fake_client_run(fake);
}

static void
begin(void)
{
    memset(n_answers, 0, sizeof(n_answers));
    held = 0;
    directory = scratch_new();
    loop = loop_new();
    fake = fake_client_new();
    open_identity();
    fake_client_answer(fake, CLIENT_CREATE, "mark", 200, ANSWER(""));
    cluster_identity_ask(identity);
    fake_client_run(fake);
    ck_assert_uint_eq(n_answers[CLUSTER_OURS], 1);
}

static void
finish(void)
{
    cluster_identity_free(identity);
    fake_client_free(fake);
    loop_free(loop);
    scratch_freep(&directory);
}

START_TEST(a_store_that_lost_revisions_is_older_once)
{
    begin();
    fake_client_answer(fake, CLIENT_CREATE, "mark", 200, ANSWER("{\"after\":5,\"before\":9}"));
    cluster_identity_ask(identity);
    fake_client_run(fake);
    ck_assert_uint_eq(n_answers[CLUSTER_OLDER], 1);
    ck_assert(cluster_identity_has_lost(identity, 7));
    ck_assert(!cluster_identity_has_lost(identity, 9));

    fake_client_answer(fake, CLIENT_CREATE, "mark", 200, ANSWER("{\"after\":5,\"before\":9}"));
    cluster_identity_ask(identity);
    fake_client_run(fake);
    ck_assert_uint_eq(n_answers[CLUSTER_OLDER], 1);
    ck_assert_uint_eq(n_answers[CLUSTER_OURS], 2);
    finish();
}
END_TEST

/* The repeated request gets the answer that nothing more was lost. */
START_TEST(an_older_store_is_told_although_the_request_is_repeated)
{
    begin();
    fake_client_answer(fake, CLIENT_CREATE, "mark", 200, ANSWER("{\"after\":5,\"before\":9}"));
    cluster_identity_ask(identity);
    cluster_identity_ask(identity);
    fake_client_answer(fake, CLIENT_CREATE, "mark", 200, ANSWER("{\"after\":5,\"before\":9}"));
    fake_client_run(fake);
    ck_assert_uint_eq(n_answers[CLUSTER_OLDER], 1);
    ck_assert_uint_eq(n_answers[CLUSTER_OURS], 2);
    finish();
}
END_TEST

/* A start of the controller has skipped them: nothing needs to be listed again.
 */
START_TEST(skipped_revisions_are_lost_but_the_store_is_not_older)
{
    begin();
    ask("{\"clusterUID\":\"c-1\",\"mark\":\"c-1 7\",\"lost\":[{\"after\":5,\"before\":9}],"
        "\"skipped\":1}");
    ck_assert_uint_eq(n_answers[CLUSTER_OLDER], 0);
    ck_assert(cluster_identity_has_lost(identity, 7));
    /* The number of ranges is the same, but one of them is new. */
    ask(ANSWER("{\"after\":20,\"before\":30}"));
    ck_assert_uint_eq(n_answers[CLUSTER_OLDER], 1);
    ask(ANSWER("{\"after\":40,\"before\":50}"));
    ck_assert_uint_eq(n_answers[CLUSTER_OLDER], 2);
    finish();
}
END_TEST

/* The pod came from a controller that gave no mark after it, and another
 * controller answers: nothing shows whether its store ever had the pod.
 */
START_TEST(a_pod_above_the_last_mark_of_another_run_may_be_lost)
{
    begin();
    ask(MARK("100", "run-a", "50"));
    held = 150;
    ask(MARK("5000", "run-b", "4000"));
    ck_assert_uint_eq(n_answers[CLUSTER_OLDER], 0);
    ck_assert(cluster_identity_has_lost(identity, 150));
    ck_assert(!cluster_identity_has_lost(identity, 100));
    ck_assert(!cluster_identity_has_lost(identity, 4001));

    /* It is also known after a restart of the agent, until the pod is gone. */
    cluster_identity_free(identity);
    open_identity();
    ck_assert(cluster_identity_has_lost(identity, 150));
    ask(MARK("5001", "run-b", "4000"));
    ck_assert(cluster_identity_has_lost(identity, 150));
    held = 4500;
    ask(MARK("5002", "run-b", "4000"));
    ck_assert(!cluster_identity_has_lost(identity, 150));
    cluster_identity_free(identity);
    open_identity();
    ck_assert(!cluster_identity_has_lost(identity, 150));
    finish();
}
END_TEST

/* The pod came on the connection on which the mark came, and the controller that
 * answers next has what that run issued.
 */
START_TEST(a_pod_of_the_run_of_the_last_mark_is_not_lost)
{
    begin();
    ask(MARK("100", "run-a", "50"));
    held = 150;
    cluster_identity_note_revision(identity, 150);
    cluster_identity_note_interruption(identity);
    cluster_identity_note_revision(identity, 160); /* of another run, perhaps */
    ask("{\"clusterUID\":\"c-1\",\"mark\":\"c-1 5000 1 run-b s\",\"since\":4000,"
        "\"common\":200}");
    ck_assert(!cluster_identity_has_lost(identity, 150));
    finish();

    begin();
    ask(MARK("100", "run-a", "50"));
    cluster_identity_note_revision(identity, 150);
    cluster_identity_note_interruption(identity);
    held = 160;
    cluster_identity_note_revision(identity, 160);
    ask("{\"clusterUID\":\"c-1\",\"mark\":\"c-1 5000 1 run-b s\",\"since\":4000,"
        "\"common\":200}");
    ck_assert(cluster_identity_has_lost(identity, 160));
    ck_assert(!cluster_identity_has_lost(identity, 150));
    finish();
}
END_TEST

START_TEST(a_pod_below_the_last_mark_is_not_lost)
{
    begin();
    ask(MARK("100", "run-a", "50"));
    held = 150;
    ask(MARK("200", "run-a", "50")); /* the same run has more */
    ask(MARK("5000", "run-b", "4000"));
    ck_assert(!cluster_identity_has_lost(identity, 150));
    held = 4500; /* of the run that answers, whose mark was not received yet */
    ask(MARK("9000", "run-c", "8000"));
    held = 8500;
    ask(MARK("9100", "run-c", "8000"));
    ck_assert(!cluster_identity_has_lost(identity, 8500));
    finish();
}
END_TEST

START_TEST(a_controller_that_awaits_nodes_is_asked_again)
{
    begin();
    ask("{\"clusterUID\":\"c-1\",\"mark\":\"c-1 7\",\"lost\":[],\"awaitsNodes\":true}");
    ck_assert(cluster_identity_is_settling(identity));
    ask(ANSWER(""));
    ck_assert(!cluster_identity_is_settling(identity));
    finish();
}
END_TEST

SUITE("cluster_identity", a_store_that_lost_revisions_is_older_once,
      an_older_store_is_told_although_the_request_is_repeated,
      skipped_revisions_are_lost_but_the_store_is_not_older,
      a_pod_above_the_last_mark_of_another_run_may_be_lost,
      a_pod_of_the_run_of_the_last_mark_is_not_lost, a_pod_below_the_last_mark_is_not_lost,
      a_controller_that_awaits_nodes_is_asked_again)
