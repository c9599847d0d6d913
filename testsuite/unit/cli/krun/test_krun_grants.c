/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_grants.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/auth/exec_grant.h"
#include "lib/base/error.h"
#include "testsuite/lib/suite.h"

static struct krun_grants *
make(void)
{
    struct krun_grants *g = NULL;
    char key[KRUN_GRANTS_KEY_SIZE];

    ck_assert_int_eq(krun_grants_make(&g, key, NULL), 0);
    ck_assert_uint_eq(strlen(key), 64);
    return g;
}

static struct krun_grants *
reopen(const struct krun_grants *g)
{
    struct krun_grants *other = NULL;
    int fd = krun_grants_share(g, NULL);

    ck_assert_int_ge(fd, 3);
    ck_assert_int_eq(fcntl(fd, F_GETFD), 0);
    ck_assert_int_eq(krun_grants_open(fd, &other, NULL), 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    return other;
}

START_TEST(each_is_taken_once_for_its_node)
{
    CLEANUP(krun_grants_freep) struct krun_grants *g = make();
    struct exec_call call;
    struct error err = {0};

    ck_assert_int_eq(krun_grants_add(g, "n1", "k1", "first", NULL), 0);
    ck_assert_int_eq(krun_grants_add(g, "n10", "k10", "other", NULL), 0);
    ck_assert_int_eq(krun_grants_add(g, "n1", "k1", "second", NULL), 0);
    ck_assert_int_eq(krun_grants_take(g, "n1", &call, NULL), 0);
    ck_assert_str_eq(call.grant, "first");
    ck_assert_str_eq(call.node_key, "k1");
    ck_assert_str_eq(call.node, "n1");
    ck_assert_int_eq(krun_grants_take(g, "n1", &call, NULL), 0);
    ck_assert_str_eq(call.grant, "second");
    ck_assert_int_eq(krun_grants_take(g, "n1", &call, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "for node 'n1' is left"));
    ck_assert_int_eq(krun_grants_take(g, "n10", &call, NULL), 0);
    ck_assert_int_eq(krun_grants_take(g, "n2", &call, NULL), -ENOENT);
}
END_TEST

START_TEST(the_next_program_has_the_rest_and_the_same_key)
{
    CLEANUP(krun_grants_freep) struct krun_grants *g = make();
    CLEANUP(krun_grants_freep) struct krun_grants *second = NULL;
    CLEANUP(krun_grants_freep) struct krun_grants *third = NULL;
    struct exec_call one, two;

    ck_assert_int_eq(krun_grants_add(g, "n1", "k1", "first", NULL), 0);
    ck_assert_int_eq(krun_grants_add(g, "n1", "k1", "second", NULL), 0);
    ck_assert_int_eq(krun_grants_take(g, "n1", &one, NULL), 0);
    second = reopen(g);
    ck_assert_int_eq(krun_grants_take(second, "n1", &two, NULL), 0);
    ck_assert_str_eq(two.grant, "second");
    ck_assert_mem_eq(one.secret, two.secret, sizeof(one.secret));
    third = reopen(second);
    ck_assert_int_eq(krun_grants_take(third, "n1", &two, NULL), -ENOENT);
}
END_TEST

START_TEST(words_with_blanks_are_no_grants)
{
    CLEANUP(krun_grants_freep) struct krun_grants *g = make();

    ck_assert_int_eq(krun_grants_add(g, "n1", "k1", "two words", NULL), -EBADMSG);
    ck_assert_int_eq(krun_grants_add(g, "n1", "k1", "two\nlines", NULL), -EBADMSG);
}
END_TEST

START_TEST(another_file_is_refused)
{
    static const char *const texts[] = {
        "",
        "kiln-grants 1 12\n",
        "kiln-grants 2 0000000000000000000000000000000000000000000000000000000000000000\n",
        "kiln-grants 1 0000000000000000000000000000000000000000000000000000000000000000\n+n1 k",
        "kiln-grants 1 0000000000000000000000000000000000000000000000000000000000000000\n+n1 k\n",
        "kiln-grants 1 0000000000000000000000000000000000000000000000000000000000000000\n?n k g\n",
        "kiln-grants 1 0000000000000000000000000000000000000000000000000000000000000000\n\n",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct krun_grants *g = NULL;
        struct error err = {0};
        int fd = memfd_create("grants", 0);

        ck_assert_int_eq(write(fd, texts[i], strlen(texts[i])), (ssize_t)strlen(texts[i]));
        ck_assert_msg(krun_grants_open(fd, &g, &err) == -EINVAL, "%s", texts[i]);
        ck_assert_ptr_nonnull(strstr(err.text, "no grants of a controller"));
    }
}
END_TEST

SUITE("krun_grants", each_is_taken_once_for_its_node,
      the_next_program_has_the_rest_and_the_same_key, words_with_blanks_are_no_grants,
      another_file_is_refused)
