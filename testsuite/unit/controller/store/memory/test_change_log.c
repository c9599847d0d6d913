/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/memory/change_log.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/memory/object_index.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "testsuite/lib/suite.h"

static struct change_log *change_log;
static struct object_index *objects;
static int64_t revision;

static void
begin(void)
{
    revision = 100;
    change_log = change_log_new(revision);
    objects = object_index_new(&namespace_kind, 0);
}

static void
end(void)
{
    for (struct entry *e = object_index_first(objects); e != NULL; e = e->next[0]) {
        object_unref(e->heads[STORE_PENDING]);
        object_unref(e->heads[STORE_PUBLISHED]);
        e->heads[STORE_PENDING] = e->heads[STORE_PUBLISHED] = NULL;
    }
    change_log_free(change_log);
    object_index_free(objects);
}

static const struct object *
make(const char *name)
{
    const struct object *object = NULL;
    char text[128];

    snprintf(text, sizeof(text),
             "{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\","
             "\"resourceVersion\":\"%lld\"}}",
             name, (long long)revision);
    ck_assert_int_eq(object_parse(&namespace_kind, text, strlen(text), &object, NULL), 0);
    return object;
}

/* Changes the object under the pending head, like a transaction. */
static void
change(const char *name, bool is_removal)
{
    struct entry *e = object_index_add(objects, NULL, name);
    const struct object *was = e->heads[STORE_PENDING];
    const struct object *is;

    revision++;
    is = make(name);
    change_log_add(change_log, (struct change){
                                   .revision = revision,
                                   .at_us = revision * 10,
                                   .objects = objects,
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
    while (change_log_published(change_log) < change_log_end(change_log)) {
        const struct change *c = change_log_publish(change_log);
        const struct object *was = c->entry->heads[STORE_PUBLISHED];

        c->entry->heads[STORE_PUBLISHED] = c->is_removal ? NULL : object_ref(c->new_object);
        object_unref(was);
    }
}

/* The object's revision at that time; 0: it did not exist. */
static int64_t
at(const char *name, int64_t then)
{
    const struct entry *e = object_index_find(objects, NULL, name);
    const struct object *object = e != NULL ? change_log_at(change_log, e, then) : NULL;

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

    ck_assert_int_eq(change_log_get(change_log, change_log_seek(change_log, 102))->revision, 103);
    ck_assert_uint_eq(change_log_seek(change_log, 100), change_log_end(change_log) - 6);
    ck_assert_uint_eq(change_log_seek(change_log, 105), change_log_published(change_log));
    ck_assert_uint_eq(change_log_seek(change_log, 999), change_log_published(change_log));
    ck_assert_int_eq(change_log_revision(change_log), 105);
    end();
}
END_TEST

START_TEST(an_undone_change_leaves_no_trace)
{
    begin();
    change("a", false);
    publish_all();
    size_t bytes = change_log_bytes(change_log);
    struct entry *e = object_index_find(objects, NULL, "a");
    uint64_t last = e->last_change;
    const struct object *was = object_ref(e->heads[STORE_PENDING]);

    change("a", false);
    ck_assert_uint_ne(e->last_change, last);
    object_unref(e->heads[STORE_PENDING]);
    e->heads[STORE_PENDING] = was;
    change_log_pop(change_log);

    ck_assert_uint_eq(e->last_change, last);
    ck_assert_uint_eq(change_log_bytes(change_log), bytes);
    ck_assert_int_eq(at("a", 999), 101);
    end();
}
END_TEST

START_TEST(the_oldest_revision_tells_what_is_forgotten)
{
    begin();
    for (int i = 0; i < 10; i++)
        change("a", false);
    publish_all();

    change_log_forget_to(change_log, 104);
    ck_assert_int_eq(change_log_oldest_revision(change_log), 104);
    ck_assert_int_eq(change_log_get(change_log, change_log_seek(change_log, 104))->revision, 105);
    change_log_trim(change_log, SIZE_MAX, 1075); /* older than that */
    ck_assert_int_eq(change_log_oldest_revision(change_log), 107);
    change_log_trim(change_log, 0, 0);
    ck_assert_int_eq(change_log_oldest_revision(change_log), 110);
    ck_assert_uint_eq(change_log_bytes(change_log), 0);
    ck_assert_int_eq(at("a", 110), 110);
    end();
}
END_TEST

START_TEST(an_unpublished_change_is_never_forgotten)
{
    begin();
    change("a", false);
    publish_all();
    change("b", false);

    change_log_trim(change_log, 0, INT64_MAX);
    change_log_forget_to(change_log, INT64_MAX);
    ck_assert_int_eq(change_log_oldest_revision(change_log), 101);
    ck_assert_uint_eq(change_log_seek(change_log, 100), change_log_end(change_log) - 1);
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

    ck_assert_ptr_nonnull(object_index_find(objects, NULL, "a"));
    change_log_trim(change_log, 0, 0);
    ck_assert_ptr_null(object_index_find(objects, NULL, "a"));
    ck_assert_ptr_nonnull(object_index_find(objects, NULL, "b"));
    end();
}
END_TEST

/* The ring must grow, and shrink again. */
START_TEST(the_ring_grows_and_shrinks_and_loses_nothing)
{
    char name[8];

    begin();
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "n%d", i % 50);
        change(name, false);
        if (i % 1500 == 1499) {
            publish_all();
            change_log_forget_to(change_log, revision - 200);
        }
    }
    publish_all();

    for (int64_t r = change_log_oldest_revision(change_log); r <= revision; r++)
        for (int i = 0; i < 50; i++) {
            /* n<i> was changed at 101 + i, and every 50 from there. */
            int64_t wanted = r - ((r - 101 - i) % 50 + 50) % 50;

            snprintf(name, sizeof(name), "n%d", i);
            ck_assert_int_eq(at(name, r), wanted);
        }
    end();
}
END_TEST

SUITE("change log", an_object_is_seen_as_it_was_at_a_revision,
      a_watch_begins_behind_the_revision_it_names, an_undone_change_leaves_no_trace,
      the_oldest_revision_tells_what_is_forgotten, an_unpublished_change_is_never_forgotten,
      an_entry_goes_with_the_last_that_remembers_it, the_ring_grows_and_shrinks_and_loses_nothing)
