/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/auth/recent_users.h"

#include <check.h>

#include "lib/auth/user.h"
#include "testsuite/lib/suite.h"

#define MINUTE_US   (INT64_C(60) * 1000 * 1000)
#define NOBODYS_UID 3999999991u /* unknown to every system */

START_TEST(a_user_is_remembered_for_five_minutes)
{
    struct recent_users *users = recent_users_new();
    const struct user *root = user_lookup(0, 0);
    const struct user *found;

    ck_assert_ptr_null(recent_users_find(users, 0, 0, 0));
    recent_users_put(users, root, 0);

    found = recent_users_find(users, 0, 0, 5 * MINUTE_US);
    ck_assert_ptr_eq(found, root);
    user_unref(found);
    ck_assert_ptr_null(recent_users_find(users, 0, 0, 5 * MINUTE_US + 1));
    ck_assert_ptr_null(recent_users_find(users, 1, 0, 0));
    user_unref(root);
    recent_users_free(users);
}
END_TEST

START_TEST(a_found_user_outlives_its_removal)
{
    struct recent_users *users = recent_users_new();
    const struct user *root = user_lookup(0, 0);
    const struct user *found;

    recent_users_put(users, root, 0);
    user_unref(root);
    found = recent_users_find(users, 0, 0, 0);
    recent_users_free(users);

    ck_assert_str_eq(found->name, "root");
    user_unref(found);
}
END_TEST

START_TEST(a_known_user_has_one_primary_group)
{
    struct recent_users *users = recent_users_new();
    const struct user *root = user_lookup(0, 0);
    const struct user *found;

    recent_users_put(users, root, 0);

    found = recent_users_find(users, 0, 7, 0);
    ck_assert_ptr_eq(found, root);
    user_unref(found);
    user_unref(root);
    recent_users_free(users);
}
END_TEST

START_TEST(an_unknown_one_is_found_with_the_group_it_came_with)
{
    struct recent_users *users = recent_users_new();
    const struct user *stranger = user_lookup(NOBODYS_UID, 7);
    const struct user *found;

    ck_assert(!stranger->is_known);
    recent_users_put(users, stranger, 0);

    found = recent_users_find(users, NOBODYS_UID, 7, 0);
    ck_assert_ptr_eq(found, stranger);
    ck_assert_ptr_null(recent_users_find(users, NOBODYS_UID, 8, 0));
    user_unref(found);
    user_unref(stranger);
    recent_users_free(users);
}
END_TEST

SUITE("users", a_user_is_remembered_for_five_minutes, a_found_user_outlives_its_removal,
      a_known_user_has_one_primary_group, an_unknown_one_is_found_with_the_group_it_came_with)
