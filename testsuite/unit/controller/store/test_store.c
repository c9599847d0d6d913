/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store.h"

#include <check.h>
#include <errno.h>

#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/store/place.h"

START_TEST(a_change_is_published_when_it_is_durable_and_not_before)
{
    struct place p;

    place_init(&p);
    place_put(&p, "x", "n1");

    ck_assert_ptr_null(place_find(&p, "x"));
    ck_assert_ptr_nonnull(
        store_find(p.store, STORE_PENDING, &pod_kind, "a", "x"));
    place_settle(&p);
    ck_assert_ptr_nonnull(place_find(&p, "x"));
    ck_assert_int_eq(place_find(&p, "x")->revision, store_revision(p.store));
    ck_assert_uint_eq(store_count(p.store, &pod_kind), 1);
    place_fini(&p);
}
END_TEST

START_TEST(what_was_written_is_there_after_a_restart)
{
    struct place p;
    int64_t revision;

    place_init(&p);
    place_put(&p, "x", "n1");
    place_put(&p, "y", "n1");
    place_remove(&p, "y");
    place_settle(&p);
    revision = place_find(&p, "x")->revision;

    place_reopen(&p);

    ck_assert_int_eq(place_find(&p, "x")->revision, revision);
    ck_assert_ptr_null(place_find(&p, "y"));
    ck_assert_int_ge(store_revision(p.store), revision + 2);
    place_fini(&p);
}
END_TEST

SUITE("store",
      a_change_is_published_when_it_is_durable_and_not_before,
      what_was_written_is_there_after_a_restart)
