/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object/rights.h"
#include "lib/api/object/table.h"
#include "lib/api/value/rows.h"
#include "lib/json/json.h"

/* clang-format off */
static const struct field config_map_fields[] = {
    TYPE_META,
    BARE_METADATA,
    OPAQUE(BOOL, "immutable", KEPT,
        HELP("Whether it can no longer be changed, except its metadata.")),
    OPAQUE_MAP(STRING, "data", 0,
        HELP("Texts, by name.")),
    OPAQUE_MAP(BYTES, "binaryData", 0,
        HELP("Bytes in base64, by name.")),
};
static RECORD(config_map, meta, "io.k8s.api.core.v1.ConfigMap",
       MESSAGE("metadata data binaryData immutable"),
       HELP("Data for programs to read: texts and bytes under names."));
/* clang-format on */

#define DATA_BYTES_MAX (1024u * 1024u)

static void
prepare(struct arena *arena, struct json *map, const struct json *old)
{
    meta_prepare(arena, map, old);
}

/* The size of the decoded data. */
static size_t
size_of_base64(const struct json *value)
{
    size_t n = value->count;

    if (n < 4)
        return 0;
    return n / 4 * 3 - (value->text[n - 1] == '=') - (value->text[n - 2] == '=');
}

/* Checks the keys and returns the total size of the values. */
static size_t
check_keys(struct causes *c, const struct json *map, const char *name)
{
    const struct json *data = json_get(map, name);
    const struct json *other = json_get(map, "binaryData");
    bool is_text = strcmp(name, "data") == 0;
    size_t bytes = 0;

    for (uint32_t i = 0; i < json_count(data); i++) {
        const struct json_member *m = &data->members[i];
        const struct json *shown = json_string(c->arena, m->name);
        unsigned at = causes_enter_key(c, name, m->name);

        check_form(c, "", NAME_CONFIG_KEY, m->name, shown);
        if (is_text && json_get(other, m->name) != NULL)
            causes_add(c, CAUSE_INVALID, "", shown, "duplicate of key present in binaryData");
        bytes += is_text ? m->value->count : size_of_base64(m->value);
        causes_leave(c, at);
    }
    return bytes;
}

static void
check_frozen(struct causes *c, const struct json *map, const struct json *old)
{
    static const char *const names[] = {"data", "binaryData"};

    if (!json_is_true(json_get(old, "immutable")))
        return;
    if (!json_is_true(json_get(map, "immutable")))
        causes_add(c, CAUSE_FORBIDDEN, "immutable", NULL,
                   "field is immutable when `immutable` is set");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (!json_equals(json_get(map, names[i]), json_get(old, names[i])))
            causes_add(c, CAUSE_FORBIDDEN, names[i], NULL,
                       "field is immutable when `immutable` is set");
}

static void
validate(struct causes *c, const struct json *map, const struct json *old)
{
    size_t bytes;

    meta_check(c, &config_map_kind, NAME_DNS_SUBDOMAIN, map, old);
    bytes = check_keys(c, map, "data");
    bytes += check_keys(c, map, "binaryData");
    if (bytes > DATA_BYTES_MAX)
        causes_add(c, CAUSE_TOO_LONG, "[]", /* upstream's empty path */
                   NULL, "may not be more than %u bytes", DATA_BYTES_MAX);
    if (old != NULL)
        check_frozen(c, map, old);
}

static void
add_data(struct table_row *row)
{
    const struct json *tree = object_tree(row->object, row->arena);

    table_cell_int(row, (int64_t)json_count(json_get(tree, "data"))
                            + json_count(json_get(tree, "binaryData")));
}

static const struct table_column columns[] = {
    TABLE_NAME,
    COLUMN("Data", add_data, "How many entries it has.", EMPTY("0")),
    TABLE_AGE,
};
static const struct table table = {TABLE_COLUMNS(columns)};

static const struct right rights[] = {
    {BY_USERS, MAY_READ | MAY_WRITE, SUBRESOURCE_NONE, SCOPE_MEMBERS},
};

const struct kind config_map_kind = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .name = "ConfigMap",
    .list_name = "ConfigMapList",
    .plural = "configmaps",
    .singular = "configmap",
    .short_names = (const char *const[]){"cm", NULL},
    .flags = KIND_NAMESPACED | KIND_UNCONDITIONAL_UPDATE,
    .record = &config_map_record,
    .prepare = prepare,
    .validate = validate,
    .table = &table,
    KIND_RIGHTS(rights),
};
