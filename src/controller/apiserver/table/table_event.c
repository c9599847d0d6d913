/* SPDX-License-Identifier: Apache-2.0 */
/* table_event.c - the columns of events */
#include <ctype.h>
#include <string.h>

#include "controller/apiserver/table/table.h"
#include "lib/api/cluster/event.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static const struct table_column columns[] = {
    {"Last Seen", "string", NULL, 0, "When it happened last."},
    {"Type", "string", NULL, 0, "Normal or Warning."},
    {"Reason", "string", NULL, 0, "Why, in one word for programs."},
    {"Object", "string", NULL, 0, "What it happened to."},
    {"Subobject", "string", NULL, 1, "Which part of it."},
    {"Source", "string", NULL, 1, "Who tells of it, and on which host."},
    {"Message", "string", NULL, 0, "Why, in words for people."},
    {"First Seen", "string", NULL, 1, "When it happened first."},
    {"Count", "string", NULL, 1, "How often it has happened."},
    {"Name", "string", "name", 1, "What the event itself is called."},
};

/* Repetitions and their source, as newer clients write them. */
struct series {
    bool is_there;
    int64_t count;
    int64_t last_at_us;
    const char *instance;
};

static void
find_series(const struct object *object,
            struct arena *arena,
            struct series *ret_series)
{
    const struct json *tree, *series;
    const char *last, *text = object_text(object, arena);

    memset(ret_series, 0, sizeof(*ret_series));
    if (strstr(text, "\"series\":") == NULL
        && strstr(text, "\"reportingInstance\":") == NULL)
        return;
    tree = object_tree(object, arena);
    series = json_get(tree, "series");
    ret_series->is_there = json_is(series, JSON_OBJECT);
    ret_series->count = json_get_int(series, "count", 0);
    ret_series->instance = json_get_text(tree, "reportingInstance");
    last = json_get_text(series, "lastObservedTime");
    if (last != NULL)
        time_parse(last, &ret_series->last_at_us);
}

static const char *
find_object(struct arena *arena, const struct object_reference *about)
{
    char *kind = arena_strdup(arena, about->kind != NULL ? about->kind : "");

    for (char *c = kind; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    if (about->name == NULL || about->name[0] == '\0')
        return kind;
    return arena_printf(arena, "%s/%s", kind, about->name);
}

static bool
is_said(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static const char *
find_source(struct arena *arena,
            const struct event *event,
            const struct series *series)
{
    const char *who = is_said(event->component) ? event->component
                                                : event->reporting_component;
    const char *host = is_said(event->host) ? event->host : series->instance;

    if (!is_said(host))
        return who;
    return arena_printf(arena, "%s, %s", who != NULL ? who : "", host);
}

static const char *
trim(struct arena *arena, const char *message)
{
    size_t n;

    if (message == NULL)
        return "";
    message += strspn(message, " \t\r\n");
    n = strlen(message);
    while (n > 0 && strchr(" \t\r\n", message[n - 1]) != NULL)
        n--;
    return arena_strndup(arena, message, n);
}

static void
add_cells(struct table_row *row, const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct event *event = event_of(object);
    int64_t first_us =
        event->first_at_us != 0 ? event->first_at_us : event->event_at_us;
    int64_t last_us = event->last_at_us != 0 ? event->last_at_us : first_us;
    int64_t count = event->count != 0 ? event->count : 1;
    struct series series;

    find_series(object, arena, &series);
    if (series.is_there) {
        last_us = series.last_at_us;
        count = series.count;
    }
    table_cell_age(row, last_us);
    table_cell(row, event->type);
    table_cell(row, event->reason);
    table_cell(row, find_object(arena, &event->involved));
    table_cell(row, event->involved.field_path);
    table_cell(row, find_source(arena, event, &series));
    table_cell(row, trim(arena, event->message));
    table_cell_age(row, first_us);
    table_cell_int(row, count);
    table_cell(row, event->meta.name);
}

const struct table event_table = {
    .kind = &event_kind,
    .columns = columns,
    .n_columns = ARRAY_SIZE(columns),
    .add_cells = add_cells,
};
