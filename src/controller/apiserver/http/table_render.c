/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/http/table_render.h"

#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/request/frame.h"
#include "controller/apiserver/request/view.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/table.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

static const struct table_column plain_columns[] = {TABLE_NAME, TABLE_AGE};

/* For kinds that have no columns of their own. */
static const struct table plain_table = {TABLE_COLUMNS(plain_columns)};

/* Lets cells ask for the principal's rights and for other objects. */
struct view_access {
    struct table_access access;
    const struct view *view;
};

static bool
reads_whole(const struct table_access *access, const struct object *object)
{
    const struct view_access *a = (const struct view_access *)access;

    return authorization_reads_whole(a->view->principal, object);
}

static void
visit_index(const struct table_access *access, const struct kind *kind, unsigned index,
            const char *value, bool (*visit)(const struct object *object, void *context),
            void *context)
{
    const struct view_access *a = (const struct view_access *)access;

    if (a->view->store != NULL)
        store_visit_index(a->view->store, kind, index, STORE_PUBLISHED, value, visit, context);
}

static const struct object *
find(const struct table_access *access, const struct kind *kind, const char *namespace,
     const char *name)
{
    const struct view_access *a = (const struct view_access *)access;

    return a->view->store != NULL
               ? store_find(a->view->store, STORE_PUBLISHED, kind, namespace, name)
               : NULL;
}

static const struct table *
find_table(const struct view *view, const struct kind *shown)
{
    const struct kind *kind = kind_stored(shown);

    if (view->accept.is_kiln && kind->kiln_table != NULL)
        return kind->kiln_table;
    return kind->table != NULL ? kind->table : &plain_table;
}

static void
add_column(struct strbuf *text, const struct table_column *column)
{
    static const char *const types[] = {
        [TABLE_STRING] = "string",
        [TABLE_INTEGER] = "integer",
        [TABLE_BOOLEAN] = "boolean",
    };

    strbuf_printf(text,
                  "{\"name\":\"%s\",\"type\":\"%s\",\"format\":\"%s\","
                  "\"description\":",
                  column->name, types[column->type], column->format != NULL ? column->format : "");
    json_print_string(column->help, strlen(column->help), text);
    strbuf_printf(text, ",\"priority\":%d}", column->priority);
}

void
table_render_columns(struct frame *out, const struct view *view, const struct kind *kind,
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
table_render_row(struct frame *out, const struct view *view, const struct object *object)
{
    const struct table *table = find_table(view, object->kind);
    const struct view_access access = {
        .access = {.reads_whole = reads_whole, .visit = visit_index, .find = find},
        .view = view,
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct table_row row = {
        .object = object,
        .arena = arena,
        .now_us = view->now_us,
        .east_s = view->east_s,
        .access = &access.access,
        .text = &text,
    };

    strbuf_add_text(&text, "{\"cells\":[");
    table_add_cells(table, &row);
    strbuf_add_char(&text, ']');
    if (table->add_tasks != NULL)
        table->add_tasks(&row);
    if (table->add_conditions != NULL)
        table->add_conditions(&text, object);
    frame_add_bytes(out, text.text, text.length);
}

void
table_render_empty_row(struct frame *out, const struct view *view, const struct kind *kind)
{
    static const char *const empty[] = {
        [TABLE_STRING] = "\"\"",
        [TABLE_INTEGER] = "0",
        [TABLE_BOOLEAN] = "false",
    };
    const struct table *table = find_table(view, kind);

    frame_add(out, "{\"cells\":[");
    for (unsigned i = 0; i < table->n_columns; i++) {
        const struct table_column *c = &table->columns[i];

        if (i > 0)
            frame_add(out, ",");
        frame_add(out, c->empty != NULL ? c->empty : empty[c->type]);
    }
    frame_add(out, "]");
}
