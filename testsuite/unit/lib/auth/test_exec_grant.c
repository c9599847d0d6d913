/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/auth/exec_grant.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

#define NOW_MS INT64_C(1700000000000)

/* A controller, the agent of n1, and root, who asks for a pod of user 1000. */
struct world {
    struct digest verifier;
    struct exec_grant grant;
    struct exec_receiver receiver;
    struct exec_call call;
    struct strbuf word, line;
    char key[DIGEST_HEX_SIZE], node_key[DIGEST_HEX_SIZE];
    struct step_caller caller;
    struct step_keys keys;
    struct error error;
};

static void
sign_grant(struct world *w)
{
    strbuf_truncate(&w->word, 0);
    ck_assert_int_eq(exec_grant_sign(&w->verifier, &w->grant, &w->word, &w->error), 0);
    w->call.grant = w->word.text;
}

static struct world *
world_new(void)
{
    struct world *w = xnew(struct world);

    strbuf_init(&w->word);
    strbuf_init(&w->line);
    digest_of("secret", 6, &w->verifier);
    exec_call_make_key(w->call.secret, w->key);
    exec_grant_node_key(&w->verifier, "north", "n1", w->node_key);
    w->grant = (struct exec_grant){"north", "n1", "pod-uid", "root", w->key, 1000, NOW_MS};
    w->receiver = (struct exec_receiver){w->verifier, "north", "n1", NOW_MS, NOW_MS - 1000};
    w->call.node = "n1";
    w->call.node_key = w->node_key;
    sign_grant(w);
    return w;
}

static void
world_free(struct world *w)
{
    step_caller_fini(&w->caller);
    strbuf_fini(&w->word);
    strbuf_fini(&w->line);
    free(w);
}

static int
receive(struct world *w)
{
    w->error = (struct error){0};
    step_caller_fini(&w->caller);
    strbuf_truncate(&w->line, 0);
    exec_call_begin(&w->call, &w->line);
    ck_assert_int_eq(w->line.text[w->line.length - 1], '\n');
    strbuf_truncate(&w->line, w->line.length - 1);
    ck_assert(exec_line_is_grant(w->line.text));
    return exec_caller_accept(&w->receiver, w->line.text, &w->caller, &w->error);
}

static int
finish(struct world *w, const char *line)
{
    w->error = (struct error){0};
    return exec_call_finish(&w->call, line, &w->keys, &w->error);
}

/* The answer of the agent, without its newline. */
static char *
answer_dup(struct world *w)
{
    ck_assert_msg(receive(w) == 0, "%s", w->error.text);
    return xstrndup(w->caller.answer, strlen(w->caller.answer) - 1);
}

static void
ck_refused(struct world *w, const char *words)
{
    ck_assert_int_eq(receive(w), -EKEYREJECTED);
    ck_assert_msg(strstr(w->error.text, words) != NULL, "%s", w->error.text);
    ck_assert_ptr_null(w->caller.answer);
}

START_TEST(both_sides_have_the_same_two_keys)
{
    struct world *w = world_new();
    CLEANUP_FREE char *answer = answer_dup(w);

    ck_assert_uint_eq(w->caller.uid, 1000);
    ck_assert_str_eq(w->caller.pod, "pod-uid");
    ck_assert_str_eq(w->caller.by, "root");
    ck_assert_uint_eq(strlen(w->caller.nonce), 32);
    ck_assert_msg(finish(w, answer) == 0, "%s", w->error.text);
    ck_assert(digest_equals(&w->keys.out.key, &w->caller.keys.in.key));
    ck_assert(digest_equals(&w->keys.in.key, &w->caller.keys.out.key));
    ck_assert(!digest_equals(&w->keys.in.key, &w->keys.out.key));
    ck_assert_uint_eq(w->keys.in.count + w->keys.out.count, 0);
    world_free(w);
}
END_TEST

START_TEST(each_grant_and_each_connection_have_others)
{
    struct world *w = world_new();
    char nonce[PROTOCOL_NONCE_SIZE];
    struct digest first;

    ck_assert_int_eq(receive(w), 0);
    first = w->caller.keys.in.key;
    memcpy(nonce, w->caller.nonce, sizeof(nonce));
    ck_assert_int_eq(receive(w), 0);
    ck_assert_str_eq(w->caller.nonce, nonce);
    ck_assert(!digest_equals(&first, &w->caller.keys.in.key));
    sign_grant(w);
    ck_assert_int_eq(receive(w), 0);
    ck_assert_str_ne(w->caller.nonce, nonce);
    world_free(w);
}
END_TEST

START_TEST(a_grant_that_was_changed_is_refused)
{
    struct world *w = world_new();
    const size_t length = w->word.length;

    for (size_t i = 0; i < length; i++) {
        w->word.text[i] ^= 1;
        ck_refused(w, "has not made this grant");
        w->word.text[i] ^= 1;
    }
    for (size_t n = 0; n < length; n += 7) {
        char kept = w->word.text[n];

        w->word.text[n] = '\0';
        ck_refused(w, "has not made this grant");
        w->word.text[n] = kept;
    }
    strbuf_add_char(&w->word, 'a');
    w->call.grant = w->word.text;
    ck_refused(w, "has not made this grant");
    strbuf_truncate(&w->word, length);
    ck_assert_int_eq(receive(w), 0);
    world_free(w);
}
END_TEST

START_TEST(a_grant_is_for_one_node_one_cluster_and_one_secret)
{
    struct world *w = world_new();

    w->receiver.node = "n2";
    ck_refused(w, "for node 'n1', this is node 'n2'");
    w->receiver.node = "n1";
    w->receiver.cluster = "south";
    ck_refused(w, "for cluster 'north', this is cluster 'south'");
    w->receiver.cluster = "north";
    digest_of("other", 5, &w->receiver.verifier);
    ck_refused(w, "as it is enrolled now");
    world_free(w);
}
END_TEST

START_TEST(a_grant_has_its_time)
{
    struct world *w = world_new();

    w->receiver.since_ms = 0;
    w->receiver.now_ms = NOW_MS + 60000;
    ck_assert_int_eq(receive(w), 0);
    w->receiver.now_ms = NOW_MS + 60001;
    ck_refused(w, "is 60 seconds old");
    w->receiver.now_ms = NOW_MS - 60000;
    ck_assert_int_eq(receive(w), 0);
    w->receiver.now_ms = NOW_MS - 61000;
    ck_refused(w, "is -61 seconds old");
    w->receiver.now_ms = NOW_MS;
    w->receiver.since_ms = NOW_MS;
    ck_assert_int_eq(receive(w), 0);
    w->receiver.since_ms = NOW_MS + 1;
    ck_refused(w, "before this agent started");
    world_free(w);
}
END_TEST

START_TEST(only_the_node_can_answer)
{
    struct world *w = world_new();
    CLEANUP_FREE char *answer = answer_dup(w);
    char other[DIGEST_HEX_SIZE];
    struct digest verifier;

    /* Another one who knows the grant, and the caller's public key in it. */
    digest_of("other", 5, &verifier);
    exec_grant_node_key(&verifier, "north", "n1", other);
    w->call.node_key = other;
    ck_assert_int_eq(finish(w, answer), -EKEYREJECTED);
    ck_assert_ptr_nonnull(strstr(w->error.text, "that node's secret"));
    w->call.node_key = w->node_key;
    for (size_t i = strlen("kiln-exec-answer 1 "); answer[i] != '\0'; i++) {
        answer[i] ^= 1;
        ck_assert_int_eq(finish(w, answer), -EKEYREJECTED);
        answer[i] ^= 1;
    }
    ck_assert_int_eq(finish(w, answer), 0);
    world_free(w);
}
END_TEST

START_TEST(only_the_owner_of_the_key_can_use_it)
{
    struct world *w = world_new();
    CLEANUP_FREE char *answer = answer_dup(w);
    char key[DIGEST_HEX_SIZE];

    exec_call_make_key(w->call.secret, key);
    ck_assert_int_eq(finish(w, answer), -EKEYREJECTED);
    world_free(w);
}
END_TEST

START_TEST(keys_that_are_none_are_refused)
{
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
    struct world *w = world_new();
    CLEANUP_FREE char *line = NULL;

    w->grant.key = "12";
    ck_assert_int_eq(exec_grant_sign(&w->verifier, &w->grant, &w->word, &w->error), -EINVAL);
    w->grant.key = zeros;
    sign_grant(w);
    ck_refused(w, "no valid key");
    line = xasprintf("kiln-exec-answer 1 %s %s", zeros, zeros);
    ck_assert_int_eq(finish(w, line), -EKEYREJECTED);
    world_free(w);
}
END_TEST

START_TEST(names_with_control_characters_are_refused)
{
    struct world *w = world_new();

    w->grant.by = "root\nuid=0";
    ck_assert_int_eq(exec_grant_sign(&w->verifier, &w->grant, &w->word, &w->error), -EINVAL);
    world_free(w);
}
END_TEST

START_TEST(a_refusal_is_told_and_other_lines_are_no_answers)
{
    struct world *w = world_new();

    ck_assert_int_eq(finish(w, "kiln-step-refused no such pod"), -ECONNREFUSED);
    ck_assert_str_eq(w->error.text, "no such pod");
    ck_assert_int_eq(finish(w, "kiln-exec-answer 1 "), -EKEYREJECTED);
    ck_assert_int_eq(finish(w, "SSH-2.0-OpenSSH"), -EKEYREJECTED);
    ck_assert(!exec_line_is_grant("kiln-step 1 MUNGE:"));
    world_free(w);
}
END_TEST

SUITE("exec_grant", both_sides_have_the_same_two_keys, each_grant_and_each_connection_have_others,
      a_grant_that_was_changed_is_refused, a_grant_is_for_one_node_one_cluster_and_one_secret,
      a_grant_has_its_time, only_the_node_can_answer, only_the_owner_of_the_key_can_use_it,
      keys_that_are_none_are_refused, names_with_control_characters_are_refused,
      a_refusal_is_told_and_other_lines_are_no_answers)
