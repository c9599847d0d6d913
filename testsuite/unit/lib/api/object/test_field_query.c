/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "lib/api/object/field_query.h"
#include "lib/api/object/object.h"
#include "lib/api/value/selector.h"
#include "testsuite/lib/suite.h"
#include "testsuite/lib/tree.h"

static const struct object *
pod_on(struct arena *arena, const char *text)
{
    return object_new(&pod_kind, object_tree_of(arena, &pod_kind, text));
}

START_TEST(a_query_demands_values_of_fields)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(object_unrefp)
    const struct object *pod =
        pod_on(arena, "{'metadata':{'name':'p','namespace':'a'},"
                      "'spec':{'nodeName':'n1'},'status':{'phase':'Running'}}");
    static const struct {
        const char *query;
        bool matches;
    } cases[] = {
        {"", true},
        {"spec.nodeName=n1", true},
        {"spec.nodeName==n1,metadata.name=p", true},
        {"spec.nodeName!=n1", false},
        {"status.phase!=Pending,metadata.namespace=a", true},
        {"spec.nodeName=", false},
        {"status.nominatedNodeName=", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct field_query *query;

        ck_assert_int_eq(field_query_parse(arena, &pod_kind, cases[i].query, &query, NULL), 0);
        ck_assert_msg(field_query_matches(query, pod) == cases[i].matches, "%s", cases[i].query);
    }
}
END_TEST

START_TEST(an_index_may_answer_what_is_demanded)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct field_query *query;

    ck_assert_int_eq(
        field_query_parse(arena, &pod_kind, "spec.nodeName=n\\,1,status.phase!=x", &query, NULL),
        0);
    ck_assert_str_eq(field_query_demands(query, "spec.nodeName"), "n,1");
    ck_assert_ptr_null(field_query_demands(query, "status.phase"));
    ck_assert_ptr_null(field_query_demands(query, "metadata.name"));
}
END_TEST

START_TEST(fields_that_cannot_be_selected_are_refused)
{
    static const struct {
        const struct kind *kind;
        const char *query, *words;
    } cases[] = {
        {&pod_kind, "spec.colour=red", "field label not supported: spec.colour"},
        {&node_kind, "metadata.namespace=a", "field label not supported: metadata.namespace"},
        {&pod_kind, "nonsense", "invalid selector: 'nonsense'; can't understand 'nonsense'"},
        {&pod_kind, "metadata.name=a\\b", "invalid field selector: invalid escape sequence: \\b"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct field_query *query;
        struct error err = {0};

        ck_assert_int_eq(field_query_parse(arena, cases[i].kind, cases[i].query, &query, &err),
                         -EINVAL);
        ck_assert_str_eq(err.text, cases[i].words);
    }
}
END_TEST

START_TEST(every_selectable_field_of_every_kind_can_be_read)
{
    for (unsigned i = 0; i < n_kinds; i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP(object_unrefp)
        const struct object *bare =
            object_new(kinds[i], object_tree_of(arena, kinds[i], "{'metadata':{'name':'x'}}"));
        char buffer[64];

        for (unsigned j = 0; j < kinds[i]->n_selectable; j++)
            ck_assert_ptr_nonnull(kinds[i]->selectable[j].value(bare, buffer));
    }
}
END_TEST

SUITE("field_query", a_query_demands_values_of_fields, an_index_may_answer_what_is_demanded,
      fields_that_cannot_be_selected_are_refused, every_selectable_field_of_every_kind_can_be_read)
