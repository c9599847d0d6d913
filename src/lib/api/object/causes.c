/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/causes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/decimal.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

static const struct {
    const char *name;
    const char *words; /* the beginning of a message */
} reasons[] = {
    [CAUSE_REQUIRED] = {"FieldValueRequired", "Required value"},
    [CAUSE_INVALID] = {"FieldValueInvalid", "Invalid value"},
    [CAUSE_NOT_SUPPORTED] = {"FieldValueNotSupported", "Unsupported value"},
    [CAUSE_FORBIDDEN] = {"FieldValueForbidden", "Forbidden"},
    [CAUSE_DUPLICATE] = {"FieldValueDuplicate", "Duplicate value"},
    [CAUSE_NOT_FOUND] = {"FieldValueNotFound", "Not found"},
    [CAUSE_TOO_LONG] = {"FieldValueTooLong", "Too long"},
    [CAUSE_TOO_MANY] = {"FieldValueTooMany", "Too many"},
    [CAUSE_TYPE_INVALID] = {"FieldValueTypeInvalid", "Invalid value"},
    [CAUSE_INTERNAL] = {"InternalError", "Internal error"},
};

void
causes_init(struct causes *c, struct arena *arena)
{
    memset(c, 0, offsetof(struct causes, path));
    c->arena = arena;
    c->path[0] = '\0';
    c->path_length = 0;
}

/* A path that does not fit is cut; the message is reported nevertheless. */
static void
append(struct causes *c, const char *text)
{
    size_t room = sizeof(c->path) - 1 - c->path_length;
    size_t length = strlen(text);

    if (length > room)
        length = room;
    memcpy(c->path + c->path_length, text, length);
    c->path_length += (unsigned)length;
    c->path[c->path_length] = '\0';
}

static void
append_name(struct causes *c, const char *name)
{
    if (*name == '\0')
        return;
    if (c->path_length > 0)
        append(c, ".");
    append(c, name);
}

static void
append_bracketed(struct causes *c, const char *text)
{
    append(c, "[");
    append(c, text);
    append(c, "]");
}

unsigned
causes_enter(struct causes *c, const char *name)
{
    unsigned length = c->path_length;

    append_name(c, name);
    return length;
}

unsigned
causes_enter_index(struct causes *c, const char *name, unsigned index)
{
    unsigned length = c->path_length;
    char number[DECIMAL_SIZE];

    append_name(c, name);
    append_bracketed(c, decimal_of_unsigned(index, number));
    return length;
}

unsigned
causes_enter_key(struct causes *c, const char *name, const char *key)
{
    unsigned length = c->path_length;

    append_name(c, name);
    append_bracketed(c, key);
    return length;
}

void
causes_leave(struct causes *c, unsigned length)
{
    c->path[length] = '\0';
    c->path_length = length;
}

static struct cause *
next_cause(struct causes *c)
{
    struct cause *longer;

    if (c->count == c->capacity) {
        c->capacity = c->capacity ? c->capacity * 2 : 8;
        longer = arena_new_array(c->arena, struct cause, c->capacity);
        if (c->count > 0)
            memcpy(longer, c->items, c->count * sizeof(*longer));
        c->items = longer;
    }
    return &c->items[c->count++];
}

/* Whether another mistake may be listed. The first one that may not is replaced
 * by a note that there are more.
 */
static bool
has_room(struct causes *c)
{
    struct cause *last;

    if (c->count > CAUSES_MAX)
        return false;
    if (c->count < CAUSES_MAX && c->bytes < CAUSES_BYTES_MAX)
        return true;
    if (c->bytes == SIZE_MAX)
        return false;
    c->bytes = SIZE_MAX;
    last = next_cause(c);
    last->reason = CAUSE_TOO_MANY;
    last->field = "<nil>";
    last->message = arena_printf(c->arena,
                                 "Too many: only the first %u mistakes are "
                                 "listed",
                                 c->count - 1);
    return false;
}

void
causes_add(struct causes *c, enum cause_reason reason, const char *name, const struct json *value,
           const char *format, ...)
{
    CLEANUP_STRBUF struct strbuf message = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    unsigned length;
    struct cause *cause;
    va_list args;

    if (!has_room(c))
        return;
    length = causes_enter(c, name);
    cause = next_cause(c);
    strbuf_add_text(&message, reasons[reason].words);
    if (value != NULL) {
        strbuf_add_text(&message, ": ");
        json_print(value, &message);
    }
    va_start(args, format);
    strbuf_vprintf(&words, format, args);
    va_end(args);
    if (words.length > 0) {
        strbuf_add_text(&message, ": ");
        strbuf_add(&message, words.text, words.length);
    }
    cause->reason = reason;
    cause->field = c->path_length > 0 ? arena_strdup(c->arena, c->path) : "<nil>";
    cause->message = arena_strndup(c->arena, message.text, message.length);
    c->bytes += message.length;
    causes_leave(c, length);
}

void
causes_warn(struct causes *c, const char *name, const char *format, ...)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    unsigned length;
    struct cause *cause;
    va_list args;

    if (!has_room(c))
        return;
    length = causes_enter(c, name);
    cause = next_cause(c);
    va_start(args, format);
    strbuf_vprintf(&words, format, args);
    va_end(args);
    cause->reason = CAUSE_INVALID;
    cause->field = arena_strdup(c->arena, c->path);
    cause->message = arena_printf(c->arena, "%s: %s", cause->field, words.text);
    causes_leave(c, length);
}

const char *
cause_reason_name(enum cause_reason reason)
{
    return reasons[reason].name;
}
