/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/history.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/shelf.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "testsuite/lib/suite.h"

static struct history *history;
static struct shelf *shelf;
static int64_t revision;

static void
begin(void)
{
    revision = 100;
    history = history_new(revision);
    shelf = shelf_new(&namespace_kind, 0);
}

static void
end(void)
{
    for (struct entry *e = shelf_first(shelf); e != NULL; e = e->next[0]) {
        object_unref(e->heads[STORE_PENDING]);
        object_unref(e->heads[STORE_PUBLISHED]);
        e->heads[STORE_PENDING] = e->heads[STORE_PUBLISHED] = NULL;
    }
    history_free(history);
    shelf_free(shelf);
}

static const struct object *
make(const char *name)
{
    const struct object *object = NULL;
    char text[128];

    snprintf(text,
             sizeof(text),
             "{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\","
             "\"resourceVersion\":\"%lld\"}}",
             name,
             (long long)revision);
    ck_assert_int_eq(
        object_parse(&namespace_kind, text, strlen(text), &object, NULL),
        0);
    return object;
}

/* As a transaction does: under the pending head. */
static void
change(const char *name, bool is_removal)
{
    struct entry *e = shelf_add(shelf, NULL, name);
    const struct object *was = e->heads[STORE_PENDING];
    const struct object *is;

    revision++;
    is = make(name);
    history_add(history,
                (struct change){
                    .revision = revision,
                    .at_us = revision * 10,
                    .shelf = shelf,
                    .entry = e,
                    .old_object = was,
                    .new_object = is,
                    .is_removal = is_removal,
                });
    e->heads[STORE_PENDING] = is_removal ? NULL : object_ref(is);
    object_unref(is);
    object_unref(was);
}

static void
publish_all(void)
{
    while (history_published(history) < history_end(history)) {
        const struct change *c = history_publish(history);
        const struct object *was = c->entry->heads[STORE_PUBLISHED];

        c->entry->heads[STORE_PUBLISHED] =
            c->is_removal ? NULL : object_ref(c->new_object);
        object_unref(was);
    }
}

/* The revision that the object of that name had then, 0: it was not there. */
static int64_t
at(const char *name, int64_t then)
{
    const struct entry *e = shelf_find(shelf, NULL, name);
    const struct object *object =
        e != NULL ? history_at(history, e, then) : NULL;

    return object != NULL ? object->revision : 0;
}

START_TEST(an_object_is_seen_as_it_was_at_a_revision)
{
    begin();
    change("a", false); /* 101 */
    change("b", false);
    change("a", false);
    change("a", true);
    change("a", false); /* 105 */
    publish_all();

    ck_assert_int_eq(at("a", 100), 0);
    ck_assert_int_eq(at("a", 101), 101);
    ck_assert_int_eq(at("a", 102), 101);
    ck_assert_int_eq(at("a", 103), 103);
    ck_assert_int_eq(at("a", 104), 0);
    ck_assert_int_eq(at("a", 105), 105);
    ck_assert_int_eq(at("b", 101), 0);
    ck_assert_int_eq(at("b", 105), 102);
    end();
}
END_TEST

START_TEST(a_watch_begins_behind_the_revision_it_names)
{
    begin();
    for (int i = 0; i < 5; i++)
        change("a", false);
    publish_all();
    change("a", false); /* not published */

    ck_assert_int_eq(history_get(history, history_seek(history, 102))->revision,
                     103);
    ck_assert_uint_eq(history_seek(history, 100), history_first(history));
    ck_assert_uint_eq(history_seek(history, 105), history_published(history));
    ck_assert_uint_eq(history_seek(history, 999), history_published(history));
    ck_assert_int_eq(history_revision(history), 105);
    end();
}
END_TEST

START_TEST(what_was_undone_leaves_no_trace)
{
    begin();
    change("a", false);
    publish_all();
    size_t bytes = history_bytes(history);
    struct entry *e = shelf_find(shelf, NULL, "a");
    uint64_t last = e->last_change;
    const struct object *was = object_ref(e->heads[STORE_PENDING]);

    change("a", false);
    ck_assert_uint_ne(e->last_change, last);
    object_unref(e->heads[STORE_PENDING]);
    e->heads[STORE_PENDING] = was;
    history_pop(history);

    ck_assert_uint_eq(e->last_change, last);
    ck_assert_uint_eq(history_bytes(history), bytes);
    ck_assert_int_eq(at("a", 999), 101);
    end();
}
END_TEST

START_TEST(what_is_forgotten_is_told_by_the_oldest_revision)
{
    begin();
    for (int i = 0; i < 10; i++)
        change("a", false);
    publish_all();

    history_forget_to(history, 104);
    ck_assert_int_eq(history_oldest_revision(history), 104);
    ck_assert_int_eq(history_get(history, history_first(history))->revision,
                     105);
    history_trim(history, SIZE_MAX, 1075); /* older than that */
    ck_assert_int_eq(history_oldest_revision(history), 107);
    history_trim(history, 0, 0);
    ck_assert_int_eq(history_oldest_revision(history), 110);
    ck_assert_uint_eq(history_bytes(history), 0);
    ck_assert_int_eq(at("a", 110), 110);
    end();
}
END_TEST

START_TEST(what_is_not_published_is_never_forgotten)
{
    begin();
    change("a", false);
    publish_all();
    change("b", false);

    history_trim(history, 0, INT64_MAX);
    history_forget_to(history, INT64_MAX);
    ck_assert_uint_eq(history_end(history) - history_first(history), 1);
    ck_assert_int_eq(history_oldest_revision(history), 101);
    end();
}
END_TEST

START_TEST(an_entry_goes_with_the_last_that_remembers_it)
{
    begin();
    change("a", false);
    change("a", true);
    change("b", false);
    publish_all();

    ck_assert_ptr_nonnull(shelf_find(shelf, NULL, "a"));
    history_trim(history, 0, 0);
    ck_assert_ptr_null(shelf_find(shelf, NULL, "a"));
    ck_assert_ptr_nonnull(shelf_find(shelf, NULL, "b"));
    end();
}
END_TEST

/* More than the ring has room for, and less again. */
START_TEST(the_ring_grows_and_shrinks_and_loses_nothing)
{
    char name[8];

    begin();
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "n%d", i % 50);
        change(name, false);
        if (i % 1500 == 1499) {
            publish_all();
            history_forget_to(history, revision - 200);
        }
    }
    publish_all();

    for (int64_t r = history_oldest_revision(history); r <= revision; r++)
        for (int i = 0; i < 50; i++) {
            /* n<i> was changed at 101 + i, and every 50 from there. */
            int64_t wanted = r - ((r - 101 - i) % 50 + 50) % 50;

            snprintf(name, sizeof(name), "n%d", i);
            ck_assert_int_eq(at(name, r), wanted);
        }
    end();
}
END_TEST

SUITE("history",
      an_object_is_seen_as_it_was_at_a_revision,
      a_watch_begins_behind_the_revision_it_names,
      what_was_undone_leaves_no_trace,
      what_is_forgotten_is_told_by_the_oldest_revision,
      what_is_not_published_is_never_forgotten,
      an_entry_goes_with_the_last_that_remembers_it,
      the_ring_grows_and_shrinks_and_loses_nothing)
