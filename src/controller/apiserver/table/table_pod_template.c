/* SPDX-License-Identifier: Apache-2.0 */
/* table_pod_template.c - the columns of pod templates */
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

static const struct table_column columns[] = {
    TABLE_NAME,
    {"Containers", "string", NULL, 0, "The names of its containers."},
    {"Images", "string", NULL, 0, "The images of its containers."},
    {"Pod Labels", "string", NULL, 0, "The labels its pods get."},
};

static void
add_each(struct table_row *row, const struct json *containers, const char *name)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (uint32_t i = 0; i < json_count(containers); i++) {
        const char *value = json_get_text(json_at(containers, i), name);

        strbuf_printf(&text,
                      "%s%s",
                      i > 0 ? "," : "",
                      value != NULL ? value : "");
    }
    table_cell(row, text.text);
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(((const struct json_member *)a)->name,
                  ((const struct json_member *)b)->name);
}

static void
add_labels(struct table_row *row,
           struct arena *arena,
           const struct json *labels)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    uint32_t count = json_count(labels);
    struct json_member *sorted;

    if (count == 0) {
        table_cell(row, "<none>");
        return;
    }
    sorted =
        arena_memdup(arena, labels->members, count * sizeof(*labels->members));
    qsort(sorted, count, sizeof(*sorted), by_name);
    for (uint32_t i = 0; i < count; i++)
        strbuf_printf(&text,
                      "%s%s=%s",
                      i > 0 ? "," : "",
                      sorted[i].name,
                      sorted[i].value->text);
    table_cell(row, text.text);
}

static void
add_cells(struct table_row *row, const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *template =
        json_get(object_tree(object, arena), "template");
    const struct json *containers = json_get_path(template, "spec.containers");

    table_cell(row, object->meta->name);
    add_each(row, containers, "name");
    add_each(row, containers, "image");
    add_labels(row, arena, json_get_path(template, "metadata.labels"));
}

const struct table pod_template_table = {
    .kind = &pod_template_kind,
    .columns = columns,
    .n_columns = ARRAY_SIZE(columns),
    .add_cells = add_cells,
};
