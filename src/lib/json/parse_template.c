/* SPDX-License-Identifier: Apache-2.0 */
/* A start reads a hundred thousand objects of one form, printed by ourselves. The first is
 * parsed, and for the others only the places that differ are read: a fifth of the time
 * (decision 77). A text that does not follow the form is parsed in the ordinary way, so
 * nothing depends on the guess.
 */
#include "lib/json/parse_template.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* A value of the first text that may differ in others; without its quotes. */
struct template_place {
    size_t at;
    size_t length;
    struct json *value;
    const char *word;
};

struct parse_template {
    struct arena *arena; /* holds the tree and the text */
    struct json *tree;
    const char *text;
    size_t length;
    struct template_place *places; /* sorted by position */
    size_t n_places;
    size_t capacity;
    size_t *filled; /* the places whose value is of another text now */
    size_t n_filled;
    char *words; /* their values, each followed by a NUL */
    size_t words_capacity;
};

void
parse_template_free(struct parse_template *t)
{
    if (t == NULL)
        return;
    arena_free(t->arena);
    free(t->places);
    free(t->filled);
    free(t->words);
    free(t);
}

/* --- the first text ------------------------------------------------------- */

static void
add_place(struct parse_template *t, size_t at, struct json *value)
{
    xgrow(t->places, t->n_places, t->capacity);
    t->places[t->n_places++] = (struct template_place){
        .at = at,
        .length = value->count,
        .value = value,
        .word = value->text,
    };
}

/* The position after the string that begins at `at`. */
static size_t
skip_string(const struct parse_template *t, size_t at)
{
    for (at++; t->text[at] != '"'; at++)
        if (t->text[at] == '\\')
            at++;
    return at + 1;
}

/* A string with escapes becomes no place: it must be the same in every text. */
static size_t
find_string(struct parse_template *t, struct json *value, size_t at)
{
    size_t end = skip_string(t, at);

    if (end - at == value->count + 2u)
        add_place(t, at + 1, value);
    return end;
}

/* Walks the text and its tree in parallel. Returns the end of the value. */
static size_t
find_places(struct parse_template *t, struct json *value, size_t at)
{
    switch (value->type) {
    case JSON_NULL:
        return at + strlen("null");
    case JSON_BOOL:
        return at + strlen(value->boolean ? "true" : "false");
    case JSON_NUMBER:
        add_place(t, at, value);
        return at + value->count;
    case JSON_STRING:
        return find_string(t, value, at);
    case JSON_ARRAY:
        for (uint32_t i = 0; i < value->count; i++)
            at = find_places(t, value->items[i], at + 1);
        return value->count > 0 ? at + 1 : at + strlen("[]");
    case JSON_OBJECT:
        for (uint32_t i = 0; i < value->count; i++)
            at = find_places(t, value->members[i].value, skip_string(t, at + 1) + 1);
        return value->count > 0 ? at + 1 : at + strlen("{}");
    }
    return at;
}

struct parse_template *
parse_template_new(const char *text, size_t length)
{
    CLEANUP(parse_template_freep)
    struct parse_template *t = xnew(struct parse_template);
    CLEANUP_STRBUF struct strbuf printed = STRBUF_INIT;
    struct parse_template *made;

    t->arena = arena_new(8 * length);
    t->text = arena_strndup(t->arena, text, length);
    t->length = length;
    t->tree = json_parse(t->arena, text, length, NULL, NULL);
    if (t->tree == NULL)
        return NULL;
    json_print(t->tree, &printed);
    if (printed.length != length || memcmp(printed.text, text, length) != 0)
        return NULL;
    find_places(t, t->tree, 0);
    t->filled = xnew_array(size_t, t->n_places + 1);
    made = t;
    t = NULL;
    return made;
}

/* --- the next ------------------------------------------------------------- */

static size_t
count_common(const char *a, const char *b, size_t length)
{
    size_t i = 0;
    uint64_t x, y;

    for (; length - i >= sizeof(x); i += sizeof(x)) {
        memcpy(&x, a + i, sizeof(x));
        memcpy(&y, b + i, sizeof(y));
        if (x != y)
            break;
    }
    while (i < length && a[i] == b[i])
        i++;
    return i;
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Only integers; other numbers are left to the parser. */
static size_t
measure_number(const char *p, size_t length)
{
    size_t sign = length > 0 && p[0] == '-' ? 1 : 0;
    size_t n = sign;

    while (n < length && is_digit(p[n]))
        n++;
    return n == sign || (p[sign] == '0' && n > sign + 1) ? 0 : n;
}

/* Up to the quote; only ASCII without escapes. */
static bool
measure_string(const char *p, size_t length, size_t *ret_n)
{
    size_t n = 0;

    while (n < length && p[n] != '"') {
        unsigned char c = (unsigned char)p[n++];

        if (c < 0x20 || c >= 0x7f || c == '\\')
            return false;
    }
    *ret_n = n;
    return n < length;
}

static bool
measure_word(const struct template_place *place, const char *p, size_t length, size_t *ret_n)
{
    if (place->value->type == JSON_STRING)
        return measure_string(p, length, ret_n);
    *ret_n = measure_number(p, length);
    return *ret_n > 0;
}

static void
fill(struct parse_template *t, size_t place, const char *word, size_t n, char **to)
{
    struct json *value = t->places[place].value;

    memcpy(*to, word, n);
    (*to)[n] = '\0';
    value->text = *to;
    value->count = (uint32_t)n;
    *to += n + 1;
    t->filled[t->n_filled++] = place;
}

static void
empty(struct parse_template *t)
{
    while (t->n_filled > 0) {
        const struct template_place *place = &t->places[t->filled[--t->n_filled]];

        place->value->text = place->word;
        place->value->count = (uint32_t)place->length;
    }
}

static char *
make_room(struct parse_template *t, size_t size)
{
    if (size > t->words_capacity) {
        free(t->words);
        t->words = xmalloc(size);
        t->words_capacity = size;
    }
    return t->words;
}

/* Finds the place that contains the position in the first text or ends at it. */
static bool
find_place(const struct parse_template *t, size_t at, size_t *place)
{
    while (*place < t->n_places && t->places[*place].at + t->places[*place].length < at)
        ++*place;
    return *place < t->n_places && t->places[*place].at <= at;
}

const struct json *
parse_template_apply(struct parse_template *t, const char *text, size_t length)
{
    char *to = make_room(t, length + t->n_places + 1);
    size_t at = 0;   /* in the first text */
    size_t from = 0; /* in the new text */
    size_t n, place = 0;

    empty(t);
    for (;;) {
        size_t left = length - from;

        if (left > t->length - at)
            left = t->length - at;
        n = count_common(text + from, t->text + at, left);
        at += n;
        from += n;
        if (at == t->length && from == length)
            return t->tree;
        if (!find_place(t, at, &place))
            return NULL;
        from -= at - t->places[place].at;
        if (!measure_word(&t->places[place], text + from, length - from, &n))
            return NULL;
        fill(t, place, text + from, n, &to);
        from += n;
        at = t->places[place].at + t->places[place].length;
        place++;
    }
}
