/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/memory/watchers.h"

#include <check.h>
#include <errno.h>

#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/store/place.h"

/* The events of a watch: "+x ~x -x". */
struct ear {
    struct place *place;
    struct store_watch *watch;
    char heard[4096];
    int64_t revision;
    bool ends_itself;
    struct ear *brings; /* another watch, opened at the first event */
};

static void open_ear(struct ear *ear, int64_t revision, const char *node);

static void
hear(const struct store_change *change, void *context)
{
    struct ear *ear = context;
    size_t used = strlen(ear->heard);
    const struct object *object =
        change->new_object != NULL ? change->new_object : change->old_object;

    ck_assert_int_gt(change->revision, ear->revision);
    ear->revision = change->revision;
    ck_assert_int_eq(object->revision, change->revision);
    snprintf(ear->heard + used, sizeof(ear->heard) - used, "%s%c%s", used > 0 ? " " : "",
             change->new_object == NULL   ? '-'
             : change->old_object == NULL ? '+'
                                          : '~',
             object->meta->name);
    if (ear->ends_itself) {
        store_unwatch(ear->watch);
        ear->watch = NULL;
    }
    if (ear->brings != NULL) {
        struct ear *other = ear->brings;

        ear->brings = NULL;
        open_ear(other, change->revision - 1, NULL);
    }
}

static void
open_ear(struct ear *ear, int64_t revision, const char *node)
{
    ck_assert_int_eq(store_watch(ear->place->store, &pod_kind, revision,
                                 node != NULL ? POD_BY_NODE : -1, node, hear, ear, &ear->watch),
                     0);
}

START_TEST(a_watch_hears_every_change_once_and_in_order)
{
    struct place p;
    struct ear ear = {.place = &p};

    place_init(&p);
    open_ear(&ear, 0, NULL);
    place_put(&p, "x", "n1");
    place_put(&p, "y", "n1");
    ck_assert_str_eq(ear.heard, "");
    place_settle(&p);
    place_put(&p, "x", "n2");
    place_remove(&p, "y");
    place_settle(&p);

    ck_assert_str_eq(ear.heard, "+x +y ~x -y");
    store_unwatch(ear.watch);
    place_put(&p, "z", "n1");
    place_settle(&p);
    ck_assert_str_eq(ear.heard, "+x +y ~x -y");
    place_fini(&p);
}
END_TEST

START_TEST(a_watch_from_an_older_revision_hears_what_came_behind_it)
{
    struct place p;
    struct ear ear = {.place = &p}, all = {.place = &p};
    int64_t revision;

    place_init(&p);
    place_put(&p, "x", "n1");
    place_settle(&p);
    revision = store_revision(p.store);
    place_put(&p, "y", "n1");
    place_remove(&p, "x");
    place_settle(&p);
    place_put(&p, "z", "n1"); /* pending when the watches begin */

    open_ear(&ear, revision, NULL);
    open_ear(&all, 0, NULL);
    ck_assert_str_eq(ear.heard, "+y -x");
    ck_assert_str_eq(all.heard, "+x +y -x");
    place_settle(&p);

    ck_assert_str_eq(ear.heard, "+y -x +z");
    ck_assert_str_eq(all.heard, "+x +y -x +z");
    place_fini(&p);
}
END_TEST

START_TEST(a_watch_of_a_value_hears_what_has_it_and_what_loses_it)
{
    struct place p;
    struct ear n1 = {.place = &p}, n2 = {.place = &p}, late = {.place = &p};

    place_init(&p);
    open_ear(&n1, 0, "n1");
    open_ear(&n2, 0, "n2");
    place_put(&p, "x", "n1");
    place_put(&p, "y", "n2");
    place_put(&p, "x", "n2");
    place_put(&p, "x", "n2");
    place_remove(&p, "x");
    place_settle(&p);
    open_ear(&late, 0, "n1");

    ck_assert_str_eq(n1.heard, "+x ~x");
    ck_assert_str_eq(n2.heard, "+y ~x ~x -x");
    ck_assert_str_eq(late.heard, "+x ~x");
    place_fini(&p);
}
END_TEST

START_TEST(a_watch_hears_nothing_of_other_kinds)
{
    struct place p;
    struct ear ear = {.place = &p};
    struct store_txn *txn;

    place_init(&p);
    open_ear(&ear, 0, NULL);
    txn = store_begin(p.store);
    store_txn_put(txn, place_object(&namespace_kind, store_txn_revision(txn), "", "lab", ""), NULL);
    store_commit(txn, NULL, NULL);
    place_settle(&p);

    ck_assert_str_eq(ear.heard, "");
    place_fini(&p);
}
END_TEST

START_TEST(a_watch_may_end_itself_while_it_is_told)
{
    struct place p;
    struct ear first = {.place = &p, .ends_itself = true};
    struct ear second = {.place = &p};
    struct ear replayed = {.place = &p, .ends_itself = true};

    place_init(&p);
    open_ear(&first, 0, "n1");
    open_ear(&second, 0, "n1");
    place_put(&p, "x", "n1");
    place_put(&p, "y", "n1");
    place_settle(&p);
    open_ear(&replayed, 0, "n1");

    ck_assert_str_eq(first.heard, "+x");
    ck_assert_str_eq(second.heard, "+x +y");
    ck_assert_str_eq(replayed.heard, "+x");
    ck_assert_ptr_null(replayed.watch);
    place_fini(&p);
}
END_TEST

START_TEST(a_watch_begun_while_changes_are_told_hears_each_once)
{
    struct place p;
    struct ear second = {.place = &p};
    struct ear first = {.place = &p, .brings = &second};

    place_init(&p);
    open_ear(&first, 0, NULL);
    place_put(&p, "x", "n1");
    place_put(&p, "y", "n1");
    place_settle(&p);

    ck_assert_str_eq(first.heard, "+x +y");
    ck_assert_str_eq(second.heard, "+x +y");
    place_fini(&p);
}
END_TEST

struct reader {
    struct store *store;
    unsigned found;
};

static void
look_for_both(const struct store_change *change, void *context)
{
    struct reader *r = context;

    (void)change;
    r->found += store_find(r->store, STORE_PUBLISHED, &pod_kind, "a", "x") != NULL
                && store_find(r->store, STORE_PUBLISHED, &pod_kind, "a", "y") != NULL;
}

START_TEST(changes_of_a_transaction_are_published_together)
{
    struct place p;
    struct reader reader = {0};
    struct store_watch *watch;
    struct store_txn *txn;

    place_init(&p);
    reader.store = p.store;
    store_watch(p.store, &pod_kind, 0, -1, NULL, look_for_both, &reader, &watch);
    txn = store_begin(p.store);
    place_txn_put(txn, "x", "n1");
    place_txn_put(txn, "y", "n1");
    store_commit(txn, NULL, NULL);
    place_settle(&p);

    ck_assert_uint_eq(reader.found, 2);
    place_fini(&p);
}
END_TEST

SUITE("watchers", a_watch_hears_every_change_once_and_in_order,
      a_watch_from_an_older_revision_hears_what_came_behind_it,
      a_watch_of_a_value_hears_what_has_it_and_what_loses_it, a_watch_hears_nothing_of_other_kinds,
      a_watch_may_end_itself_while_it_is_told, a_watch_begun_while_changes_are_told_hears_each_once,
      changes_of_a_transaction_are_published_together)
