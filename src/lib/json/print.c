/* SPDX-License-Identifier: Apache-2.0 */
/* Strings are what takes time in printing, and nearly none needs an escape. So eight bytes are
 * tested at once, and short strings by two reads that overlap.
 */
#include "lib/json/json.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "lib/json/octet.h"

static const char hex[] = "0123456789abcdef";

/* Control characters, quotes and backslashes must be escaped inside quotes. */
static bool
needs_escape(unsigned char c)
{
    return c < 0x20 || c == '"' || c == '\\';
}

/* Checks eight bytes at once. Bytes beyond ASCII need no escape. */
static bool
any_needs_escape(uint64_t bytes)
{
    return (octet_below(bytes, 0x20) | octet_equal(bytes, '"') | octet_equal(bytes, '\\')) != 0;
}

static bool
need_escape(const char *p)
{
    uint64_t bytes;

    memcpy(&bytes, p, sizeof(bytes));
    return any_needs_escape(bytes);
}

/* Checks one to seven bytes; the reads overlap. */
static bool
is_short_and_plain(const char *text, size_t length)
{
    unsigned char few[3];
    uint32_t first, last;

    if (length < 4) {
        few[0] = (unsigned char)text[0];
        few[1] = (unsigned char)text[length / 2];
        few[2] = (unsigned char)text[length - 1];
        return !needs_escape(few[0]) && !needs_escape(few[1]) && !needs_escape(few[2]);
    }
    memcpy(&first, text, sizeof(first));
    memcpy(&last, text + length - sizeof(last), sizeof(last));
    return !any_needs_escape((uint64_t)last << 32 | first);
}

/* The number of leading bytes that need no escape; the last reads overlap. */
static size_t
count_plain(const char *text, size_t length)
{
    size_t i = 0;

    if (length < 8 && (length == 0 || is_short_and_plain(text, length)))
        return length;
    while (length - i >= 8 && !need_escape(text + i))
        i += 8;
    if (length >= 8 && length - i < 8 && !need_escape(text + length - 8))
        return length;
    while (i < length && !needs_escape((unsigned char)text[i]))
        i++;
    return i;
}

static void
print_escaped(unsigned char c, struct strbuf *out)
{
    static const char letters[] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n',  ['\f'] = 'f',
        ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\',
    };

    strbuf_add_char(out, '\\');
    if (c < sizeof(letters) && letters[c] != '\0') {
        strbuf_add_char(out, letters[c]);
        return;
    }
    strbuf_add(out, "u00", 3);
    strbuf_add_char(out, hex[c >> 4]);
    strbuf_add_char(out, hex[c & 15]);
}

static void
add_escaped(const char *text, size_t length, struct strbuf *out)
{
    size_t plain;

    for (;; text++, length--) {
        plain = count_plain(text, length);
        strbuf_add(out, text, plain);
        text += plain;
        length -= plain;
        if (length == 0)
            return;
        print_escaped((unsigned char)*text, out);
    }
}

void
json_print_string(const char *text, size_t length, struct strbuf *out)
{
    char *to;

    if (count_plain(text, length) < length) {
        strbuf_add_char(out, '"');
        add_escaped(text, length, out);
        strbuf_add_char(out, '"');
        return;
    }
    to = strbuf_extend(out, length + 2);
    to[0] = '"';
    memcpy(to + 1, text, length);
    to[length + 1] = '"';
}

/* Writes `,"name":`, with the comma unless it is the first member. */
static void
add_name(const char *name, bool is_first, struct strbuf *out)
{
    size_t length = strlen(name);
    char *to;

    if (count_plain(name, length) < length) {
        if (!is_first)
            strbuf_add_char(out, ',');
        json_print_string(name, length, out);
        strbuf_add_char(out, ':');
        return;
    }
    to = strbuf_extend(out, length + 3 + !is_first);
    if (!is_first)
        *to++ = ',';
    *to++ = '"';
    memcpy(to, name, length);
    memcpy(to + length, "\":", 2);
}

static void
print_on_one_line(const struct json *v, struct strbuf *out)
{
    switch (v->type) {
    case JSON_NULL:
        strbuf_add(out, "null", 4);
        return;
    case JSON_BOOL:
        strbuf_add_text(out, v->boolean ? "true" : "false");
        return;
    case JSON_NUMBER:
        strbuf_add(out, v->text, v->count);
        return;
    case JSON_STRING:
        json_print_string(v->text, v->count, out);
        return;
    case JSON_ARRAY:
        strbuf_add_char(out, '[');
        for (uint32_t i = 0; i < v->count; i++) {
            if (i > 0)
                strbuf_add_char(out, ',');
            print_on_one_line(v->items[i], out);
        }
        strbuf_add_char(out, ']');
        return;
    case JSON_OBJECT:
        strbuf_add_char(out, '{');
        for (uint32_t i = 0; i < v->count; i++) {
            add_name(v->members[i].name, i == 0, out);
            print_on_one_line(v->members[i].value, out);
        }
        strbuf_add_char(out, '}');
        return;
    }
}

static void
break_line(int indent, struct strbuf *out)
{
    strbuf_add_char(out, '\n');
    for (int i = 0; i < indent; i++)
        strbuf_add(out, "    ", 4);
}

static void
print_indented(const struct json *v, int indent, struct strbuf *out)
{
    char close = v->type == JSON_ARRAY ? ']' : '}';

    if (v->type != JSON_ARRAY && v->type != JSON_OBJECT) {
        print_on_one_line(v, out);
        return;
    }
    strbuf_add_char(out, v->type == JSON_ARRAY ? '[' : '{');
    for (uint32_t i = 0; i < v->count; i++) {
        if (i > 0)
            strbuf_add_char(out, ',');
        break_line(indent + 1, out);
        if (v->type == JSON_ARRAY) {
            print_indented(v->items[i], indent + 1, out);
            continue;
        }
        add_name(v->members[i].name, true, out);
        strbuf_add_char(out, ' ');
        print_indented(v->members[i].value, indent + 1, out);
    }
    if (v->count > 0)
        break_line(indent, out);
    strbuf_add_char(out, close);
}

void
json_print(const struct json *value, struct strbuf *out)
{
    print_on_one_line(value, out);
}

void
json_print_indented(const struct json *value, struct strbuf *out)
{
    print_indented(value, 0, out);
}
