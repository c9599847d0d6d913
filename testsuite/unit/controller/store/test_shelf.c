/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/shelf.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/base/random.h"
#include "testsuite/lib/suite.h"

static const char *
name_of(const struct entry *entry)
{
    const char *namespace = entry_namespace(entry);

    return namespace + strlen(namespace) + 1;
}

/* "a/x b/y": the entries in order. */
static void
print_all(const struct shelf *s, char *out, size_t size)
{
    out[0] = '\0';
    for (struct entry *e = shelf_first(s); e != NULL; e = e->next[0]) {
        size_t used = strlen(out);

        snprintf(out + used,
                 size - used,
                 "%s%s/%s",
                 used > 0 ? " " : "",
                 entry_namespace(e),
                 name_of(e));
    }
}

START_TEST(entries_stand_in_the_order_of_namespace_then_name)
{
    struct shelf *s = shelf_new(&pod_kind, 0);
    char all[128];

    shelf_add(s, "b", "a");
    shelf_add(s, "a-b", "x");
    shelf_add(s, "a", "z");
    shelf_add(s, "a", "b");
    shelf_add(s, NULL, "free");

    print_all(s, all, sizeof(all));
    ck_assert_str_eq(all, "/free a/b a/z a-b/x b/a");
    shelf_free(s);
}
END_TEST

START_TEST(adding_twice_is_one_entry)
{
    struct shelf *s = shelf_new(&pod_kind, 0);
    struct entry *entry = shelf_add(s, "a", "x");

    ck_assert_ptr_eq(shelf_add(s, "a", "x"), entry);
    ck_assert_ptr_eq(shelf_find(s, "a", "x"), entry);
    ck_assert_ptr_null(entry->next[0]);
    shelf_free(s);
}
END_TEST

START_TEST(a_name_is_not_found_under_another_namespace)
{
    struct shelf *s = shelf_new(&pod_kind, 0);

    shelf_add(s, "a", "bc");

    ck_assert_ptr_null(shelf_find(s, "ab", "c"));
    ck_assert_ptr_null(shelf_find(s, NULL, "bc"));
    ck_assert_ptr_null(shelf_find(s, "a", "b"));
    shelf_free(s);
}
END_TEST

START_TEST(seeking_finds_what_is_there_or_comes_next)
{
    struct shelf *s = shelf_new(&pod_kind, 0);

    shelf_add(s, "a", "b");
    shelf_add(s, "a", "d");

    ck_assert_str_eq(name_of(shelf_seek(s, "a", "")), "b");
    ck_assert_str_eq(name_of(shelf_seek(s, "a", "b")), "b");
    ck_assert_str_eq(name_of(shelf_seek(s, "a", "c")), "d");
    ck_assert_ptr_null(shelf_seek(s, "a", "e"));
    ck_assert_str_eq(name_of(shelf_seek_behind(s, "a", "b")), "d");
    ck_assert_str_eq(name_of(shelf_seek_behind(s, "a", "c")), "d");
    ck_assert_ptr_null(shelf_seek_behind(s, "a", "d"));
    shelf_free(s);
}
END_TEST

#define KEYS   500
#define ROUNDS 20000

START_TEST(whatever_is_added_and_removed_both_ways_of_finding_agree)
{
    struct random_source random = {7};
    struct shelf *s = shelf_new(&pod_kind, 2);
    struct entry *entries[KEYS] = {NULL};
    unsigned n = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned k = (unsigned)random_below(&random, KEYS);
        char name[8];

        snprintf(name, sizeof(name), "%03u", k);
        ck_assert_ptr_eq(shelf_find(s, "a", name), entries[k]);
        if (entries[k] == NULL) {
            entries[k] = shelf_add(s, "a", name);
        } else {
            shelf_remove(s, entries[k]);
            entries[k] = NULL;
        }
    }

    for (struct entry *e = shelf_first(s); e != NULL; e = e->next[0], n++) {
        unsigned k = (unsigned)atoi(name_of(e));

        ck_assert_ptr_eq(entries[k], e);
        ck_assert(e->next[0] == NULL
                  || strcmp(name_of(e), name_of(e->next[0])) < 0);
        entries[k] = NULL;
    }
    for (unsigned k = 0; k < KEYS; k++)
        ck_assert_ptr_null(entries[k]);
    ck_assert_uint_gt(n, 0);
    shelf_free(s);
}
END_TEST

SUITE("shelf",
      entries_stand_in_the_order_of_namespace_then_name,
      adding_twice_is_one_entry,
      a_name_is_not_found_under_another_namespace,
      seeking_finds_what_is_there_or_comes_next,
      whatever_is_added_and_removed_both_ways_of_finding_agree)
