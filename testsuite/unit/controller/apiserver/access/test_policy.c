/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/access/policy.h"

#include <errno.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

/* The user's database entries are longer than the initial buffer. */
START_TEST(users_and_groups_are_known_by_name)
{
    CLEANUP(policy_people_fini) struct policy_people people = {0};
    const gid_t groups[] = {7, 0};

    ck_assert_int_eq(policy_people_add(&people, "root, @root", NULL), 0);

    ck_assert_uint_eq(people.n_uids, 1);
    ck_assert_uint_eq(people.n_gids, 1);
    ck_assert(policy_people_has(&people, 0, NULL, 0));
    ck_assert(policy_people_has(&people, 4711, groups, 2));
    ck_assert(!policy_people_has(&people, 4711, groups, 1));
}
END_TEST

START_TEST(one_that_nobody_knows_is_named_and_the_others_are_added)
{
    CLEANUP(policy_people_fini) struct policy_people people = {0};
    struct error err = {0};

    ck_assert_int_eq(policy_people_add(&people, "nobody-there,@no-group,root", &err), -ENOENT);

    ck_assert_str_eq(err.text, "no user 'nobody-there'");
    ck_assert(policy_people_has(&people, 0, NULL, 0));
}
END_TEST

START_TEST(a_user_is_no_group)
{
    CLEANUP(policy_people_fini) struct policy_people people = {0};
    struct error err = {0};

    ck_assert_int_eq(policy_people_add(&people, "@no-group-of-that-name", &err), -ENOENT);

    ck_assert_str_eq(err.text, "no group 'no-group-of-that-name'");
}
END_TEST

SUITE("policy", users_and_groups_are_known_by_name,
      one_that_nobody_knows_is_named_and_the_others_are_added, a_user_is_no_group)
