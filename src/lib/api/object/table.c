/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define SECOND_US 1000000

void
table_add_cells(const struct table *table, struct table_row *row)
{
    table_add_cells_of(table, row, table->summarize != NULL ? table->summarize(row) : NULL);
}

void
table_add_cells_of(const struct table *table, struct table_row *row, const void *summary)
{
    row->summary = summary;
    row->count = 0;
    for (unsigned i = 0; i < table->n_columns; i++)
        table->columns[i].cell(row);
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
    table_format_duration(row->now_us - since_us, text);
    table_cell(row, text);
}

void
table_add_name(struct table_row *row)
{
    table_cell(row, row->object->meta->name);
}

void
table_add_age(struct table_row *row)
{
    table_cell_age(row, row->object->meta->created_at_us);
}

const void *
table_tree(struct table_row *row)
{
    return object_tree(row->object, row->arena);
}

bool
table_reads_whole(const struct table_row *row)
{
    return row->access != NULL && row->access->reads_whole(row->access, row->object);
}

void
table_visit(const struct table_row *row, const struct kind *kind, unsigned index, const char *value,
            bool (*visit)(const struct object *object, void *context), void *context)
{
    if (row->access != NULL)
        row->access->visit(row->access, kind, index, value, visit, context);
}

const struct object *
table_find(const struct table_row *row, const struct kind *kind, const char *namespace,
           const char *name)
{
    return row->access != NULL ? row->access->find(row->access, kind, namespace, name) : NULL;
}

/* Writes one or two units; the second one only if it is not 0. */
static void
format_two(char out[TABLE_DURATION_SIZE], int64_t first, char unit, int64_t rest, char rest_unit)
{
    if (rest == 0)
        snprintf(out, TABLE_DURATION_SIZE, "%" PRId64 "%c", first, unit);
    else
        snprintf(out, TABLE_DURATION_SIZE, "%" PRId64 "%c%" PRId64 "%c", first, unit, rest,
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
