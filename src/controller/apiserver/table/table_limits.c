/* SPDX-License-Identifier: Apache-2.0 */
/* table_limits.c - the columns of disruption budgets and resource quotas */
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/table/table.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

static const struct table_column budget_columns[] = {
    TABLE_NAME,
    {"Min Available", "string", NULL, 0, "How many must stay."},
    {"Max Unavailable", "string", NULL, 0, "How many may be missing."},
    {"Allowed Disruptions", "integer", NULL, 0, "How many may go now."},
    TABLE_AGE,
};

/* A number, or a share such as "50%". */
static void
add_amount(struct table_row *row, const struct json *value)
{
    table_cell(row,
               json_is(value, JSON_STRING) || json_is(value, JSON_NUMBER)
                   ? value->text
                   : "N/A");
}

static void
add_budget_cells(struct table_row *row, const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *tree = object_tree(object, arena);

    table_cell(row, object->meta->name);
    add_amount(row, json_get_path(tree, "spec.minAvailable"));
    add_amount(row, json_get_path(tree, "spec.maxUnavailable"));
    table_cell_int(
        row,
        json_get_int(json_get(tree, "status"), "disruptionsAllowed", 0));
    table_cell_age(row, object->meta->created_at_us);
}

const struct table pod_disruption_budget_table = {
    .kind = &pod_disruption_budget_kind,
    .columns = budget_columns,
    .n_columns = ARRAY_SIZE(budget_columns),
    .add_cells = add_budget_cells,
};

static const struct table_column quota_columns[] = {
    TABLE_NAME,
    TABLE_AGE,
    {"Request", "string", NULL, 0, "What is used of what may be requested."},
    {"Limit", "string", NULL, 0, "What is used of what limits may add up to."},
};

static int
by_name(const void *a, const void *b)
{
    return strcmp(((const struct json_member *)a)->name,
                  ((const struct json_member *)b)->name);
}

static bool
is_limit(const char *resource)
{
    return strncmp(resource, "limits.", 7) == 0;
}

/* "pods: 3/100, requests.cpu: 1500m/4" */
static void
add_uses(struct table_row *row,
         const struct json_member *hard,
         uint32_t count,
         const struct json *used,
         bool of_limits)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (uint32_t i = 0; i < count; i++) {
        const char *use = json_get_text(used, hard[i].name);

        if (is_limit(hard[i].name) == of_limits)
            strbuf_printf(&text,
                          "%s%s: %s/%s",
                          text.length > 0 ? ", " : "",
                          hard[i].name,
                          use != NULL ? use : "0",
                          hard[i].value->text);
    }
    table_cell(row, text.text);
}

static void
add_quota_cells(struct table_row *row, const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *tree = object_tree(object, arena);
    const struct json *hard = json_get_path(tree, "status.hard");
    const struct json *used = json_get_path(tree, "status.used");
    uint32_t count = json_count(hard);
    struct json_member *sorted = NULL;

    if (count > 0) {
        sorted =
            arena_memdup(arena, hard->members, count * sizeof(*hard->members));
        qsort(sorted, count, sizeof(*sorted), by_name);
    }
    table_cell(row, object->meta->name);
    table_cell_age(row, object->meta->created_at_us);
    add_uses(row, sorted, count, used, false);
    add_uses(row, sorted, count, used, true);
}

const struct table resource_quota_table = {
    .kind = &resource_quota_kind,
    .columns = quota_columns,
    .n_columns = ARRAY_SIZE(quota_columns),
    .add_cells = add_quota_cells,
};
