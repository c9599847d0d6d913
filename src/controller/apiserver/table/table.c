/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/table/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/request/frame.h"
#include "controller/apiserver/request/view.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECOND_US 1000000

/* All there are, one a line: NAME is the table NAME_table. */
#define TABLES                    \
    KNOW(config_map)              \
    KNOW(event)                   \
    KNOW(job)                     \
    KNOW(lease)                   \
    KNOW(namespace)               \
    KNOW(node)                    \
    KNOW(node_metrics)            \
    KNOW(persistent_volume)       \
    KNOW(persistent_volume_claim) \
    KNOW(pod)                     \
    KNOW(pod_disruption_budget)   \
    KNOW(pod_metrics)             \
    KNOW(pod_template)            \
    KNOW(priority_class)          \
    KNOW(resource_quota)          \
    KNOW(storage_class)

#define KNOW(name) extern const struct table name##_table;
TABLES
#undef KNOW

#define KNOW(name) &name##_table,
static const struct table *const tables[] = {TABLES};
#undef KNOW

/* Where Kiln's columns differ from upstream's. */
extern const struct table job_kiln_table;
extern const struct table node_kiln_table;
extern const struct table pod_kiln_table;
static const struct table *const kiln_tables[] = {
    &job_kiln_table,
    &node_kiln_table,
    &pod_kiln_table,
};

static const struct table_column plain_columns[] = {TABLE_NAME, TABLE_AGE};

static void
add_plain_cells(struct table_row *row, const struct object *object)
{
    table_cell(row, object->meta->name);
    table_cell_age(row, object->meta->created_at_us);
}

/* Of kinds that have no columns of their own. */
static const struct table plain_table = {
    .columns = plain_columns,
    .n_columns = ARRAY_SIZE(plain_columns),
    .add_cells = add_plain_cells,
};

static const struct table *
find_table(const struct view *view, const struct kind *shown)
{
    const struct kind *kind = kind_stored(shown);

    if (view->accept.is_kiln)
        for (unsigned i = 0; i < ARRAY_SIZE(kiln_tables); i++)
            if (kiln_tables[i]->kind == kind)
                return kiln_tables[i];
    for (unsigned i = 0; i < ARRAY_SIZE(tables); i++)
        if (tables[i]->kind == kind)
            return tables[i];
    return &plain_table;
}

static void
add_column(struct strbuf *text, const struct table_column *column)
{
    strbuf_printf(text,
                  "{\"name\":\"%s\",\"type\":\"%s\",\"format\":\"%s\","
                  "\"description\":",
                  column->name,
                  column->type,
                  column->format != NULL ? column->format : "");
    json_print_string(column->help, strlen(column->help), text);
    strbuf_printf(text, ",\"priority\":%d}", column->priority);
}

void
table_add_columns(struct frame *out,
                  const struct view *view,
                  const struct kind *kind,
                  bool are_wanted)
{
    const struct table *table = find_table(view, kind);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (!are_wanted) {
        frame_add(out, "\"columnDefinitions\":null");
        return;
    }
    strbuf_add_text(&text, "\"columnDefinitions\":[");
    for (unsigned i = 0; i < table->n_columns; i++) {
        if (i > 0)
            strbuf_add_char(&text, ',');
        add_column(&text, &table->columns[i]);
    }
    strbuf_add_char(&text, ']');
    frame_add_bytes(out, text.text, text.length);
}

void
table_begin_row(struct frame *out,
                const struct view *view,
                const struct object *object)
{
    const struct table *table = find_table(view, object->kind);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct table_row row = {.view = view, .text = &text};

    strbuf_add_text(&text, "{\"cells\":[");
    table->add_cells(&row, object);
    strbuf_add_char(&text, ']');
    if (table->add_conditions != NULL)
        table->add_conditions(&text, object);
    frame_add_bytes(out, text.text, text.length);
}

static void
add_empty_cells(struct frame *out, const struct table *table)
{
    frame_add(out, "{\"cells\":[");
    for (unsigned i = 0; i < table->n_columns; i++) {
        const struct table_column *c = &table->columns[i];

        if (i > 0)
            frame_add(out, ",");
        frame_add(out,
                  strcmp(c->type, "integer") == 0   ? "0"
                  : strcmp(c->type, "boolean") == 0 ? "false"
                  : strcmp(c->name, "Age") == 0     ? "\"<unknown>\""
                                                    : "\"\"");
    }
    frame_add(out, "]");
}

/* As upstream prints an object that says nothing, where its cells need no
 * more than itself.
 */
void
table_begin_empty_row(struct frame *out,
                      const struct view *view,
                      const struct kind *kind)
{
    const struct kind *stored = kind_stored(kind);
    CLEANUP(arena_freep) struct arena *arena = NULL;
    CLEANUP(object_unrefp) const struct object *empty = NULL;
    struct json *tree;

    if (stored != &config_map_kind) {
        add_empty_cells(out, find_table(view, kind));
        return;
    }
    arena = arena_new(0);
    tree = json_object(arena);
    record_normalize(stored->record, arena, tree, NULL, NULL);
    empty = object_new(stored, tree);
    table_begin_row(out, view, empty);
}

static void
separate(struct table_row *row)
{
    if (row->count++ > 0)
        strbuf_add_char(row->text, ',');
}

void
table_cell(struct table_row *row, const char *text)
{
    separate(row);
    if (text == NULL)
        text = "";
    json_print_string(text, strlen(text), row->text);
}

void
table_cell_int(struct table_row *row, int64_t value)
{
    separate(row);
    strbuf_printf(row->text, "%" PRId64, value);
}

void
table_cell_bool(struct table_row *row, bool value)
{
    separate(row);
    strbuf_add_text(row->text, value ? "true" : "false");
}

void
table_cell_age(struct table_row *row, int64_t since_us)
{
    char text[TABLE_DURATION_SIZE];

    if (since_us == 0) {
        table_cell(row, "<unknown>");
        return;
    }
    table_format_duration(row->view->now_us - since_us, text);
    table_cell(row, text);
}

/* Two units while the first is small, one when it is not. */
static void
format_two(char out[TABLE_DURATION_SIZE],
           int64_t first,
           char unit,
           int64_t rest,
           char rest_unit)
{
    if (rest == 0)
        snprintf(out, TABLE_DURATION_SIZE, "%" PRId64 "%c", first, unit);
    else
        snprintf(out,
                 TABLE_DURATION_SIZE,
                 "%" PRId64 "%c%" PRId64 "%c",
                 first,
                 unit,
                 rest,
                 rest_unit);
}

void
table_format_duration(int64_t us, char out[TABLE_DURATION_SIZE])
{
    int64_t s = us / SECOND_US;
    int64_t m = s / 60, h = s / 3600, d = s / 86400;

    if (s < -1)
        snprintf(out, TABLE_DURATION_SIZE, "<invalid>");
    else if (s < 0)
        snprintf(out, TABLE_DURATION_SIZE, "0s");
    else if (s < 120)
        format_two(out, s, 's', 0, 0);
    else if (m < 10)
        format_two(out, m, 'm', s % 60, 's');
    else if (m < 180)
        format_two(out, m, 'm', 0, 0);
    else if (h < 8)
        format_two(out, h, 'h', m % 60, 'm');
    else if (h < 48)
        format_two(out, h, 'h', 0, 0);
    else if (h < 192)
        format_two(out, d, 'd', h % 24, 'h');
    else if (d < 2 * 365)
        format_two(out, d, 'd', 0, 0);
    else if (d < 8 * 365)
        format_two(out, d / 365, 'y', d % 365, 'd');
    else
        format_two(out, d / 365, 'y', 0, 0);
}
