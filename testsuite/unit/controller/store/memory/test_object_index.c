/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/memory/object_index.h"

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

/* Prints the entries in order: "a/x b/y". */
static void
print_all(const struct object_index *s, char *out, size_t size)
{
    out[0] = '\0';
    for (struct entry *e = object_index_first(s); e != NULL; e = e->next[0]) {
        size_t used = strlen(out);

        snprintf(out + used, size - used, "%s%s/%s", used > 0 ? " " : "", entry_namespace(e),
                 name_of(e));
    }
}

START_TEST(entries_stand_in_the_order_of_namespace_then_name)
{
    struct object_index *s = object_index_new(&pod_kind, 0);
    char all[128];

    object_index_add(s, "b", "a");
    object_index_add(s, "a-b", "x");
    object_index_add(s, "a", "z");
    object_index_add(s, "a", "b");
    object_index_add(s, NULL, "free");

    print_all(s, all, sizeof(all));
    ck_assert_str_eq(all, "/free a/b a/z a-b/x b/a");
    object_index_free(s);
}
END_TEST

START_TEST(adding_twice_is_one_entry)
{
    struct object_index *s = object_index_new(&pod_kind, 0);
    struct entry *entry = object_index_add(s, "a", "x");

    ck_assert_ptr_eq(object_index_add(s, "a", "x"), entry);
    ck_assert_ptr_eq(object_index_find(s, "a", "x"), entry);
    ck_assert_ptr_null(entry->next[0]);
    object_index_free(s);
}
END_TEST

START_TEST(a_name_is_not_found_under_another_namespace)
{
    struct object_index *s = object_index_new(&pod_kind, 0);

    object_index_add(s, "a", "bc");

    ck_assert_ptr_null(object_index_find(s, "ab", "c"));
    ck_assert_ptr_null(object_index_find(s, NULL, "bc"));
    ck_assert_ptr_null(object_index_find(s, "a", "b"));
    object_index_free(s);
}
END_TEST

START_TEST(seeking_finds_what_is_there_or_comes_next)
{
    struct object_index *s = object_index_new(&pod_kind, 0);

    object_index_add(s, "a", "b");
    object_index_add(s, "a", "d");

    ck_assert_str_eq(name_of(object_index_seek(s, "a", "")), "b");
    ck_assert_str_eq(name_of(object_index_seek(s, "a", "b")), "b");
    ck_assert_str_eq(name_of(object_index_seek(s, "a", "c")), "d");
    ck_assert_ptr_null(object_index_seek(s, "a", "e"));
    ck_assert_str_eq(name_of(object_index_seek_behind(s, "a", "b")), "d");
    ck_assert_str_eq(name_of(object_index_seek_behind(s, "a", "c")), "d");
    ck_assert_ptr_null(object_index_seek_behind(s, "a", "d"));
    object_index_free(s);
}
END_TEST

#define KEYS   500
#define ROUNDS 20000

START_TEST(whatever_is_added_and_removed_both_ways_of_finding_agree)
{
    struct random_source random = {7};
    struct object_index *s = object_index_new(&pod_kind, 2);
    struct entry *entries[KEYS] = {NULL};
    unsigned n = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned k = (unsigned)random_below(&random, KEYS);
        char name[8];

        snprintf(name, sizeof(name), "%03u", k);
        ck_assert_ptr_eq(object_index_find(s, "a", name), entries[k]);
        if (entries[k] == NULL) {
            entries[k] = object_index_add(s, "a", name);
        } else {
            object_index_remove(s, entries[k]);
            entries[k] = NULL;
        }
    }

    for (struct entry *e = object_index_first(s); e != NULL; e = e->next[0], n++) {
        unsigned k = (unsigned)atoi(name_of(e));

        ck_assert_ptr_eq(entries[k], e);
        ck_assert(e->next[0] == NULL || strcmp(name_of(e), name_of(e->next[0])) < 0);
        entries[k] = NULL;
    }
    for (unsigned k = 0; k < KEYS; k++)
        ck_assert_ptr_null(entries[k]);
    ck_assert_uint_gt(n, 0);
    object_index_free(s);
}
END_TEST

SUITE("object index", entries_stand_in_the_order_of_namespace_then_name, adding_twice_is_one_entry,
      a_name_is_not_found_under_another_namespace, seeking_finds_what_is_there_or_comes_next,
      whatever_is_added_and_removed_both_ways_of_finding_agree)
