/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/describe_output.h"

#include <ctype.h>
#include <string.h>

#include "cli/print/grid.h"
#include "cli/print/human.h"
#include "cli/print/local_time.h"
#include "cli/print/sanitize_text.h"
#include "cli/print/terminal_colour.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define VALUE_COLUMN 20u
#define STEP         2u

/* Whether the text is a time of the API; formats it in local time. */
static bool
format_moment(const char *text, char out[LOCAL_TIME_SIZE])
{
    int64_t us = 0;

    if (strlen(text) >= LOCAL_TIME_SIZE || !isdigit((unsigned char)text[0])
        || strchr(text, 'T') == NULL || time_parse(text, &us) < 0)
        return false;
    local_time_format(us, out);
    return true;
}

const char *
describe_output_local(struct arena *arena, const char *time)
{
    char local[LOCAL_TIME_SIZE];

    return arena_strdup(arena, format_moment(time, local) ? local : time);
}

static void
add_harmless(struct strbuf *out, const char *text)
{
    CLEANUP_FREE char *copy = sanitize_text_dup(text);
    char local[LOCAL_TIME_SIZE];

    strbuf_add_text(out, format_moment(text, local) ? local : copy);
}

static void
add_name(struct strbuf *out, unsigned indent, const char *name)
{
    size_t before = out->length;
    size_t used;

    strbuf_printf(out, "%*s%s%s", (int)indent, "", name, name[0] != '\0' ? ":" : "");
    used = out->length - before;
    strbuf_printf(out, "%*s", used < VALUE_COLUMN ? (int)(VALUE_COLUMN - used) : 1, "");
}

void
describe_output_add(struct strbuf *out, unsigned indent, const char *name, const char *format, ...)
{
    CLEANUP_STRBUF struct strbuf value = STRBUF_INIT;
    va_list args;

    va_start(args, format);
    strbuf_vprintf(&value, format, args);
    va_end(args);
    add_name(out, indent, name);
    add_harmless(out, value.text);
    strbuf_add_char(out, '\n');
}

/* ---- Trees ---- */

/* "activeDeadlineSeconds" becomes "Active Deadline Seconds"; names that are
 * data (labels, resources) stay as they are.
 */
static void
add_words(struct strbuf *out, const char *name)
{
    for (const char *p = name; *p != '\0'; p++)
        if (!isalnum((unsigned char)*p)) {
            strbuf_add_text(out, name);
            return;
        }
    strbuf_add_char(out, (char)toupper((unsigned char)*name));
    for (const char *p = name + 1; *p != '\0'; p++) {
        if (isupper((unsigned char)*p) && islower((unsigned char)p[-1]))
            strbuf_add_char(out, ' ');
        strbuf_add_char(out, *p);
    }
}

static bool
is_scalar(const struct json *value)
{
    return value->type != JSON_ARRAY && value->type != JSON_OBJECT;
}

static void
add_scalar(struct strbuf *out, const struct json *value)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (json_is(value, JSON_STRING))
        strbuf_add_text(&text, value->text);
    else
        json_print(value, &text);
    add_harmless(out, text.text);
}

/* Adds "a, b, c" if no element has parts. */
static bool
add_flat_list(struct strbuf *out, const struct json *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (!is_scalar(list->items[i]))
            return false;
    for (uint32_t i = 0; i < list->count; i++) {
        if (i > 0)
            strbuf_add_text(out, ", ");
        add_scalar(out, list->items[i]);
    }
    strbuf_add_char(out, '\n');
    return true;
}

/* Adds "name: nofile, soft: 1024" if no member has parts. */
static bool
add_flat_object(struct strbuf *out, const struct json *object)
{
    if (!json_is(object, JSON_OBJECT))
        return false;
    for (uint32_t i = 0; i < object->count; i++)
        if (!is_scalar(object->members[i].value))
            return false;
    for (uint32_t i = 0; i < object->count; i++) {
        strbuf_printf(out, "%s%s: ", i > 0 ? ", " : "", object->members[i].name);
        add_scalar(out, object->members[i].value);
    }
    strbuf_add_char(out, '\n');
    return true;
}

static void
add_items(struct strbuf *out, unsigned indent, const struct json *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        strbuf_printf(out, "%*s- ", (int)indent, "");
        if (add_flat_object(out, list->items[i]))
            continue;
        strbuf_truncate(out, out->length - 1);
        strbuf_add_char(out, '\n');
        describe_output_add_tree(out, indent + STEP, list->items[i]);
    }
}

static void
add_member(struct strbuf *out, unsigned indent, const char *name, const struct json *value)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    size_t before;

    if (value->type == JSON_NULL || (!is_scalar(value) && value->count == 0))
        return;
    add_words(&words, name);
    before = out->length;
    add_name(out, indent, words.text);
    if (is_scalar(value)) {
        add_scalar(out, value);
        strbuf_add_char(out, '\n');
        return;
    }
    if (value->type == JSON_ARRAY && add_flat_list(out, value))
        return;
    strbuf_truncate(out, before);
    strbuf_printf(out, "%*s%s:\n", (int)indent, "", words.text);
    if (value->type == JSON_OBJECT) {
        const size_t heading = out->length;

        describe_output_add_tree(out, indent + STEP, value);
        if (out->length == heading) /* all parts were empty */
            strbuf_truncate(out, before);
        return;
    }
    add_items(out, indent + STEP, value);
}

void
describe_output_add_tree(struct strbuf *out, unsigned indent, const struct json *object)
{
    if (!json_is(object, JSON_OBJECT)) {
        strbuf_printf(out, "%*s", (int)indent, "");
        json_print(object, out);
        strbuf_add_char(out, '\n');
        return;
    }
    for (uint32_t i = 0; i < object->count; i++)
        add_member(out, indent, object->members[i].name, object->members[i].value);
}

/* ---- Tables ---- */

const char *
describe_output_age(struct arena *arena, const char *time)
{
    char text[HUMAN_TEXT_SIZE];
    int64_t us = 0;

    if (time == NULL || time_parse(time, &us) < 0)
        return "";
    human_duration(clock_real_us(&clock_system) - us, text);
    return arena_strdup(arena, text);
}

void
describe_output_add_grid(struct strbuf *out, struct grid *grid)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    grid_print(grid, true, &text);
    for (const char *line = text.text; *line != '\0';) {
        size_t length = strcspn(line, "\n") + 1;

        strbuf_add_text(out, "  ");
        strbuf_add(out, line, length);
        line += length;
    }
}

void
describe_output_add_conditions(struct strbuf *out, const struct json *conditions)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(grid_freep) struct grid *grid = grid_new(false);
    static const char *const columns[] = {"Type", "Status", "Since", "Reason", "Message"};

    if (json_count(conditions) == 0)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        grid_add_column(grid, columns[i]);
    for (uint32_t i = 0; i < json_count(conditions); i++) {
        const struct json *c = json_at(conditions, i);
        const char *cells[] = {
            json_get_text(c, "type"),
            json_get_text(c, "status"),
            describe_output_age(arena, json_get_text(c, "lastTransitionTime")),
            json_get_text(c, "reason"),
            json_get_text(c, "message"),
        };

        grid_add_row(grid, cells);
    }
    strbuf_add_text(out, "Conditions:\n");
    describe_output_add_grid(out, grid);
}
