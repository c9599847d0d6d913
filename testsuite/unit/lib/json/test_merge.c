/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/merge.h"

#include "testsuite/lib/suite.h"
#include "testsuite/lib/tree.h"

/* The examples of RFC 7386, appendix A, and cases that these leave open. */
static const struct {
    const char *original, *patch, *result;
} cases[] = {
    {"{'a':'b'}", "{'a':'c'}", "{'a':'c'}"},
    {"{'a':'b'}", "{'b':'c'}", "{'a':'b','b':'c'}"},
    {"{'a':'b'}", "{'a':null}", "{}"},
    {"{'a':'b','b':'c'}", "{'a':null}", "{'b':'c'}"},
    {"{'a':['b']}", "{'a':'c'}", "{'a':'c'}"},
    {"{'a':'c'}", "{'a':['b']}", "{'a':['b']}"},
    {"{'a':{'b':'c'}}", "{'a':{'b':'d','c':null}}", "{'a':{'b':'d'}}"},
    {"{'a':[{'b':'c'}]}", "{'a':[1]}", "{'a':[1]}"},
    {"['a','b']", "['c','d']", "['c','d']"},
    {"{'a':'b'}", "['c']", "['c']"},
    {"{'a':'foo'}", "null", "null"},
    {"{'a':'foo'}", "'bar'", "'bar'"},
    {"{'e':null}", "{'a':1}", "{'e':null,'a':1}"},
    {"[1,2]", "{'a':'b','c':null}", "{'a':'b'}"},
    {"{}", "{'a':{'bb':{'ccc':null}}}", "{'a':{'bb':{}}}"},
};

START_TEST(a_patch_changes_what_it_names)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);

        ck_assert_str_eq(printed(arena, json_merge(arena, tree(arena, cases[i].original),
                                                   tree(arena, cases[i].patch))),
                         cases[i].result);
    }
}
END_TEST

START_TEST(the_difference_of_two_trees_makes_one_of_the_other)
{
    static const char *const trees[] = {
        "{}",
        "{'a':1}",
        "{'a':{'b':[1,2],'c':'x'},'d':true}",
        "{'a':{'b':[2,1]},'e':{}}",
        "{'a':{'c':'x','b':[1,2]},'d':false}",
        "[]",
        "'text'",
    };

    for (size_t i = 0; i < ARRAY_SIZE(trees); i++)
        for (size_t j = 0; j < ARRAY_SIZE(trees); j++) {
            CLEANUP(arena_freep) struct arena *arena = arena_new(0);
            struct json *from = tree(arena, trees[i]);
            struct json *to = tree(arena, trees[j]);
            struct json *patch = json_merge_diff(arena, from, to);

            ck_assert_int_eq(patch == NULL, i == j);
            if (patch != NULL)
                ck_assert(json_equals(json_merge(arena, from, patch), to));
        }
}
END_TEST

START_TEST(the_difference_names_only_what_changed)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    ck_assert_str_eq(printed(arena, json_merge_diff(arena, tree(arena, "{'a':{'b':1,'c':2},'d':3}"),
                                                    tree(arena, "{'a':{'b':1,'c':4},'e':5}"))),
                     "{'a':{'c':4},'e':5,'d':null}");
    ck_assert_ptr_null(
        json_merge_diff(arena, tree(arena, "{'a':1,'b':1.0}"), tree(arena, "{'b':1.0,'a':1}")));
}
END_TEST

SUITE("merge", a_patch_changes_what_it_names, the_difference_of_two_trees_makes_one_of_the_other,
      the_difference_names_only_what_changed)
