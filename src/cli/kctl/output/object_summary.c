/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/object_summary.h"

#include <string.h>
#include <strings.h>

#include "cli/kctl/client/kctl.h"
#include "cli/kctl/output/describe_output.h"
#include "cli/kctl/output/listing.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* The lines of the metadata already show these columns. */
static bool
is_in_metadata(const char *column)
{
    static const char *const told[] = {"age", "id", "object"};

    for (size_t i = 0; i < ARRAY_SIZE(told); i++)
        if (strcasecmp(column, told[i]) == 0)
            return true;
    return false;
}

static void
add_cell(struct strbuf *out, const char *object, const char *column, const struct json *cell)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (is_in_metadata(column))
        return;
    if (json_is(cell, JSON_STRING))
        strbuf_add_text(&text, cell->text);
    else if (cell != NULL && !json_is(cell, JSON_NULL))
        json_print(cell, &text);
    if (text.length == 0 || strcmp(text.text, "<none>") == 0 || strcmp(text.text, object) == 0)
        return;
    if (strcasecmp(column, "name") == 0) /* the name given with ksub -J */
        column = "Job name";
    describe_output_add(out, 0, column, "%s", text.text);
}

int
object_summary_add(struct kctl *kctl, const struct target_object *object, struct strbuf *out,
                   struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct listing_style style = {.form = LISTING_WIDE};
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = object->kind,
        .namespace = object->namespace,
        .name = object->name,
        .accept = listing_accept(&style),
    };
    const struct json *columns;
    const struct json *cells;
    struct json *table = NULL;
    int r = kctl_call(kctl, &request, arena, &table, err);

    if (r < 0)
        return r;
    columns = json_get(table, "columnDefinitions");
    cells = json_get(json_at(json_get(table, "rows"), 0), "cells");
    for (uint32_t i = 0; i < json_count(columns); i++) {
        const char *name = json_get_text(json_at(columns, i), "name");

        if (name != NULL)
            add_cell(out, object->name, name, json_at(cells, i));
    }
    return 0;
}

const char *
object_summary_cell(const struct json *table, const char *column)
{
    const struct json *columns = json_get(table, "columnDefinitions");
    const struct json *cells = json_get(json_at(json_get(table, "rows"), 0), "cells");

    for (uint32_t i = 0; i < json_count(columns); i++) {
        const char *name = json_get_text(json_at(columns, i), "name");
        const struct json *cell = json_at(cells, i);
        const char *text = json_is(cell, JSON_NUMBER) ? cell->text : json_text(cell);

        if (name != NULL && strcmp(name, column) == 0 && text != NULL
            && strcmp(text, "<none>") != 0)
            return text;
    }
    return "";
}
