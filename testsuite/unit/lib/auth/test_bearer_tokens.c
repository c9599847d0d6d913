/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/auth/bearer_tokens.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

#define LIFETIME_S 900

struct realm {
    struct fake_clock time;
    char *directory;
    char *path;
    struct bearer_tokens *bearer;
};

static void
realm_init(struct realm *w, const char *cluster)
{
    w->time = (struct fake_clock)FAKE_CLOCK;
    w->directory = scratch_new();
    w->path = xasprintf("%s/token.key", w->directory);
    ck_assert_int_eq(bearer_tokens_open(w->path, cluster, &w->time.clock, &w->bearer, NULL), 0);
}

static void
realm_fini(struct realm *w)
{
    bearer_tokens_free(w->bearer);
    free(w->path);
    scratch_freep(&w->directory);
}

static const char *
issue(struct realm *w, char token[BEARER_TOKEN_SIZE])
{
    int64_t ends_at_s;

    bearer_tokens_issue(w->bearer, 4711, 4712, LIFETIME_S, token, &ends_at_s);
    ck_assert_int_eq(ends_at_s, FAKE_BEGIN / FAKE_SECOND + LIFETIME_S);
    return token;
}

static const char *
refused(struct bearer_tokens *bearer, const char *token)
{
    static struct error err;
    uid_t uid;
    gid_t gid;

    err = (struct error){0};
    ck_assert_int_eq(bearer_tokens_check(bearer, token, &uid, &gid, &err), -EKEYREJECTED);
    return err.text;
}

static bool
is_good(struct bearer_tokens *bearer, const char *token)
{
    uid_t uid = 0;
    gid_t gid = 0;

    return bearer_tokens_check(bearer, token, &uid, &gid, NULL) == 0 && uid == 4711 && gid == 4712;
}

START_TEST(a_token_is_its_user_until_it_ends)
{
    struct realm w;
    char token[BEARER_TOKEN_SIZE];

    realm_init(&w, "c");
    issue(&w, token);

    ck_assert(is_good(w.bearer, token));
    fake_clock_advance(&w.time, (LIFETIME_S - 1) * FAKE_SECOND);
    ck_assert(is_good(w.bearer, token));
    fake_clock_advance(&w.time, 3 * FAKE_SECOND);
    ck_assert_str_eq(refused(w.bearer, token),
                     "the bearer token expired 2 seconds ago; get another with "
                     "'kctl credential'");
    realm_fini(&w);
}
END_TEST

START_TEST(a_token_of_which_anything_is_changed_is_refused)
{
    struct realm w;
    char token[BEARER_TOKEN_SIZE];

    realm_init(&w, "c");
    issue(&w, token);

    for (size_t i = 0; token[i] != '\0'; i++) {
        char was = token[i];

        token[i] = was == '1' ? '2' : '1';
        ck_assert_msg(strstr(refused(w.bearer, token), "bearer token") != NULL, "byte %zu", i);
        token[i] = was;
    }
    ck_assert(is_good(w.bearer, token));
    realm_fini(&w);
}
END_TEST

START_TEST(a_wrong_token_is_refused)
{
    static const char *const texts[] = {
        "",
        "kiln1",
        "kiln1.",
        "kiln1.1.2",
        "kiln1.1.2.3.",
        "kiln1.-1.2.3.00",
        "kiln1.99999999999.2.3.00",
        "kiln1.1.2.99999999999999999999.00",
        "eyJhbGciOiJSUzI1NiJ9.e30.c2ln",
    };
    struct realm w;

    realm_init(&w, "c");
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        ck_assert_str_eq(refused(w.bearer, texts[i]),
                         "the bearer token was not issued by Kiln; get one with "
                         "'kctl credential'");
    realm_fini(&w);
}
END_TEST

START_TEST(a_token_is_for_one_cluster)
{
    struct realm w;
    struct bearer_tokens *other;
    char token[BEARER_TOKEN_SIZE];

    realm_init(&w, "c");
    issue(&w, token);
    /* The same key, as after copying the state directory. */
    ck_assert_int_eq(bearer_tokens_open(w.path, "d", &w.time.clock, &other, NULL), 0);

    ck_assert_ptr_nonnull(strstr(refused(other, token), "not from cluster 'd'"));
    bearer_tokens_free(other);
    realm_fini(&w);
}
END_TEST

START_TEST(another_key_ends_all_tokens_at_once)
{
    struct realm w;
    char token[BEARER_TOKEN_SIZE];

    realm_init(&w, "c");
    issue(&w, token);

    ck_assert_int_eq(bearer_tokens_rotate(w.path, NULL), 0);
    fake_clock_advance(&w.time, 2 * FAKE_SECOND);

    ck_assert_ptr_nonnull(strstr(refused(w.bearer, token), "key has been replaced"));
    bearer_tokens_issue(w.bearer, 4711, 4712, 60, token, &(int64_t){0});
    ck_assert(is_good(w.bearer, token));
    realm_fini(&w);
}
END_TEST

START_TEST(no_token_is_good_when_the_key_was_taken_away)
{
    struct realm w;
    char token[BEARER_TOKEN_SIZE];

    realm_init(&w, "c");
    issue(&w, token);

    ck_assert_int_eq(unlink(w.path), 0);
    fake_clock_advance(&w.time, 2 * FAKE_SECOND);

    refused(w.bearer, token);
    realm_fini(&w);
}
END_TEST

START_TEST(tokens_outlive_the_controller)
{
    struct realm w;
    struct bearer_tokens *again;
    char token[BEARER_TOKEN_SIZE];

    realm_init(&w, "c");
    issue(&w, token);
    ck_assert_int_eq(bearer_tokens_open(w.path, "c", &w.time.clock, &again, NULL), 0);

    ck_assert(is_good(again, token));
    bearer_tokens_free(again);
    realm_fini(&w);
}
END_TEST

START_TEST(a_key_that_others_may_read_is_refused)
{
    struct realm w;
    struct bearer_tokens *again = NULL;
    struct error err = {0};
    struct stat status;

    realm_init(&w, "c");
    ck_assert_int_eq(stat(w.path, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0600);
    ck_assert_int_eq(chmod(w.path, 0640), 0);

    ck_assert_int_eq(bearer_tokens_open(w.path, "c", &w.time.clock, &again, &err), -EPERM);
    ck_assert_ptr_nonnull(strstr(err.text, "is readable by others"));
    realm_fini(&w);
}
END_TEST

SUITE("bearer", a_token_is_its_user_until_it_ends, a_token_of_which_anything_is_changed_is_refused,
      a_wrong_token_is_refused, a_token_is_for_one_cluster, another_key_ends_all_tokens_at_once,
      no_token_is_good_when_the_key_was_taken_away, tokens_outlive_the_controller,
      a_key_that_others_may_read_is_refused)
