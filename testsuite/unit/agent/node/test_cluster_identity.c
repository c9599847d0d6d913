/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/cluster_identity.h"

#include <check.h>
#include <string.h>

#include "lib/loop/loop.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

#define ANSWER(lost) "{\"clusterUID\":\"c-1\",\"mark\":\"c-1 7\",\"lost\":[" lost "]}"

static char *directory;
static struct loop *loop;
static struct fake_client *fake;
static struct cluster_identity *identity;
static unsigned n_answers[CLUSTER_UNKNOWN + 1];

static void
note(enum cluster_answer answer, UNUSED void *context)
{
    n_answers[answer]++;
}

static void
begin(void)
{
    memset(n_answers, 0, sizeof(n_answers));
    directory = scratch_new();
    loop = loop_new();
    fake = fake_client_new();
    identity = cluster_identity_new(&(struct cluster_identity_settings){
        .loop = loop,
        .client = fake_client_client(fake),
        .node = "n1",
        .state_dir = directory,
        .every_ms = 60000,
        .answered = note,
    });
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

SUITE("cluster_identity", a_store_that_lost_revisions_is_older_once,
      an_older_store_is_told_although_the_request_is_repeated)
