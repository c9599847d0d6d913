/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/causes.h"

#include <check.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

START_TEST(paths_follow_the_walk)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct causes c;
    unsigned spec, list, map;

    causes_init(&c, arena);
    spec = causes_enter(&c, "spec");
    list = causes_enter_index(&c, "containers", 3);
    map = causes_enter_key(&c, "requests", "cpu");
    causes_add(&c, CAUSE_INVALID, "", json_string(arena, "x"), "must be %d", 7);
    causes_leave(&c, map);
    causes_add(&c, CAUSE_REQUIRED, "name", NULL, "%s", "");
    causes_leave(&c, list);
    causes_leave(&c, spec);
    causes_add(&c, CAUSE_DUPLICATE, "", NULL, "%s", "");

    ck_assert_uint_eq(c.count, 3);
    ck_assert_str_eq(c.items[0].field, "spec.containers[3].requests[cpu]");
    ck_assert_str_eq(c.items[0].message, "Invalid value: \"x\": must be 7");
    ck_assert_str_eq(c.items[1].field, "spec.containers[3].name");
    ck_assert_str_eq(c.items[1].message, "Required value");
    ck_assert_str_eq(c.items[2].field, "<nil>");
    ck_assert_str_eq(cause_reason_name(c.items[2].reason), "FieldValueDuplicate");
}
END_TEST

START_TEST(a_path_without_end_is_cut)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    char key[600];
    struct causes c;
    unsigned before;

    memset(key, 'k', sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    causes_init(&c, arena);
    before = causes_enter_key(&c, "a", key);
    for (int i = 0; i < 5; i++)
        causes_enter_key(&c, "b", key);
    causes_add(&c, CAUSE_INVALID, key, NULL, "no");

    ck_assert_uint_lt(strlen(c.items[0].field), sizeof(c.path));
    causes_leave(&c, before);
    ck_assert_str_eq(c.path, "");
}
END_TEST

SUITE("causes", paths_follow_the_walk, a_path_without_end_is_cut)
