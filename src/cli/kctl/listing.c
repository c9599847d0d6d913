/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/listing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/grid.h"
#include "cli/print/ink.h"
#include "lib/api/kind.h"
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

struct listing {
    struct listing_style style;
    const struct kind *kind;
    struct grid *grid;
    uint32_t shown[MAX_COLUMNS]; /* places in the server's table */
    size_t n_shown;
    bool has_printed;   /* the headings */
    struct strbuf text; /* of what is no table */
};

int
listing_form_parse(const char *text,
                   enum listing_form *ret_form,
                   struct error *err)
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

    if (text == NULL) {
        *ret_form = LISTING_TABLE;
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
        if (strcmp(forms[i].name, text) == 0) {
            *ret_form = forms[i].form;
            return 0;
        }
    return error_set(err,
                     -EINVAL,
                     "-o '%s' is none of wide, json, yaml and name",
                     text);
}

const char *
listing_accept(const struct listing_style *style)
{
    return style->form == LISTING_TABLE || style->form == LISTING_WIDE
               ? ACCEPT_TABLE
               : NULL;
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
    l->grid = grid_new(ink_is_wanted());
    strbuf_init(&l->text);
    return l;
}

/* Tables */

static bool
shows_namespace(const struct listing *l)
{
    return l->style.shows_namespace && (l->kind->flags & KIND_NAMESPACED) != 0;
}

static void
add_columns(struct listing *l, const struct json *definitions)
{
    if (grid_columns(l->grid) > 0)
        return;
    if (shows_namespace(l))
        grid_add_column(l->grid, "Namespace");
    for (uint32_t i = 0; i < json_count(definitions); i++) {
        const struct json *column = json_at(definitions, i);
        const char *name = json_get_text(column, "name");

        if (json_get_int(column, "priority", 0) > 0
            && l->style.form != LISTING_WIDE)
            continue;
        if (l->n_shown == MAX_COLUMNS)
            break;
        l->shown[l->n_shown++] = i;
        grid_add_column(l->grid, name != NULL ? name : "");
    }
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

        strbuf_printf(&text,
                      "%s%s=%s",
                      i > 0 ? "," : "",
                      labels->members[i].name,
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
    const char *texts[MAX_COLUMNS + 2];
    size_t n = 0;

    if (shows_namespace(l))
        texts[n++] = json_path_text(object, "metadata.namespace");
    for (size_t i = 0; i < l->n_shown; i++) {
        const char *text = cell_text(arena, json_at(cells, l->shown[i]));

        if (i == 0 && l->style.prefixes_kind)
            text = arena_printf(arena, "%s/%s", l->kind->singular, text);
        texts[n++] = text;
    }
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

/* Objects */

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
    default:
        strbuf_printf(&l->text,
                      "%s/%s\n",
                      l->kind->singular,
                      name != NULL ? name : "");
    }
}

/* A list is printed as it came where the form can hold one. */
static size_t
add_list(struct listing *l, const struct json *list)
{
    const struct json *items = json_get(list, "items");

    if (l->style.form != LISTING_NAMES)
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
        if (l->kind != &event_kind) /* which come by time */
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
