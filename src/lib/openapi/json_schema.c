/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/openapi/json_schema.h"

#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define META      "io.k8s.apimachinery.pkg.apis.meta.v1."
#define LIST_META META "ListMeta"
#define FIELDS_V1 META "FieldsV1"

/* Schemas of the types that no single JSON type describes. */
static const struct simple_schema {
    enum field_type type;
    const char *name;   /* of a schema to refer to, or NULL */
    const char *json;   /* its "type"; NULL: any */
    const char *format; /* or NULL */
    bool is_either;     /* an integer or a string */
} simple[] = {
    {FIELD_STRING, NULL, "string", NULL, false},
    {FIELD_BOOL, NULL, "boolean", NULL, false},
    {FIELD_INT, NULL, "integer", "int32", false},
    {FIELD_INT64, NULL, "integer", "int64", false},
    {FIELD_NUMBER, NULL, "number", "double", false},
    {FIELD_QUANTITY, "io.k8s.apimachinery.pkg.api.resource.Quantity", "string", NULL, false},
    {FIELD_INT_OR_STRING, "io.k8s.apimachinery.pkg.util.intstr.IntOrString", "string",
     "int-or-string", true},
    {FIELD_TIME, META "Time", "string", "date-time", false},
    {FIELD_MICRO_TIME, META "MicroTime", "string", "date-time", false},
    {FIELD_BYTES, NULL, "string", "byte", false},
    {FIELD_ANY, NULL, "object", NULL, false},
};

static const struct simple_schema *
find_simple(enum field_type type)
{
    for (unsigned i = 0; i < ARRAY_SIZE(simple); i++)
        if (simple[i].type == type)
            return &simple[i];
    return &simple[ARRAY_SIZE(simple) - 1];
}

struct json *
json_schema_reference(struct arena *arena, const char *name)
{
    struct json *reference = json_object(arena);

    json_set(arena, reference, "$ref", json_stringf(arena, "#/components/schemas/%s", name));
    return reference;
}

static struct json *
all_of(struct arena *arena, const char *name)
{
    struct json *schema = json_object(arena);
    struct json *list = json_array(arena);

    json_append(arena, list, json_schema_reference(arena, name));
    json_set(arena, schema, "allOf", list);
    return schema;
}

static struct json *
simple_schema(struct arena *arena, const struct simple_schema *s)
{
    struct json *schema = json_object(arena);

    json_set_string(arena, schema, "type", s->json);
    if (s->format != NULL)
        json_set_string(arena, schema, "format", s->format);
    if (s->is_either) {
        struct json *one_of = json_array(arena);
        struct json *integer = json_object(arena);
        struct json *string = json_object(arena);

        json_remove(schema, "type");
        json_set_string(arena, integer, "type", "integer");
        json_set_string(arena, string, "type", "string");
        json_append(arena, one_of, integer);
        json_append(arena, one_of, string);
        json_set(arena, schema, "oneOf", one_of);
    }
    return schema;
}

/* The schema of managedFields: paths as nested objects, a type with a name. */
static struct json *
fields_schema(struct arena *arena, struct json *schemas)
{
    if (json_get(schemas, FIELDS_V1) == NULL)
        json_set(arena, schemas, FIELDS_V1, simple_schema(arena, find_simple(FIELD_ANY)));
    return all_of(arena, FIELDS_V1);
}

/* The schema of one value: of the field itself, or of an element of its list or
 * map.
 */
static struct json *
value_schema(struct arena *arena, struct json *schemas, enum field_type type,
             const struct record *of)
{
    const struct simple_schema *s;

    if (type == FIELD_OBJECT) {
        json_schema_add_record(arena, schemas, of);
        return all_of(arena, of->name);
    }
    s = find_simple(type);
    if (s->name == NULL)
        return simple_schema(arena, s);
    if (json_get(schemas, s->name) == NULL)
        json_set(arena, schemas, s->name, simple_schema(arena, s));
    return all_of(arena, s->name);
}

static void
add_map_keys(struct arena *arena, struct json *schema, const char *keys)
{
    struct json *list = json_array(arena);

    for (size_t n; keys != NULL && *keys != '\0'; keys += n + (keys[n] == ',')) {
        n = strcspn(keys, ",");
        json_append(arena, list, json_string_n(arena, keys, n));
    }
    json_set(arena, schema, "x-kubernetes-list-map-keys", list);
}

static void
add_list_type(struct arena *arena, struct json *schema, const struct field *field)
{
    static const char *const names[] = {
        [MERGE_ATOMIC] = "atomic",
        [MERGE_SET] = "set",
        [MERGE_BY_KEY] = "map",
        [MERGE_REPLACE] = "atomic",
    };
    const char *key = field->patch_key != NULL ? field->patch_key : field->merge_keys;

    if (field->merge == MERGE_BY_KEY)
        add_map_keys(arena, schema, field->merge_keys);
    json_set_string(arena, schema, "x-kubernetes-list-type", names[field->merge]);
    if (field->patch == MERGE_BY_KEY && key != NULL)
        json_set(arena, schema, "x-kubernetes-patch-merge-key",
                 json_string_n(arena, key, strcspn(key, ",")));
    if (field->patch == MERGE_BY_KEY || field->patch == MERGE_SET)
        json_set_string(arena, schema, "x-kubernetes-patch-strategy", "merge");
}

static void
add_values(struct arena *arena, struct json *schema, const struct field *field)
{
    struct json *values = json_array(arena);

    if (field->values == NULL)
        return;
    for (const char *const *text = field->values; *text != NULL; text++)
        json_append(arena, values, json_string(arena, *text));
    json_set(arena, schema, "enum", values);
}

static struct json *
field_schema(struct arena *arena, struct json *schemas, const struct field *field)
{
    struct json *schema;

    switch (field->type) {
    case FIELD_LIST:
        schema = json_object(arena);
        json_set_string(arena, schema, "type", "array");
        json_set(arena, schema, "items", value_schema(arena, schemas, field->element, field->of));
        add_values(arena, json_get(schema, "items"), field);
        add_list_type(arena, schema, field);
        break;
    case FIELD_MAP:
        schema = json_object(arena);
        json_set_string(arena, schema, "type", "object");
        json_set(arena, schema, "additionalProperties",
                 value_schema(arena, schemas, field->element, field->of));
        if (field->merge == MERGE_ATOMIC)
            json_set_string(arena, schema, "x-kubernetes-map-type", "atomic");
        break;
    default:
        schema = strcmp(field->name, "fieldsV1") == 0
                     ? fields_schema(arena, schemas)
                     : value_schema(arena, schemas, field->type, field->of);
        add_values(arena, schema, field);
    }
    if (field->help != NULL)
        json_set_string(arena, schema, "description", field->help);
    return schema;
}

void
json_schema_add_record(struct arena *arena, struct json *schemas, const struct record *record)
{
    struct json *schema, *properties, *required;

    if (json_get(schemas, record->name) != NULL)
        return;
    schema = json_object(arena);
    properties = json_object(arena);
    required = json_array(arena);
    /* Register it before the fields are added, because they may refer to it. */
    json_set(arena, schemas, record->name, schema);
    json_set_string(arena, schema, "type", "object");
    if (record->help != NULL)
        json_set_string(arena, schema, "description", record->help);
    for (unsigned i = 0; i < record->n_fields; i++) {
        const struct field *field = &record->fields[i];

        json_set(arena, properties, field->name, field_schema(arena, schemas, field));
        if (field->flags & FIELD_REQUIRED)
            json_append(arena, required, json_string(arena, field->name));
    }
    if (required->count > 0)
        json_set(arena, schema, "required", required);
    json_set(arena, schema, "properties", properties);
    if (record->is_atomic)
        json_set_string(arena, schema, "x-kubernetes-map-type", "atomic");
}

struct json *
json_schema_group_version_kind(struct arena *arena, const struct kind *kind, const char *name)
{
    struct json *entry = json_object(arena);

    json_set_string(arena, entry, "group", kind->group);
    json_set_string(arena, entry, "version", kind->version);
    json_set_string(arena, entry, "kind", name);
    return entry;
}

static void
mark(struct arena *arena, struct json *schema, const struct kind *kind, const char *name)
{
    struct json *list = json_array(arena);

    json_append(arena, list, json_schema_group_version_kind(arena, kind, name));
    json_set(arena, schema, "x-kubernetes-group-version-kind", list);
}

static const char *
list_schema_name(struct arena *arena, const struct kind *kind)
{
    return arena_printf(arena, "%sList", kind->record->name);
}

struct json *
json_schema_reference_list(struct arena *arena, const struct kind *kind)
{
    return json_schema_reference(arena, list_schema_name(arena, kind));
}

static void
add_list_meta(struct arena *arena, struct json *schemas)
{
    static const char *const names[] = {"continue", "resourceVersion", "selfLink"};
    struct json *schema = json_object(arena);
    struct json *properties = json_object(arena);

    if (json_get(schemas, LIST_META) != NULL)
        return;
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
        json_set(arena, properties, names[i], simple_schema(arena, find_simple(FIELD_STRING)));
    json_set(arena, properties, "remainingItemCount",
             simple_schema(arena, find_simple(FIELD_INT64)));
    json_set_string(arena, schema, "type", "object");
    json_set(arena, schema, "properties", properties);
    json_set(arena, schemas, LIST_META, schema);
}

static void
add_list(struct arena *arena, struct json *schemas, const struct kind *kind)
{
    struct json *schema = json_object(arena);
    struct json *properties = json_object(arena);
    struct json *items = json_object(arena);
    struct json *required = json_array(arena);

    add_list_meta(arena, schemas);
    json_set_string(arena, items, "type", "array");
    json_set(arena, items, "items", all_of(arena, kind->record->name));
    json_set(arena, properties, "apiVersion", simple_schema(arena, find_simple(FIELD_STRING)));
    json_set(arena, properties, "items", items);
    json_set(arena, properties, "kind", simple_schema(arena, find_simple(FIELD_STRING)));
    json_set(arena, properties, "metadata", all_of(arena, LIST_META));
    json_set_string(arena, schema, "type", "object");
    json_append(arena, required, json_string(arena, "items"));
    json_set(arena, schema, "required", required);
    json_set(arena, schema, "properties", properties);
    mark(arena, schema, kind, kind->list_name);
    json_set(arena, schemas, list_schema_name(arena, kind), schema);
}

void
json_schema_add_kind(struct arena *arena, struct json *schemas, const struct kind *kind)
{
    struct json *schema;

    json_schema_add_record(arena, schemas, kind->record);
    schema = json_get(schemas, kind->record->name);
    if (json_get(schema, "x-kubernetes-group-version-kind") == NULL)
        mark(arena, schema, kind, kind->name);
    if (kind->list_name[0] != '\0')
        add_list(arena, schemas, kind);
}
