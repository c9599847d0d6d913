/* SPDX-License-Identifier: Apache-2.0 */
/* The cells are the server's, so kctl and a browser show the same words; what is done here is
 * what needs all rows or the terminal: order, cutting to the last jobs, widths. Ends have
 * whole seconds, so equal ones are ordered by what is known beside them.
 */
#include "cli/kctl/output/job_list.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/kctl/output/job_column.h"
#include "cli/print/grid.h"
#include "cli/print/local_time.h"
#include "cli/print/sanitize_text.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/meta.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "lib/yaml/yaml.h"

#define MAX_CELLS 64

struct job_list {
    struct arena *arena;
    int cells[MAX_CELLS]; /* by column: the index in the server's table, or -1 */
    struct job_row *rows;
    size_t count, capacity;
};

/* ---- Rows ---- */

void
job_list_free(struct job_list *list)
{
    if (list == NULL)
        return;
    free(list->rows);
    free(list);
}

struct job_list *
job_list_new(struct arena *arena)
{
    struct job_list *list = xnew(struct job_list);

    list->arena = arena;
    return list;
}

static int
find_cell(const struct json *definitions, const char *name)
{
    for (uint32_t i = 0; name != NULL && i < json_count(definitions); i++) {
        const char *is = json_get_text(json_at(definitions, i), "name");

        if (is != NULL && strcmp(is, name) == 0)
            return (int)i;
    }
    return -1;
}

static const char *
cell_text(const struct json *cells, int place, struct arena *arena)
{
    const struct json *cell = place >= 0 ? json_at(cells, (uint32_t)place) : NULL;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (cell == NULL || json_is(cell, JSON_NULL))
        return "";
    if (json_is(cell, JSON_STRING))
        return cell->text;
    json_print(cell, &text);
    return arena_strdup(arena, text.text);
}

static const char *
text_of(const struct job_list *list, const struct json *cells, const char *name)
{
    return cell_text(cells, list->cells[job_column_named(name)], list->arena);
}

static int64_t
time_of(const char *text)
{
    int64_t us = 0;

    if (text == NULL || text[0] == '\0' || time_parse(text, &us) < 0)
        return 0;
    return us;
}

static struct job_row
read_row(const struct job_list *list, const struct json *cells, const struct json *object)
{
    const char *id = text_of(list, cells, "id");
    const struct json *annotations = json_get_path(object, "metadata.annotations");
    const char *name = json_get_text(annotations, ANNOTATION_JOB_NAME);
    const char *namespace = json_path_text(object, "metadata.namespace");
    const char *account = json_get_text(annotations, ANNOTATION_ACCOUNT);

    if (namespace == NULL)
    namespace = "";
    /* Annotations of other users' jobs are hidden, but the table has the name.
     */
    if (name == NULL)
        name = text_of(list, cells, "name");
    return (struct job_row){
        .id = strtoll(id, NULL, 10),
        .tasks = strchr(id, '_') != NULL ? id : NULL,
        .first_task = -1,
        .submitted_at_us = time_of(json_path_text(object, "metadata.creationTimestamp")),
        .ended_at_us = time_of(text_of(list, cells, "ended")),
        .namespace = namespace,
        .account = account != NULL ? account : namespace,
        .name = name != NULL ? name : "",
        .state = text_of(list, cells, "state"),
        .node = text_of(list, cells, "node"),
        .cells = cells,
        .object = object,
    };
}

static void
add_row(struct job_list *list, const struct job_row *row, job_row_fn *is_wanted, void *context)
{
    if (!is_wanted(row, context))
        return;
    xgrow(list->rows, list->count, list->capacity);
    list->rows[list->count++] = *row;
}

/* "1042_7", "1042_[7,9]" */
static int64_t
first_task_of(const char *tasks)
{
    const char *at = tasks != NULL ? strpbrk(tasks, "_") : NULL;

    if (at == NULL)
        return 0;
    at += 1 + (at[1] == '[');
    return strtoll(at, NULL, 10);
}

void
job_list_add(struct job_list *list, const struct json *table, bool by_objects,
             job_row_fn *is_wanted, void *context)
{
    const struct json *definitions = json_get(table, "columnDefinitions");
    const struct json *rows = json_get(table, "rows");

    /* Only the first page has definitions. */
    for (unsigned i = 0; job_column_at(i) != NULL && json_count(definitions) > 0; i++)
        list->cells[i] = find_cell(definitions, job_column_at(i)->cell);
    for (uint32_t i = 0; i < json_count(rows); i++) {
        const struct json *object = json_get(json_at(rows, i), "object");
        const struct json *tasks = json_get(json_at(rows, i), "tasks");
        struct job_row row = read_row(list, json_get(json_at(rows, i), "cells"), object);

        if (by_objects || json_count(tasks) == 0 || row.tasks != NULL)
            add_row(list, &row, is_wanted, context);
        for (uint32_t t = 0; !by_objects && t < json_count(tasks); t++) {
            row = read_row(list, json_get(json_at(tasks, t), "cells"), object);
            row.first_task = first_task_of(row.tasks);
            add_row(list, &row, is_wanted, context);
        }
    }
}

/* Jobs submitted in the same second are sorted by id. */
static int
compare(const void *a, const void *b)
{
    const struct job_row *x = a;
    const struct job_row *y = b;

    if (x->submitted_at_us != y->submitted_at_us)
        return x->submitted_at_us < y->submitted_at_us ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->first_task != y->first_task)
        return x->first_task < y->first_task ? -1 : 1;
    return strcmp(x->name, y->name);
}

void
job_list_sort(struct job_list *list)
{
    if (list->count > 1)
        qsort(list->rows, list->count, sizeof(*list->rows), compare);
}

void
job_list_keep_last(struct job_list *list, size_t count)
{
    if (list->count <= count)
        return;
    memmove(list->rows, list->rows + (list->count - count), count * sizeof(*list->rows));
    list->count = count;
}

static int
compare_ends(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;

    return (x < y) - (x > y);
}

/* Ends have whole seconds: of several in the oldest second that is kept, the
 * jobs submitted first are dropped.
 */
void
job_list_keep_last_ended(struct job_list *list, size_t count)
{
    CLEANUP_FREE int64_t *ends = xnew_array(int64_t, list->count + 1);
    size_t n_ended = 0, n_kept = 0, n_tied = 0;
    int64_t oldest;

    for (size_t i = 0; i < list->count; i++)
        if (list->rows[i].ended_at_us > 0)
            ends[n_ended++] = list->rows[i].ended_at_us;
    if (n_ended <= count || count == 0)
        return;
    qsort(ends, n_ended, sizeof(*ends), compare_ends);
    oldest = ends[count - 1];
    for (size_t i = count; i < n_ended && ends[i] == oldest; i++)
        n_tied++;
    for (size_t i = 0; i < list->count; i++) {
        const int64_t ended = list->rows[i].ended_at_us;

        if (ended > 0 && ended < oldest)
            continue;
        if (ended == oldest && n_tied > 0) {
            n_tied--;
            continue;
        }
        list->rows[n_kept++] = list->rows[i];
    }
    list->count = n_kept;
}

size_t
job_list_count(const struct job_list *list)
{
    return list->count;
}

const struct job_row *
job_list_row(const struct job_list *list, size_t at)
{
    return &list->rows[at];
}

/* ---- Text ---- */

static const char *
format_point(const char *text, struct arena *arena)
{
    const int64_t us = time_of(text);
    char out[LOCAL_TIME_SIZE];

    if (us == 0)
        return "";
    local_time_format(us, out);
    return arena_strdup(arena, out);
}

static const char *
format_time_and_limit(const struct job_list *list, const struct job_row *row, struct arena *arena)
{
    const char *time = text_of(list, row->cells, "time");
    const char *limit = text_of(list, row->cells, "limit");

    return arena_printf(arena, "%s/%s", time[0] != '\0' ? time : "-",
                        limit[0] != '\0' && strcmp(limit, "none") != 0 ? limit : "-");
}

/* "15:17", "~Nov 24 08:00"; "-" for a waiting job without a known time. Outside
 * a table it is the complete time, or "".
 */
static const char *
format_start(const struct job_list *list, const struct job_row *row, bool is_brief,
             struct arena *arena)
{
    const char *text = text_of(list, row->cells, "start");
    const enum job_state state = job_state_of_name(row->state);
    const bool is_assumed = text[0] == '~';
    const int64_t us = time_of(text + is_assumed);
    char out[LOCAL_TIME_SIZE];

    if (us == 0)
        return is_brief && state != JOB_STATE_NONE && list->cells[job_column_named("start")] >= 0
                       && job_state_words(state)->class == JOB_STATE_WAITS
                   ? "-"
                   : "";
    if (is_brief)
        local_time_format_minute(us, clock_real_us(&clock_system), out);
    else
        local_time_format(us, out);
    return arena_printf(arena, "%s%s", is_assumed ? "~" : "", out);
}

/* A running job shows its node, a waiting one its reason, a failed one both. */
static const char *
format_where(const struct job_list *list, const struct job_row *row, struct arena *arena)
{
    const enum job_state state = job_state_of_name(row->state);
    const char *reason = text_of(list, row->cells, "reason");
    const enum job_state_class class = job_state_words(state)->class;

    if (state == JOB_STATE_NONE || class == JOB_STATE_WAITS)
        return reason[0] != '\0' ? reason : row->node;
    if (reason[0] == '\0' || class == JOB_STATE_GOOD_END)
        return row->node;
    if (row->node[0] == '\0')
        return reason;
    return arena_printf(arena, "%s: %s", row->node, reason);
}

static const char *
format_cell(const struct job_list *list, const struct job_row *row, unsigned column,
            struct arena *arena)
{
    const struct job_column *c = job_column_at(column);
    const char *text = cell_text(row->cells, list->cells[column], arena);
    char point[LOCAL_TIME_SIZE];

    switch (c->making) {
    case JOB_COLUMN_NAME:
        return row->name;
    case JOB_COLUMN_ACCOUNT:
        return row->account;
    case JOB_COLUMN_TIME_AND_LIMIT:
        return format_time_and_limit(list, row, arena);
    case JOB_COLUMN_WHERE:
        return format_where(list, row, arena);
    case JOB_COLUMN_CODE:
        return job_state_words(job_state_of_name(row->state))->code;
    case JOB_COLUMN_POINT:
        return format_point(text, arena);
    case JOB_COLUMN_START:
        return format_start(list, row, false, arena);
    case JOB_COLUMN_SUBMITTED:
        if (row->submitted_at_us == 0)
            return "";
        local_time_format(row->submitted_at_us, point);
        return arena_strdup(arena, point);
    default:
        return text;
    }
}

const char *
job_list_signature(const struct job_list *list, size_t at, struct arena *arena)
{
    const struct job_row *row = &list->rows[at];

    return arena_printf(arena, "%s %s %s", row->state, row->node,
                        text_of(list, row->cells, "reason"));
}

/* Cuts the expected time, because the column START shows it. */
static const char *
without_from(const char *words, struct arena *arena)
{
    const char *from = strstr(words, ", from about ");

    return from != NULL ? arena_printf(arena, "%.*s", (int)(from - words), words) : words;
}

static bool
has_start(const struct job_list_style *style)
{
    const unsigned start = job_column_named("start");

    for (size_t i = 0; i < style->n_columns; i++)
        if (style->columns[i] == start)
            return true;
    return false;
}

static void
add_table_row(const struct job_list *list, size_t at, const struct job_list_style *style,
              struct grid *grid)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct job_row *row = &list->rows[at];
    const char *texts[JOB_LIST_MAX_COLUMNS];

    for (size_t i = 0; i < style->n_columns; i++) {
        const enum job_column_making making = job_column_at(style->columns[i])->making;

        texts[i] = making == JOB_COLUMN_START ? format_start(list, row, true, arena)
                                              : format_cell(list, row, style->columns[i], arena);
        if (making == JOB_COLUMN_WHERE && has_start(style)
            && text_of(list, row->cells, "start")[0] != '\0')
            texts[i] = without_from(texts[i], arena);
    }
    grid_add_row(grid, texts);
}

static struct grid *
make_grid(const struct job_list_style *style)
{
    struct grid *grid = grid_new(style->has_colours);

    for (size_t i = 0; i < style->n_columns; i++) {
        const struct job_column *c = job_column_at(style->columns[i]);

        grid_add_styled(grid, &(struct grid_column){
                                  .name = c->heading,
                                  .is_right = c->is_right,
                                  .least = style->is_cut ? c->least : 0,
                                  .weight = style->is_cut ? c->weight : 0,
                                  .is_spare = style->is_of_one && strcmp(c->name, "user") == 0,
                              });
    }
    grid_set_gap(grid, 2);
    if (style->is_cut)
        grid_set_width(grid, style->width);
    return grid;
}

/* For programs, times have a zone: UTC. */
static const char *
format_csv_cell(const struct job_list *list, const struct job_row *row, unsigned column,
                struct arena *arena)
{
    char point[TIME_TEXT_SIZE];

    switch (job_column_at(column)->making) {
    case JOB_COLUMN_POINT:
    case JOB_COLUMN_START:
        return cell_text(row->cells, list->cells[column], arena);
    case JOB_COLUMN_SUBMITTED:
        if (row->submitted_at_us == 0)
            return "";
        time_format(row->submitted_at_us, false, point);
        return arena_strdup(arena, point);
    default:
        return format_cell(list, row, column, arena);
    }
}

static void
print_csv(const struct job_list *list, const struct job_list_style *style, struct strbuf *out)
{
    if (!style->no_headings)
        for (size_t i = 0; i < style->n_columns; i++)
            strbuf_printf(out, "%s%s", job_column_at(style->columns[i])->name,
                          i + 1 < style->n_columns ? "," : "\n");
    for (size_t at = 0; at < list->count; at++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);

        for (size_t i = 0; i < style->n_columns; i++) {
            const unsigned column = style->columns[i];

            if (i > 0)
                strbuf_add_char(out, ',');
            sanitize_text_add_csv(format_csv_cell(list, &list->rows[at], column, arena), out);
        }
        strbuf_add_char(out, '\n');
    }
}

static void
print_tree(const struct job_list *list, enum job_list_form form, struct strbuf *out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *tree = json_object(arena), *items = json_array(arena);

    json_set_string(arena, tree, "apiVersion", "v1");
    json_set(arena, tree, "items", items);
    json_set_string(arena, tree, "kind", "List");
    for (size_t i = 0; i < list->count; i++) {
        const struct json *object = list->rows[i].object;
        struct json *whole = json_object(arena);

        json_set_string(arena, whole, "apiVersion", "batch/v1");
        json_set_string(arena, whole, "kind", "Job");
        for (uint32_t m = 0; m < json_count(object); m++)
            json_set(arena, whole, object->members[m].name, object->members[m].value);
        json_append(arena, items, whole);
    }
    if (form == JOB_LIST_YAML) {
        yaml_print(tree, out);
        return;
    }
    json_print_indented(tree, out);
    strbuf_add_char(out, '\n');
}

static void
print_names(const struct job_list *list, struct strbuf *out)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct job_row *row = &list->rows[i];
        const char *name = json_path_text(row->object, "metadata.name");

        if (row->tasks != NULL && strstr(row->tasks, "...") == NULL)
            strbuf_printf(out, "job/%s\n", row->tasks);
        else if (row->id > 0)
            strbuf_printf(out, "job/%lld\n", (long long)row->id);
        else
            strbuf_printf(out, "job/%s\n", name != NULL ? name : "");
    }
}

void
job_list_print(const struct job_list *list, const struct job_list_style *style, struct strbuf *out)
{
    if (style->form == JOB_LIST_TABLE) {
        CLEANUP(grid_freep) struct grid *grid = make_grid(style);

        for (size_t i = 0; i < list->count; i++)
            add_table_row(list, i, style, grid);
        grid_print(grid, !style->no_headings, out);
    } else if (style->form == JOB_LIST_CSV)
        print_csv(list, style, out);
    else if (style->form == JOB_LIST_NAMES)
        print_names(list, out);
    else
        print_tree(list, style->form, out);
}

void
job_list_print_row(const struct job_list *list, size_t at, const struct job_list_style *style,
                   struct strbuf *out)
{
    CLEANUP(grid_freep) struct grid *grid = make_grid(style);

    add_table_row(list, at, style, grid);
    grid_print(grid, false, out);
}
