/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/typed_tree.h"

#include <errno.h>

#include "lib/base/strbuf.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"
#include "testsuite/lib/tree.h"

static const struct field port_fields[] = {
    {.name = "port", .type = FIELD_INT, .offset = FIELD_UNBOUND},
    {.name = "protocol", .type = FIELD_STRING, .offset = FIELD_UNBOUND, .absent_key = "TCP"},
    {.name = "name", .type = FIELD_STRING, .offset = FIELD_UNBOUND},
};
static const struct record port_record = {RECORD_FIELDS(port_fields)};

static const struct field thing_fields[] = {
    {.name = "size", .type = FIELD_INT, .offset = FIELD_UNBOUND},
    {.name = "labels",
     .type = FIELD_MAP,
     .element = FIELD_STRING,
     .offset = FIELD_UNBOUND,
     .merge = MERGE_BY_KEY},
    {.name = "ports",
     .type = FIELD_LIST,
     .element = FIELD_OBJECT,
     .of = &port_record,
     .offset = FIELD_UNBOUND,
     .merge = MERGE_BY_KEY,
     .merge_keys = "port,protocol"},
    {.name = "words",
     .type = FIELD_LIST,
     .element = FIELD_STRING,
     .offset = FIELD_UNBOUND,
     .merge = MERGE_SET},
    {.name = "steps", .type = FIELD_LIST, .element = FIELD_STRING, .offset = FIELD_UNBOUND},
};
static const struct record thing_record = {RECORD_FIELDS(thing_fields)};

static const struct field whole_fields[] = {
    {.name = "spec", .type = FIELD_OBJECT, .of = &thing_record, .offset = FIELD_UNBOUND},
};
static const struct record whole_record = {RECORD_FIELDS(whole_fields)};

static void
add_line(const char *path, void *context)
{
    strbuf_printf(context, "%s\n", path);
}

static const char *
lines(struct arena *arena, const struct field_set *set)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    strbuf_add_text(&text, "");
    field_set_visit(set, add_line, &text);
    return arena_strdup(arena, text.text);
}

static const char *
places(struct arena *arena, const char *text)
{
    return lines(arena, typed_tree_places(arena, &whole_record, tree(arena, text)));
}

START_TEST(a_place_is_what_can_have_an_owner_of_its_own)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    ck_assert_str_eq(places(arena, "{'spec':{'size':1,'steps':['a','b']}}"),
                     ".spec.size\n.spec.steps\n");
    ck_assert_str_eq(places(arena, "{'spec':{'labels':{'a':'1'}}}"), ".spec.labels.a\n");
    ck_assert_str_eq(places(arena, "{'spec':{'labels':{},'words':[]}}"), ".spec.labels\n");
    ck_assert_str_eq(places(arena, "{'spec':{'words':['x']}}"), ".spec.words[=\"x\"]\n");
    ck_assert_str_eq(places(arena, "{'spec':{'ports':[{'port':1}]}}"),
                     ".spec.ports[port=1,protocol=\"TCP\"]\n"
                     ".spec.ports[port=1,protocol=\"TCP\"].port\n");
}
END_TEST

START_TEST(a_difference_tells_what_came_went_and_changed)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct typed_difference d;

    typed_tree_compare(arena, &whole_record,
                       tree(arena, "{'spec':{'size':1,'labels':{'a':'1','b':'2'},'words':['x']}}"),
                       tree(arena, "{'spec':{'size':2,'labels':{'a':'1'},"
                                   "'ports':[{'port':1,'name':'n'}],'words':['x']}}"),
                       &d);

    ck_assert_str_eq(lines(arena, d.modified), ".spec.size\n");
    ck_assert_str_eq(lines(arena, d.removed), ".spec.labels.b\n");
    ck_assert_str_eq(lines(arena, d.added), ".spec.ports\n"
                                            ".spec.ports[port=1,protocol=\"TCP\"]\n"
                                            ".spec.ports[port=1,protocol=\"TCP\"].name\n"
                                            ".spec.ports[port=1,protocol=\"TCP\"].port\n");
}
END_TEST

static const struct {
    const char *below, *above, *result;
} merges[] = {
    {"{'spec':{'size':1}}", "{'spec':{'size':2}}", "{'spec':{'size':2}}"},
    {"{'spec':{'labels':{'a':'1'}}}", "{'spec':{'labels':{'b':'2'}}}",
     "{'spec':{'labels':{'a':'1','b':'2'}}}"},
    {"{'spec':{'steps':['a']}}", "{'spec':{'steps':['b']}}", "{'spec':{'steps':['b']}}"},
    /* Items of both lists have the order of `above`. */
    {"{'spec':{'words':['a','b','c']}}", "{'spec':{'words':['c','a']}}",
     "{'spec':{'words':['b','c','a']}}"},
    {"{'spec':{'words':['a','b']}}", "{'spec':{'words':['new','b']}}",
     "{'spec':{'words':['a','new','b']}}"},
    {"{'spec':{'ports':[{'port':1,'protocol':'TCP','name':'x'}]}}",
     "{'spec':{'ports':[{'port':1,'name':'y'},{'port':2}]}}",
     "{'spec':{'ports':[{'port':1,'protocol':'TCP','name':'y'},{'port':2}]}}"},
};

START_TEST(a_merge_keeps_what_the_upper_one_does_not_name)
{
    for (size_t i = 0; i < ARRAY_SIZE(merges); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);

        ck_assert_str_eq(
            printed(arena, typed_tree_merge(arena, &whole_record, tree(arena, merges[i].below),
                                            tree(arena, merges[i].above))),
            merges[i].result);
    }
}
END_TEST

START_TEST(a_removed_member_goes_with_all_below_it)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *whole = tree(arena, "{'spec':{'size':1,'labels':{'a':'1'},'ports':[{'port':1},"
                                     "{'port':2}]}}");
    struct field_set *set = typed_tree_places(
        arena, &whole_record, tree(arena, "{'spec':{'labels':{'a':''},'ports':[{'port':1}]}}"));

    ck_assert_str_eq(printed(arena, typed_tree_remove(arena, &whole_record, whole, set)),
                     "{'spec':{'size':1,'labels':null,'ports':[{'port':2}]}}");
    ck_assert_str_eq(
        printed(arena, typed_tree_remove(arena, &whole_record, whole,
                                         typed_tree_complete(arena, &whole_record, set))),
        "{}");
}
END_TEST

START_TEST(a_set_survives_its_written_form)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct field_set *set;
    struct error err = {0};

    ck_assert_int_eq(field_set_decode(arena,
                                      tree(arena, "{'f:a':{'.':{},'f:b':{}},"
                                                  "'v:1':{}}"),
                                      &set, &err),
                     0);
    ck_assert_str_eq(printed(arena, field_set_encode(arena, set)),
                     "{'f:a':{'.':{},'f:b':{}},'v:1':{}}");
    ck_assert_int_eq(field_set_decode(arena, tree(arena, "{'a':{}}"), &set, &err), -EINVAL);
}
END_TEST

SUITE("typed_tree", a_place_is_what_can_have_an_owner_of_its_own,
      a_difference_tells_what_came_went_and_changed, a_merge_keeps_what_the_upper_one_does_not_name,
      a_removed_member_goes_with_all_below_it, a_set_survives_its_written_form)
