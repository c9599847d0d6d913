/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/auth/step_handshake.h"

#include <errno.h>
#include <string.h>

#include "lib/auth/credential_backend.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/fake_credential_backend.h"
#include "testsuite/lib/suite.h"

#define AGENT_UID 0
#define USER_UID  1000

/* A user's process and the agent of n1. */
struct world {
    struct fake_realm realm;
    struct credential_backend *user, *agent;
    struct step_call call;
    struct strbuf line;
    struct step_caller caller;
    struct step_keys keys;
    struct error error;
};

static struct world *
world_new(void)
{
    struct world *w = xnew(struct world);

    fake_realm_init(&w->realm);
    w->user = fake_credential_backend_new(&w->realm, USER_UID, 100);
    w->agent = fake_credential_backend_new(&w->realm, AGENT_UID, 0);
    w->call = (struct step_call){"north", "n1", "pod-uid", AGENT_UID, "", {0}};
    strbuf_init(&w->line);
    return w;
}

static void
world_free(struct world *w)
{
    step_caller_fini(&w->caller);
    strbuf_fini(&w->line);
    credential_backend_free(w->user);
    credential_backend_free(w->agent);
    fake_realm_fini(&w->realm);
    free(w);
}

static int
accept_as(struct world *w, const char *cluster, const char *node, uid_t uid)
{
    w->error = (struct error){0};
    return step_caller_accept(w->agent, cluster, node, uid, w->line.text, &w->caller, &w->error);
}

/* Makes the line of a call, without its newline. */
static void
begin(struct world *w)
{
    strbuf_truncate(&w->line, 0);
    ck_assert_int_eq(step_call_begin(&w->call, w->user, &w->line, &w->error), 0);
    ck_assert_int_eq(w->line.text[w->line.length - 1], '\n');
    strbuf_truncate(&w->line, w->line.length - 1);
}

static char *
answer_dup(const struct world *w)
{
    return xstrndup(w->caller.answer, strlen(w->caller.answer) - 1);
}

static void
ck_refused(const struct world *w, int r, const char *words)
{
    ck_assert_int_eq(r, -EKEYREJECTED);
    ck_assert_msg(strstr(w->error.text, words) != NULL, "%s", w->error.text);
    ck_assert_ptr_null(w->caller.answer);
}

START_TEST(both_sides_have_the_same_two_keys)
{
    struct world *w = world_new();
    CLEANUP_FREE char *answer = NULL;

    begin(w);
    ck_assert_int_eq(accept_as(w, "north", "n1", AGENT_UID), 0);
    ck_assert_uint_eq(w->caller.uid, USER_UID);
    ck_assert_uint_eq(w->caller.gid, 100);
    ck_assert_str_eq(w->caller.pod, "pod-uid");
    ck_assert_str_eq(w->caller.nonce, w->call.nonce);
    answer = answer_dup(w);
    ck_assert_int_eq(step_call_finish(&w->call, w->user, answer, &w->keys, &w->error), 0);

    ck_assert(digest_equals(&w->keys.out.key, &w->caller.keys.in.key));
    ck_assert(digest_equals(&w->keys.in.key, &w->caller.keys.out.key));
    ck_assert(!digest_equals(&w->keys.in.key, &w->keys.out.key));
    world_free(w);
}
END_TEST

START_TEST(two_calls_have_different_keys)
{
    struct world *w = world_new();
    struct digest first;

    begin(w);
    ck_assert_int_eq(accept_as(w, "north", "n1", AGENT_UID), 0);
    first = w->caller.keys.in.key;
    step_caller_fini(&w->caller);
    begin(w);
    ck_assert_int_eq(accept_as(w, "north", "n1", AGENT_UID), 0);
    ck_assert(!digest_equals(&first, &w->caller.keys.in.key));
    world_free(w);
}
END_TEST

START_TEST(a_call_for_another_node_or_cluster_is_refused)
{
    struct world *w = world_new();

    begin(w);
    ck_refused(w, accept_as(w, "north", "n2", AGENT_UID), "for node 'n1', this is node 'n2'");
    begin(w);
    ck_refused(w, accept_as(w, "south", "n1", AGENT_UID), "this is cluster 'south'");
    world_free(w);
}
END_TEST

START_TEST(a_call_is_taken_once)
{
    struct world *w = world_new();

    begin(w);
    ck_assert_int_eq(accept_as(w, "north", "n1", AGENT_UID), 0);
    step_caller_fini(&w->caller);
    ck_refused(w, accept_as(w, "north", "n1", AGENT_UID), "used before");
    world_free(w);
}
END_TEST

START_TEST(a_call_that_others_may_read_or_that_is_old_is_refused)
{
    struct world *w = world_new();

    w->call.agent_uid = CREDENTIAL_ANY_UID;
    begin(w);
    ck_refused(w, accept_as(w, "north", "n1", AGENT_UID), "for the agent's user alone");
    w->call.agent_uid = USER_UID + 1;
    begin(w);
    ck_assert_int_lt(accept_as(w, "north", "n1", AGENT_UID), 0);
    w->call.agent_uid = AGENT_UID;
    begin(w);
    w->realm.now_s += PROTOCOL_TTL_S + 1;
    ck_assert_int_eq(accept_as(w, "north", "n1", AGENT_UID), -EKEYREJECTED);
    world_free(w);
}
END_TEST

START_TEST(a_credential_of_another_purpose_is_refused)
{
    struct world *w = world_new();
    CLEANUP_FREE char *credential = NULL;
    CLEANUP_STRBUF struct strbuf payload = STRBUF_INIT;
    const struct protocol_claim hello = {.purpose = CLAIM_HELLO, .cluster = "north", .nonce = "n"};

    ck_assert_int_eq(protocol_claim_format(&hello, &payload), 0);
    ck_assert_int_eq(credential_backend_encode(w->user, payload.text, payload.length, AGENT_UID,
                                               PROTOCOL_TTL_S, &credential, &w->error),
                     0);
    strbuf_printf(&w->line, "kiln-step 1 %s", credential);
    ck_refused(w, accept_as(w, "north", "n1", AGENT_UID), "another purpose");
    world_free(w);
}
END_TEST

START_TEST(a_message_that_is_no_call_is_refused)
{
    struct world *w = world_new();

    strbuf_add_text(&w->line, "GET / HTTP/1.1");
    ck_assert_int_eq(accept_as(w, "north", "n1", AGENT_UID), -EPROTO);
    strbuf_truncate(&w->line, 0);
    strbuf_add_text(&w->line, "kiln-step 1 MUNGE:nonsense:");
    ck_assert_int_lt(accept_as(w, "north", "n1", AGENT_UID), 0);
    ck_assert_ptr_null(w->caller.answer);
    world_free(w);
}
END_TEST

START_TEST(an_answer_of_somebody_else_is_not_believed)
{
    struct world *w = world_new();
    struct credential_backend *other = fake_credential_backend_new(&w->realm, 1001, 100);
    CLEANUP_FREE char *answer = NULL;

    begin(w);
    map_clear(w->realm.read);
    w->call.agent_uid = 1001;
    begin(w);
    w->call.agent_uid = AGENT_UID;
    ck_assert_int_eq(
        step_caller_accept(other, "north", "n1", 1001, w->line.text, &w->caller, &w->error), 0);
    answer = answer_dup(w);
    ck_assert_int_eq(step_call_finish(&w->call, w->user, answer, &w->keys, &w->error),
                     -EKEYREJECTED);
    ck_assert_ptr_nonnull(strstr(w->error.text, "uid 1001 answered for node 'n1'"));
    credential_backend_free(other);
    world_free(w);
}
END_TEST

START_TEST(an_answer_to_another_call_is_not_believed)
{
    struct world *w = world_new();
    CLEANUP_FREE char *answer = NULL;

    begin(w);
    ck_assert_int_eq(accept_as(w, "north", "n1", AGENT_UID), 0);
    answer = answer_dup(w);
    begin(w);
    ck_assert_int_eq(step_call_finish(&w->call, w->user, answer, &w->keys, &w->error),
                     -EKEYREJECTED);
    ck_assert_ptr_nonnull(strstr(w->error.text, "another call"));
    world_free(w);
}
END_TEST

START_TEST(a_refusal_arrives_in_one_line)
{
    struct world *w = world_new();
    CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;

    begin(w);
    step_refuse(&line, "not\nnow");
    ck_assert_str_eq(line.text, "kiln-step-refused not now\n");
    ck_assert_int_eq(
        step_call_finish(&w->call, w->user, "kiln-step-refused not now", &w->keys, &w->error),
        -ECONNREFUSED);
    ck_assert_str_eq(w->error.text, "not now");
    ck_assert_int_eq(step_call_finish(&w->call, w->user, "SSH-2.0-x", &w->keys, &w->error),
                     -EKEYREJECTED);
    world_free(w);
}
END_TEST

SUITE("step_handshake", both_sides_have_the_same_two_keys, two_calls_have_different_keys,
      a_call_for_another_node_or_cluster_is_refused, a_call_is_taken_once,
      a_call_that_others_may_read_or_that_is_old_is_refused,
      a_credential_of_another_purpose_is_refused, a_message_that_is_no_call_is_refused,
      an_answer_of_somebody_else_is_not_believed, an_answer_to_another_call_is_not_believed,
      a_refusal_arrives_in_one_line)
