/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/listing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/output/jsonpath.h"
#include "cli/kctl/output/jsonpath_template.h"
#include "cli/print/grid.h"
#include "cli/print/terminal.h"
#include "cli/print/terminal_colour.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/yaml/yaml.h"

/* Without profile=kiln a table is exactly upstream's; doc/decisions.md 14. */
#define ACCEPT_TABLE                                             \
    "application/json;as=Table;v=v1;g=meta.k8s.io;profile=kiln," \
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
#define MAX_COLUMNS 64
#define LEAST_PROSE 6
#define LEAST_NAME  16

struct listing {
    struct listing_style style;
    const struct kind *kind;
    struct grid *grid;
    uint32_t shown[MAX_COLUMNS]; /* indexes in the server's table */
    size_t n_shown;
    bool has_printed;   /* the headings */
    struct strbuf text; /* of forms other than tables */
};

/* Reads one column of "NODE:.spec.nodeName,..."; false: there are no more. */
static bool
next_column(const char **at, struct arena *arena, const char **ret_heading, const char **ret_path)
{
    const char *start = *at;
    const char *end = start;
    const char *colon;
    unsigned depth = 0;

    if (*start == '\0')
        return false;
    for (; *end != '\0' && (*end != ',' || depth > 0); end++)
        depth += (*end == '[') - (*end == ']' && depth > 0);
    colon = memchr(start, ':', (size_t)(end - start));
    *ret_heading = arena_strndup(arena, start, (size_t)((colon != NULL ? colon : end) - start));
    *ret_path = colon != NULL ? arena_strndup(arena, colon + 1, (size_t)(end - colon - 1)) : "";
    *at = *end == ',' ? end + 1 : end;
    return true;
}

static int
check_columns(const char *text, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *heading, *path;

    if (*text == '\0')
        return error_set(err, -EINVAL, "-o custom-columns needs HEADING:PATH,...");
    while (next_column(&text, arena, &heading, &path)) {
        struct jsonpath_values none = {0};
        int r;

        if (heading[0] == '\0' || path[0] == '\0')
            return error_set(err, -EINVAL,
                             "-o custom-columns: '%s' is not HEADING:PATH, "
                             "such as NODE:.spec.nodeName",
                             heading);
        r = jsonpath_find(path, NULL, arena, &none, err);
        if (r < 0)
            return error_wrap(err, r, "-o custom-columns");
    }
    return 0;
}

static int
check_template(const char *text, struct error *err)
{
    CLEANUP_STRBUF struct strbuf none = STRBUF_INIT;
    int r = jsonpath_template_print(text, NULL, &none, err);

    return r < 0 ? error_wrap(err, r, "-o") : 0;
}

static bool
has_prefix(const char *text, const char *prefix, const char **ret_rest)
{
    const size_t n = strlen(prefix);

    if (strncmp(text, prefix, n) != 0)
        return false;
    *ret_rest = text + n;
    return true;
}

int
listing_style_parse(const char *text, struct listing_style *style, struct error *err)
{
    static const struct {
        const char *name;
        enum listing_form form;
    } forms[] = {
        {"wide", LISTING_WIDE},
        {"json", LISTING_JSON},
        {"yaml", LISTING_YAML},
        {"name", LISTING_NAMES},
    };

    style->form = LISTING_TABLE;
    if (text == NULL)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
        if (strcmp(forms[i].name, text) == 0) {
            style->form = forms[i].form;
            return 0;
        }
    if (has_prefix(text, "jsonpath=", &style->argument)) {
        style->form = LISTING_TEMPLATE;
        return check_template(style->argument, err);
    }
    if (has_prefix(text, "custom-columns=", &style->argument)) {
        style->form = LISTING_COLUMNS;
        return check_columns(style->argument, err);
    }
    return error_set(err, -EINVAL,
                     "-o '%s' is not one of wide, json, yaml, name, "
                     "jsonpath=TEMPLATE and custom-columns=HEADING:PATH,...",
                     text);
}

const char *
listing_accept(const struct listing_style *style)
{
    return style->form == LISTING_TABLE || style->form == LISTING_WIDE ? ACCEPT_TABLE : NULL;
}

void
listing_free(struct listing *l)
{
    if (l == NULL)
        return;
    grid_free(l->grid);
    strbuf_fini(&l->text);
    free(l);
}

struct listing *
listing_new(const struct listing_style *style, const struct kind *kind)
{
    struct listing *l = xnew(struct listing);

    l->style = *style;
    l->kind = kind;
    l->grid = grid_new(terminal_colour_is_wanted());
    if (style->form == LISTING_TABLE)
        grid_set_width(l->grid, terminal_width());
    strbuf_init(&l->text);
    return l;
}

/* ---- Tables ---- */

static bool
shows_namespace(const struct listing *l)
{
    return l->style.shows_namespace && (l->kind->flags & KIND_NAMESPACED) != 0;
}

/* Reads one of "rack,kiln.hpc/partition"; `at` is NULL after the last. */
static const char *
next_label(const char **at, struct arena *arena)
{
    const char *start = *at;
    const size_t length = strcspn(start, ",");

    *at = start[length] == ',' ? start + length + 1 : NULL;
    return arena_strndup(arena, start, length);
}

static const char *
label_heading(const char *label)
{
    const char *slash = strrchr(label, '/');

    return slash != NULL ? slash + 1 : label;
}

/* The width to which the column may be cut on a narrow terminal; 0: not before
 * columns would be lost. A name that a user might copy is cut later than text
 * for people.
 */
static unsigned
least_width(const struct json *column)
{
    static const char *const names[] = {"Message", "Name",      "Reason", "Status",
                                        "User",    "Partition", "Users",  "Holder"};
    const char *name = json_get_text(column, "name");
    const char *format = json_get_text(column, "format");

    if (format != NULL && strcmp(format, "name") == 0)
        return LEAST_NAME;
    if (name == NULL || (format != NULL && format[0] != '\0'))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(names[i], name) == 0)
            return LEAST_PROSE;
    return 0;
}

static void
add_columns(struct listing *l, const struct json *definitions)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    if (grid_columns(l->grid) > 0)
        return;
    if (shows_namespace(l))
        grid_add_column(l->grid, "Namespace");
    for (uint32_t i = 0; i < json_count(definitions); i++) {
        const struct json *column = json_at(definitions, i);
        const char *name = json_get_text(column, "name");

        if (json_get_int(column, "priority", 0) > 0 && l->style.form != LISTING_WIDE)
            continue;
        if (l->n_shown == MAX_COLUMNS)
            break;
        l->shown[l->n_shown++] = i;
        grid_add_styled(l->grid, &(struct grid_column){
                                     .name = name != NULL ? name : "",
                                     .least = least_width(column),
                                 });
    }
    for (const char *at = l->style.label_columns; at != NULL;)
        grid_add_column(l->grid, label_heading(next_label(&at, arena)));
    if (l->style.shows_labels)
        grid_add_column(l->grid, "Labels");
}

static const char *
cell_text(struct arena *arena, const struct json *cell)
{
    struct strbuf text = STRBUF_INIT;
    const char *copy;

    if (cell == NULL || json_is(cell, JSON_NULL))
        return "";
    if (json_is(cell, JSON_STRING))
        return cell->text;
    json_print(cell, &text);
    copy = arena_strdup(arena, text.text);
    strbuf_fini(&text);
    return copy;
}

static const char *
labels_text(struct arena *arena, const struct json *object)
{
    const struct json *labels = json_get_path(object, "metadata.labels");
    struct strbuf text = STRBUF_INIT;
    const char *copy;

    for (uint32_t i = 0; i < json_count(labels); i++) {
        const char *value = json_text(labels->members[i].value);

        strbuf_printf(&text, "%s%s=%s", i > 0 ? "," : "", labels->members[i].name,
                      value != NULL ? value : "");
    }
    copy = text.length > 0 ? arena_strdup(arena, text.text) : "<none>";
    strbuf_fini(&text);
    return copy;
}

static void
add_row(struct listing *l, const struct json *row)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *cells = json_get(row, "cells");
    const struct json *object = json_get(row, "object");
    const char *texts[2 * MAX_COLUMNS + 2];
    size_t n = 0;

    if (shows_namespace(l))
        texts[n++] = json_path_text(object, "metadata.namespace");
    for (size_t i = 0; i < l->n_shown; i++) {
        const char *text = cell_text(arena, json_at(cells, l->shown[i]));

        if (i == 0 && l->style.prefixes_kind)
            text = arena_printf(arena, "%s/%s", l->kind->singular, text);
        texts[n++] = text;
    }
    for (const char *at = l->style.label_columns; at != NULL && n < 2 * MAX_COLUMNS;)
        texts[n++] =
            json_get_text(json_get_path(object, "metadata.labels"), next_label(&at, arena));
    if (l->style.shows_labels)
        texts[n++] = labels_text(arena, object);
    grid_add_row(l->grid, texts);
}

static size_t
add_table(struct listing *l, const struct json *table)
{
    const struct json *rows = json_get(table, "rows");

    add_columns(l, json_get(table, "columnDefinitions"));
    for (uint32_t i = 0; i < json_count(rows); i++)
        add_row(l, json_at(rows, i));
    return json_count(rows);
}

/* ---- Custom columns ---- */

static const char *
values_text(struct arena *arena, const struct jsonpath_values *values)
{
    struct strbuf text = STRBUF_INIT;
    const char *copy = "<none>";

    for (size_t i = 0; i < values->count; i++) {
        if (i > 0)
            strbuf_add_char(&text, ',');
        jsonpath_print_value(values->items[i], &text);
    }
    if (text.length > 0)
        copy = arena_strdup(arena, text.text);
    strbuf_fini(&text);
    return copy;
}

static void
add_object_row(struct listing *l, const struct json *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const bool is_first = grid_columns(l->grid) == 0;
    const char *at = l->style.argument;
    const char *texts[MAX_COLUMNS];
    const char *heading, *path;
    size_t n = 0;

    while (n < MAX_COLUMNS && next_column(&at, arena, &heading, &path)) {
        struct jsonpath_values values = {0};

        if (is_first)
            grid_add_column(l->grid, heading);
        jsonpath_find(path, object, arena, &values, NULL);
        texts[n++] = values_text(arena, &values);
    }
    grid_add_row(l->grid, texts);
}

/* ---- Objects ---- */

static void
add_object(struct listing *l, const struct json *object)
{
    const char *name = json_path_text(object, "metadata.name");

    switch (l->style.form) {
    case LISTING_JSON:
        json_print_indented(object, &l->text);
        strbuf_add_char(&l->text, '\n');
        break;
    case LISTING_YAML:
        if (l->has_printed || l->text.length > 0)
            strbuf_add_text(&l->text, "---\n");
        yaml_print(object, &l->text);
        break;
    case LISTING_TEMPLATE:
        jsonpath_template_print(l->style.argument, object, &l->text, NULL);
        break;
    case LISTING_COLUMNS:
        add_object_row(l, object);
        break;
    default:
        strbuf_printf(&l->text, "%s/%s\n", l->kind->singular, name != NULL ? name : "");
    }
}

/* A list is printed unchanged if the form can contain one. */
static size_t
add_list(struct listing *l, const struct json *list)
{
    const struct json *items = json_get(list, "items");

    if (l->style.form != LISTING_NAMES && l->style.form != LISTING_COLUMNS)
        add_object(l, list);
    else
        for (uint32_t i = 0; i < json_count(items); i++)
            add_object(l, json_at(items, i));
    return json_count(items);
}

size_t
listing_add(struct listing *l, const struct json *answer)
{
    const char *kind = json_get_text(answer, "kind");

    if (kind != NULL && strcmp(kind, "Table") == 0)
        return add_table(l, answer);
    if (json_is(json_get(answer, "items"), JSON_ARRAY))
        return add_list(l, answer);
    add_object(l, answer);
    return 1;
}

void
listing_print(struct listing *l)
{
    if (grid_rows(l->grid) > 0) {
        if (l->kind != &event_kind /* events are sorted by time */
            && !l->style.keeps_order && l->style.form != LISTING_COLUMNS)
            grid_sort(l->grid, shows_namespace(l) ? 2 : 1);
        grid_print(l->grid, !l->has_printed && !l->style.no_headings, &l->text);
        grid_clear(l->grid);
    }
    if (l->text.length == 0)
        return;
    fwrite(l->text.text, 1, l->text.length, stdout);
    strbuf_truncate(&l->text, 0);
    l->has_printed = true;
}
