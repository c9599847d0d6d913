/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/user_account.h"

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "testsuite/lib/suite.h"

START_TEST(root_is_known_everywhere)
{
    struct user_account *p = NULL;

    ck_assert_int_eq(user_account_find(0, 0, &p, NULL), 0);

    ck_assert_str_eq(p->name, "root");
    ck_assert_str_ne(p->home, "");
    ck_assert_int_ge(p->n_groups, 1);
    ck_assert_uint_eq(p->groups[0], 0);
    for (int i = 1; i < p->n_groups; i++)
        ck_assert_uint_gt(p->groups[i], p->groups[i - 1]);
    user_account_free(p);
}
END_TEST

START_TEST(without_a_group_it_is_the_primary_one)
{
    struct user_account *p = NULL;

    ck_assert_int_eq(user_account_find(0, (gid_t)-1, &p, NULL), 0);

    ck_assert_uint_eq(p->gid, 0);
    user_account_free(p);
}
END_TEST

START_TEST(a_stranger_and_a_foreign_group_are_refused)
{
    struct user_account *p = NULL;
    struct error err = {0};

    ck_assert_int_eq(user_account_find(3999999999, 0, &p, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "getent passwd 3999999999"));

    ck_assert_int_eq(user_account_find(0, 3999999999, &p, &err), -EPERM);
    ck_assert_ptr_nonnull(strstr(err.text, "'root' is not a member"));
    ck_assert_ptr_null(p);
}
END_TEST

SUITE("user_account", root_is_known_everywhere, without_a_group_it_is_the_primary_one,
      a_stranger_and_a_foreign_group_are_refused)
