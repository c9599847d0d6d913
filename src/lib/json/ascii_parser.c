/* SPDX-License-Identifier: Apache-2.0 */
/* Most texts are printed by Kiln or by Go and have neither duplicates nor characters beyond
 * ASCII. For these a parser without messages and without a lexer is three to four times as
 * fast. It must accept nothing that yajl refuses, so it gives up at anything unusual, and yajl
 * then decides and explains; a fuzzer compares the two.
 */
#include "lib/json/ascii_parser.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "lib/json/octet.h"

/* Each name is compared with the names before it, so yajl parses larger
 * objects.
 */
#define MOST_MEMBERS 64u

/* The values of open containers that fit without an allocation. */
#define USUAL_VALUES 128u

struct ascii_parser {
    struct arena *arena;
    const char *at;
    const char *end;
    unsigned depth;
    size_t left;               /* the number of values still allowed */
    struct json_member *stack; /* values of open containers, in the order
                                * read */
    size_t n_stack;
    size_t capacity;
    struct json_member usual[USUAL_VALUES];
};

static struct json *read_value(struct ascii_parser *q);

static void
skip_blanks(struct ascii_parser *q)
{
    while (q->at < q->end && (*q->at == ' ' || *q->at == '\n' || *q->at == '\r' || *q->at == '\t'))
        q->at++;
}

/* Consumes that character and the blanks after it. */
static bool
take(struct ascii_parser *q, char wanted)
{
    if (q->at == q->end || *q->at != wanted)
        return false;
    q->at++;
    skip_blanks(q);
    return true;
}

/* ---- Strings ---- */

/* Eight bytes that need no decoding: printable ASCII except `"` and `\`. */
static bool
are_plain(const char *p)
{
    uint64_t bytes;

    memcpy(&bytes, p, sizeof(bytes));
    return (octet_beyond_ascii(bytes) | octet_below(bytes, 0x20) | octet_equal(bytes, '"')
            | octet_equal(bytes, '\\'))
           == 0;
}

static bool
is_plain(char c)
{
    return (unsigned char)(c - 0x20) < 0x60 && c != '"' && c != '\\';
}

/* The first byte from p on that is not plain. */
static const char *
behind_plain(const struct ascii_parser *q, const char *p)
{
    while (q->end - p >= 8 && are_plain(p))
        p += 8;
    while (p < q->end && is_plain(*p))
        p++;
    return p;
}

/* The four digits of an escape, if they mean ASCII; otherwise -1. */
static int
ascii_of(const char *digits)
{
    char text[5] = {0};
    char *end;
    long code;

    memcpy(text, digits, 4);
    if (strspn(text, "0123456789abcdefABCDEF") != 4)
        return -1;
    code = strtol(text, &end, 16);
    return code < 0x80 ? (int)code : -1;
}

/* Decodes the character after a backslash and moves *p behind it; -1: this
 * parser does not support the escape.
 */
static int
read_escape(const struct ascii_parser *q, const char **p)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const char *letter;
    int c;

    if (*p == q->end || **p == '\0')
        return -1;
    letter = strchr(letters, **p);
    if (letter != NULL) {
        (*p)++;
        return meanings[letter - letters];
    }
    if (**p != 'u' || q->end - *p < 5)
        return -1;
    c = ascii_of(*p + 1);
    *p += 5;
    return c;
}

/* Measures the undecoded string at q->at, which is behind its quote; false if
 * the string does not end or this parser does not support it.
 */
static bool
measure_string(const struct ascii_parser *q, size_t *ret_raw, bool *ret_escapes)
{
    const char *p = behind_plain(q, q->at);

    *ret_escapes = false;
    while (p < q->end && *p == '\\' && q->end - p >= 2) {
        *ret_escapes = true;
        p = behind_plain(q, p + 2);
    }
    *ret_raw = (size_t)(p - q->at);
    return p < q->end && *p == '"';
}

/* This may work in place: the result is never longer than the input. */
static bool
unescape(const struct ascii_parser *q, char *out, size_t raw, size_t *ret_length)
{
    const char *p = q->at;
    const char *end = p + raw;
    char *start = out;

    while (p < end) {
        const char *escape = memchr(p, '\\', (size_t)(end - p));
        size_t plain = (size_t)((escape != NULL ? escape : end) - p);
        int c;

        memcpy(out, p, plain);
        out += plain;
        p += plain;
        if (p == end)
            break;
        p++;
        c = read_escape(q, &p);
        if (c < 0 || p > end)
            return false;
        *out++ = (char)c;
    }
    *out = '\0';
    *ret_length = (size_t)(out - start);
    return true;
}

/* Reads the string at q->at, which is behind its first quote, and the blanks
 * after the string; NULL: this parser does not support it.
 */
static const char *
read_text(struct ascii_parser *q, size_t *ret_length)
{
    size_t raw;
    bool has_escapes;
    char *text;

    if (!measure_string(q, &raw, &has_escapes))
        return NULL;
    text = arena_strndup(q->arena, q->at, raw);
    *ret_length = raw;
    if (has_escapes && !unescape(q, text, raw, ret_length))
        return NULL;
    q->at += raw + 1;
    skip_blanks(q);
    return text;
}

static struct json *
text_value(struct ascii_parser *q, enum json_type type, const char *text, size_t length)
{
    struct json *v = arena_alloc(q->arena, sizeof(*v));

    v->type = type;
    v->text = text;
    v->count = (uint32_t)length;
    return v;
}

static struct json *
read_string(struct ascii_parser *q)
{
    const char *text;
    size_t length;

    q->at++;
    text = read_text(q, &length);
    return text != NULL ? text_value(q, JSON_STRING, text, length) : NULL;
}

/* ---- Numbers and literals ---- */

static size_t
take_digits(struct ascii_parser *q)
{
    const char *from = q->at;

    while (q->at < q->end && *q->at >= '0' && *q->at <= '9')
        q->at++;
    return (size_t)(q->at - from);
}

static bool
take_one_of(struct ascii_parser *q, const char *wanted)
{
    if (q->at == q->end || *q->at == '\0' || strchr(wanted, *q->at) == NULL)
        return false;
    q->at++;
    return true;
}

static struct json *
read_number(struct ascii_parser *q)
{
    const char *from = q->at;
    const char *text;
    size_t length;

    (void)take_one_of(q, "-");
    if (!take_one_of(q, "0") && take_digits(q) == 0)
        return NULL;
    if (take_one_of(q, ".") && take_digits(q) == 0)
        return NULL;
    if (take_one_of(q, "eE")) {
        (void)take_one_of(q, "+-");
        if (take_digits(q) == 0)
            return NULL;
    }
    length = (size_t)(q->at - from);
    text = arena_strndup(q->arena, from, length);
    skip_blanks(q);
    return text_value(q, JSON_NUMBER, text, length);
}

static bool
take_word(struct ascii_parser *q, const char *word, size_t length)
{
    if ((size_t)(q->end - q->at) < length || memcmp(q->at, word, length) != 0)
        return false;
    q->at += length;
    skip_blanks(q);
    return true;
}

/* ---- Containers ---- */

static void
push(struct ascii_parser *q, const char *name, struct json *value)
{
    if (q->n_stack == q->capacity) {
        struct json_member *old = q->stack != q->usual ? q->stack : NULL;

        q->stack = xrealloc_array(old, q->capacity * 2, sizeof(*q->stack));
        if (old == NULL)
            memcpy(q->stack, q->usual, sizeof(q->usual));
        q->capacity *= 2;
    }
    q->stack[q->n_stack++] = (struct json_member){name, value};
}

static bool
is_new(const struct ascii_parser *q, size_t first, const char *name)
{
    for (size_t i = first; i < q->n_stack; i++)
        if (q->stack[i].name[0] == name[0] && strcmp(q->stack[i].name, name) == 0)
            return false;
    return q->n_stack - first < MOST_MEMBERS;
}

/* A name must not contain a NUL. */
static const char *
read_name(struct ascii_parser *q, size_t first)
{
    size_t length;
    const char *name;

    if (q->at == q->end || *q->at != '"')
        return NULL;
    q->at++;
    name = read_text(q, &length);
    if (name == NULL || strlen(name) != length || !is_new(q, first, name))
        return NULL;
    return take(q, ':') ? name : NULL;
}

static struct json *
close_container(struct ascii_parser *q, enum json_type type, size_t first)
{
    struct json *v = arena_alloc(q->arena, sizeof(*v));
    const struct json_member *values = q->stack + first;

    v->type = type;
    v->count = v->capacity = (uint32_t)(q->n_stack - first);
    if (v->count > 0 && type == JSON_OBJECT) {
        v->members = arena_memdup(q->arena, values, v->count * sizeof(*values));
    } else if (v->count > 0) {
        v->items = arena_new_array(q->arena, struct json *, v->count);
        for (uint32_t i = 0; i < v->count; i++)
            v->items[i] = values[i].value;
    }
    q->n_stack = first;
    q->depth--;
    return v;
}

/* Reads the values between the brackets and pushes them on the stack. */
static bool
read_inside(struct ascii_parser *q, enum json_type type, size_t first, char last)
{
    if (take(q, last))
        return true;
    do {
        const char *name = NULL;
        struct json *value;

        if (type == JSON_OBJECT) {
            name = read_name(q, first);
            if (name == NULL)
                return false;
        }
        value = read_value(q);
        if (value == NULL)
            return false;
        push(q, name, value);
    } while (take(q, ','));
    return take(q, last);
}

static struct json *
read_container(struct ascii_parser *q, enum json_type type, char last)
{
    size_t first = q->n_stack;

    if (++q->depth > JSON_MAX_DEPTH)
        return NULL;
    q->at++;
    skip_blanks(q);
    return read_inside(q, type, first, last) ? close_container(q, type, first) : NULL;
}

static struct json *
read_value(struct ascii_parser *q)
{
    if (q->at == q->end || q->left == 0)
        return NULL;
    q->left--;
    switch (*q->at) {
    case '{':
        return read_container(q, JSON_OBJECT, '}');
    case '[':
        return read_container(q, JSON_ARRAY, ']');
    case '"':
        return read_string(q);
    case 't':
        return take_word(q, "true", 4) ? json_bool(q->arena, true) : NULL;
    case 'f':
        return take_word(q, "false", 5) ? json_bool(q->arena, false) : NULL;
    case 'n':
        return take_word(q, "null", 4) ? json_null(q->arena) : NULL;
    default:
        return read_number(q);
    }
}

struct json *
json_parse_ascii(struct arena *arena, const char *text, size_t length, size_t most)
{
    struct ascii_parser q;
    struct json *root;

    q.arena = arena;
    q.at = text;
    /* `text` may be NULL when it is empty */
    q.end = length > 0 ? text + length : text;
    q.depth = 0;
    q.left = most;
    q.stack = q.usual;
    q.n_stack = 0;
    q.capacity = USUAL_VALUES;
    skip_blanks(&q);
    root = read_value(&q);
    if (q.at != q.end)
        root = NULL;
    if (q.stack != q.usual)
        free(q.stack);
    return root;
}
