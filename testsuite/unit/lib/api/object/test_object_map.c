/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/object_map.h"

#include <check.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

/* The caller owns the object. `namespace` NULL: none. */
static const struct object *
make(const char *namespace, const char *name)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *tree = json_object(arena);
    struct json *meta = json_make_object(arena, tree, "metadata");

    if (namespace != NULL)
        json_set_string(arena, meta, "namespace", namespace);
    json_set_string(arena, meta, "name", name);
    return object_new(&pod_kind, tree);
}

static const struct object *
make_number(unsigned i)
{
    CLEANUP_FREE char *name = xasprintf("pod-%u", i);

    return make(i % 2 == 0 ? "even" : "odd", name);
}

static const struct object *
find_number(const struct object_map *r, unsigned i)
{
    CLEANUP_FREE char *name = xasprintf("pod-%u", i);

    return object_map_find(r, i % 2 == 0 ? "even" : "odd", name);
}

static void
empty(struct object_map *r)
{
    const struct object *o = NULL;
    size_t at = 0;

    while (object_map_next(r, &at, &o))
        object_unref(object_map_remove(r, o->meta->namespace, o->meta->name));
    ck_assert_uint_eq(object_map_count(r), 0);
}

START_TEST(a_name_is_found_in_its_namespace_alone)
{
    CLEANUP(object_map_freep) struct object_map *r = object_map_new();
    const struct object *a = make("a", "p"), *b = make("b", "p");
    const struct object *none = make(NULL, "p");

    ck_assert_ptr_null(object_map_find(r, "a", "p"));
    ck_assert_ptr_null(object_map_put(r, a));
    ck_assert_ptr_null(object_map_put(r, b));
    ck_assert_ptr_null(object_map_put(r, none));

    ck_assert_ptr_eq(object_map_find(r, "a", "p"), a);
    ck_assert_ptr_eq(object_map_find(r, "b", "p"), b);
    ck_assert_ptr_eq(object_map_find(r, NULL, "p"), none);
    ck_assert_ptr_eq(object_map_find(r, "", "p"), none);
    ck_assert_ptr_null(object_map_find(r, "a", "q"));
    empty(r);
}
END_TEST

START_TEST(an_object_of_the_same_name_takes_the_place)
{
    CLEANUP(object_map_freep) struct object_map *r = object_map_new();
    const struct object *first = make("a", "p"), *second = make("a", "p");

    ck_assert_ptr_null(object_map_put(r, first));
    ck_assert_ptr_eq(object_map_put(r, second), first);
    object_unref(first);

    ck_assert_uint_eq(object_map_count(r), 1);
    ck_assert_ptr_eq(object_map_find(r, "a", "p"), second);
    empty(r);
}
END_TEST

/* Far more objects are added and removed than are ever present together. */
START_TEST(many_come_and_go)
{
    CLEANUP(object_map_freep) struct object_map *r = object_map_new();

    for (unsigned i = 0; i < 5000; i++) {
        ck_assert_ptr_null(object_map_put(r, make_number(i)));
        if (i >= 10) {
            const struct object *o = find_number(r, i - 10);

            ck_assert_ptr_eq(object_map_remove(r, o->meta->namespace, o->meta->name), o);
            ck_assert_ptr_null(find_number(r, i - 10));
            object_unref(o);
        }
    }

    ck_assert_uint_eq(object_map_count(r), 10);
    for (unsigned i = 4990; i < 5000; i++)
        ck_assert_ptr_nonnull(find_number(r, i));
    empty(r);
}
END_TEST

START_TEST(a_walk_comes_to_each_once_also_while_they_are_removed)
{
    CLEANUP(object_map_freep) struct object_map *r = object_map_new();
    const struct object *o = NULL;
    unsigned seen = 0;
    size_t at = 0;

    for (unsigned i = 0; i < 1000; i++)
        ck_assert_ptr_null(object_map_put(r, make_number(i)));
    while (object_map_next(r, &at, &o)) {
        seen++;
        ck_assert_ptr_eq(object_map_remove(r, o->meta->namespace, o->meta->name), o);
        object_unref(o);
    }

    ck_assert_uint_eq(seen, 1000);
    ck_assert_uint_eq(object_map_count(r), 0);
}
END_TEST

SUITE("object_map", a_name_is_found_in_its_namespace_alone,
      an_object_of_the_same_name_takes_the_place, many_come_and_go,
      a_walk_comes_to_each_once_also_while_they_are_removed)
