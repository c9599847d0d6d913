/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/openapi/json_schema.h"

#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"

static const struct record leaf = {.name = "test.Leaf"};
extern const struct record tree_record;

static const struct field tree_fields[] = {
    {.name = "count", .type = FIELD_INT, .flags = FIELD_REQUIRED},
    {.name = "size", .type = FIELD_QUANTITY, .help = "How large."},
    {.name = "parts",
     .type = FIELD_LIST,
     .element = FIELD_OBJECT,
     .of = &leaf,
     .merge = MERGE_BY_KEY,
     .patch = MERGE_BY_KEY,
     .merge_keys = "port,protocol"},
    {.name = "labels", .type = FIELD_MAP, .element = FIELD_STRING, .merge = MERGE_BY_KEY},
    {.name = "mode", .type = FIELD_STRING, .values = (const char *const[]){"on", "off", NULL}},
    {.name = "inner", .type = FIELD_OBJECT, .of = &tree_record},
};
const struct record tree_record = {.name = "test.Tree", RECORD_FIELDS(tree_fields)};

static const char *
print(struct arena *arena, const struct json *value)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    json_print(value, &text);
    return arena_strdup(arena, text.text);
}

START_TEST(a_record_and_all_it_refers_to_are_there_once)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *schemas = json_object(arena);
    const struct json *tree;

    json_schema_add_record(arena, schemas, &tree_record);

    ck_assert_uint_eq(json_count(schemas), 3); /* Quantity, too */
    tree = json_get(schemas, "test.Tree");
    ck_assert_str_eq(print(arena, json_get(tree, "required")), "[\"count\"]");
    tree = json_get(tree, "properties");
    ck_assert_str_eq(print(arena, json_get(tree, "count")),
                     "{\"type\":\"integer\",\"format\":\"int32\"}");
    ck_assert_str_eq(print(arena, json_get(tree, "size")),
                     "{\"allOf\":[{\"$ref\":\"#/components/schemas/io.k8s.apimachinery.pkg."
                     "api.resource.Quantity\"}],\"description\":\"How large.\"}");
    ck_assert_str_eq(print(arena, json_get(tree, "parts")),
                     "{\"type\":\"array\",\"items\":{\"allOf\":[{\"$ref\":\"#/components/"
                     "schemas/test.Leaf\"}]},\"x-kubernetes-list-map-keys\":[\"port\","
                     "\"protocol\"],\"x-kubernetes-list-type\":\"map\","
                     "\"x-kubernetes-patch-merge-key\":\"port\","
                     "\"x-kubernetes-patch-strategy\":\"merge\"}");
    ck_assert_str_eq(print(arena, json_get(tree, "labels")),
                     "{\"type\":\"object\",\"additionalProperties\":{\"type\":"
                     "\"string\"}}");
    ck_assert_str_eq(print(arena, json_get(tree, "mode")),
                     "{\"type\":\"string\",\"enum\":[\"on\",\"off\"]}");
}
END_TEST

START_TEST(every_kind_is_marked_and_has_its_list)
{
    for (unsigned i = 0; i < n_kinds; i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct json *schemas = json_object(arena);
        const struct json *schema, *mark;

        json_schema_add_kind(arena, schemas, kinds[i]);

        schema = json_get(schemas, kinds[i]->record->name);
        mark = json_at(json_get(schema, "x-kubernetes-group-version-kind"), 0);
        ck_assert_str_eq(json_get_text(mark, "kind"), kinds[i]->name);
        ck_assert_str_eq(json_get_text(mark, "group"), kinds[i]->group);
        ck_assert_ptr_nonnull(
            json_get(schemas, arena_printf(arena, "%sList", kinds[i]->record->name)));
    }
}
END_TEST

static void
check_explained(const struct record *record, unsigned depth)
{
    ck_assert_uint_lt(depth, 24);
    ck_assert_msg(record->help != NULL, "%s says nothing", record->name);
    for (unsigned i = 0; i < record->n_fields; i++) {
        const struct field *field = &record->fields[i];

        ck_assert_msg(field->help != NULL, "%s says nothing of '%s'", record->name, field->name);
        if (field->of != NULL && field->of != record)
            check_explained(field->of, depth + 1);
    }
}

START_TEST(every_field_of_every_kind_is_explained)
{
    for (unsigned i = 0; i < n_kinds; i++)
        check_explained(kinds[i]->record, 0);
    for (unsigned i = 0; i < n_answered_kinds; i++)
        check_explained(answered_kinds[i]->record, 0);
    for (unsigned i = 0; i < n_measured_kinds; i++)
        check_explained(measured_kinds[i]->record, 0);
}
END_TEST

SUITE("json_schema", a_record_and_all_it_refers_to_are_there_once,
      every_kind_is_marked_and_has_its_list, every_field_of_every_kind_is_explained)
