/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/order/release_list.h"

#include "testsuite/lib/suite.h"

START_TEST(cores_come_back_in_the_order_of_time)
{
    struct release_list l = {0};
    int64_t mcpu;

    release_list_add(&l, 300, 1000);
    release_list_add(&l, 100, 2000);
    release_list_add(&l, 200, 4000);

    ck_assert_int_eq(release_list_find(&l, 2000, &mcpu), 100);
    ck_assert_int_eq(mcpu, 2000);
    ck_assert_int_eq(release_list_find(&l, 2001, &mcpu), 200);
    ck_assert_int_eq(mcpu, 6000);
    ck_assert_int_eq(release_list_find(&l, 7000, &mcpu), 300);
    release_list_fini(&l);
}
END_TEST

START_TEST(all_that_comes_in_one_second_counts)
{
    struct release_list l = {0};
    int64_t mcpu;

    release_list_add(&l, 100, 1000);
    release_list_add(&l, 100, 2000);
    release_list_add(&l, 100, 3000);

    ck_assert_int_eq(release_list_find(&l, 500, &mcpu), 100);
    ck_assert_int_eq(mcpu, 6000);
    release_list_fini(&l);
}
END_TEST

START_TEST(more_than_there_is_never_comes_and_nothing_is_there_at_once)
{
    struct release_list l = {0};

    ck_assert_int_eq(release_list_find(&l, 1, NULL), RELEASE_NEVER);
    release_list_add(&l, 100, 1000);

    ck_assert_int_eq(release_list_find(&l, 1001, NULL), RELEASE_NEVER);
    ck_assert_int_eq(release_list_find(&l, 0, NULL), INT64_MIN);
    release_list_fini(&l);
}
END_TEST

START_TEST(a_removed_release_comes_back_no_more)
{
    struct release_list l = {0};

    release_list_add(&l, 100, 1000);
    release_list_add(&l, 100, 2000);
    release_list_add(&l, 200, 1000);
    ck_assert_int_eq(release_list_find(&l, 3000, NULL), 100);

    release_list_remove(&l, 100, 2000);
    release_list_remove(&l, 150, 1000); /* was never added */

    ck_assert_int_eq(release_list_find(&l, 1000, NULL), 100);
    ck_assert_int_eq(release_list_find(&l, 2000, NULL), 200);
    ck_assert_int_eq(release_list_find(&l, 3000, NULL), RELEASE_NEVER);
    release_list_fini(&l);
}
END_TEST

SUITE("release_list", cores_come_back_in_the_order_of_time, all_that_comes_in_one_second_counts,
      more_than_there_is_never_comes_and_nothing_is_there_at_once,
      a_removed_release_comes_back_no_more)
