/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/expiry.h"

#include <check.h>

#include "controller/store/store_state.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/store/place.h"

static void
put_event(struct place *p, const char *name)
{
    struct store_txn *txn = store_begin(p->store);

    store_txn_put(txn, place_object(&event_kind, store_txn_revision(txn), "a", name, ""), NULL);
    store_commit(txn, NULL, NULL);
    place_settle(p);
}

static void
remember_removal(const struct store_change *change, void *context)
{
    if (change->new_object == NULL)
        snprintf(context, 16, "%s", change->old_object->meta->name);
}

static void
open_with(struct place *p, int64_t age_s, size_t limit)
{
    store_close(p->store);
    p->event_age_s = age_s;
    p->event_limit = limit;
    place_open(p);
}

START_TEST(an_event_that_nobody_repeats_goes_and_watches_hear_of_it)
{
    struct place p;
    struct store_watch *watch;
    char removed[16] = "";

    place_init(&p);
    open_with(&p, 60, 0);
    put_event(&p, "old");
    put_event(&p, "again");
    store_watch(p.store, &event_kind, store_revision(p.store), -1, NULL, remember_removal, removed,
                &watch);
    p.now_us += 59 * 1000000;
    put_event(&p, "again");
    expiry_remove_expired(store_section(p.store, &event_kind)->expiry);
    place_settle(&p);
    ck_assert_uint_eq(store_count(p.store, &event_kind), 2);

    p.now_us += 2 * 1000000;
    expiry_remove_expired(store_section(p.store, &event_kind)->expiry);
    place_settle(&p);

    ck_assert_uint_eq(store_count(p.store, &event_kind), 1);
    ck_assert_str_eq(removed, "old");
    place_fini(&p);
}
END_TEST

START_TEST(of_too_many_events_the_oldest_go_and_stay_gone)
{
    struct place p;

    place_init(&p);
    open_with(&p, 0, 3);
    put_event(&p, "e1");
    put_event(&p, "e2");
    put_event(&p, "e3");
    put_event(&p, "e4");
    put_event(&p, "e1");
    expiry_remove_expired(store_section(p.store, &event_kind)->expiry);
    place_settle(&p);
    place_reopen(&p);

    ck_assert_uint_eq(store_count(p.store, &event_kind), 3);
    ck_assert_ptr_null(store_find(p.store, STORE_PUBLISHED, &event_kind, "a", "e2"));
    ck_assert_ptr_nonnull(store_find(p.store, STORE_PUBLISHED, &event_kind, "a", "e1"));
    place_fini(&p);
}
END_TEST

SUITE("expiry", an_event_that_nobody_repeats_goes_and_watches_hear_of_it,
      of_too_many_events_the_oldest_go_and_stay_gone)
