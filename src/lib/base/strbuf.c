/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/strbuf.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"

char strbuf_empty[1];

void
strbuf_init(struct strbuf *s)
{
    *s = (struct strbuf)STRBUF_INIT;
}

void
strbuf_init_in(struct strbuf *s, char *room, size_t size)
{
    room[0] = '\0';
    *s = (struct strbuf){.text = room, .capacity = size, .is_lent = true};
}

static bool
is_own(const struct strbuf *s)
{
    return s->capacity > 0 && !s->is_lent;
}

void
strbuf_fini(struct strbuf *s)
{
    if (is_own(s))
        free(s->text);
    strbuf_init(s);
}

char *
strbuf_take(struct strbuf *s)
{
    char *text = is_own(s) ? s->text : xmemdup(s->text, s->length + 1);

    strbuf_init(s);
    return text;
}

static char *
moved(const struct strbuf *s, size_t capacity)
{
    return memcpy(xmalloc(capacity), s->text, s->length + 1);
}

void
strbuf_reserve(struct strbuf *s, size_t more)
{
    size_t want = s->length + more + 1;
    size_t capacity = s->capacity ? s->capacity : 64;

    if (want <= s->capacity)
        return;
    while (capacity < want)
        capacity += capacity / 2;
    s->text = is_own(s) ? xrealloc(s->text, capacity) : moved(s, capacity);
    s->capacity = capacity;
    s->is_lent = false;
    s->text[s->length] = '\0';
}

void
strbuf_add(struct strbuf *s, const void *bytes, size_t length)
{
    if (length == 0)
        return;
    strbuf_reserve(s, length);
    memcpy(s->text + s->length, bytes, length);
    s->length += length;
    s->text[s->length] = '\0';
}

void
strbuf_add_char(struct strbuf *s, char c)
{
    if (s->length + 2 > s->capacity)
        strbuf_reserve(s, 1);
    s->text[s->length++] = c;
    s->text[s->length] = '\0';
}

char *
strbuf_extend(struct strbuf *s, size_t more)
{
    char *from;

    strbuf_reserve(s, more);
    from = s->text + s->length;
    s->length += more;
    s->text[s->length] = '\0';
    return from;
}

void
strbuf_add_text(struct strbuf *s, const char *text)
{
    strbuf_add(s, text, strlen(text));
}

void
strbuf_vprintf(struct strbuf *s, const char *format, va_list args)
{
    va_list again;
    int length;

    strbuf_reserve(s, 64);
    va_copy(again, args);
    length = vsnprintf(s->text + s->length, s->capacity - s->length, format, again);
    va_end(again);
    if (length < 0)
        abort();
    if (s->length + (size_t)length >= s->capacity) {
        strbuf_reserve(s, (size_t)length);
        vsnprintf(s->text + s->length, (size_t)length + 1, format, args);
    }
    s->length += (size_t)length;
}

void
strbuf_add_int(struct strbuf *s, int64_t number)
{
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (number < 0)
        strbuf_add_char(s, '-');
    strbuf_add(s, digits + at, sizeof(digits) - at);
}

void
strbuf_printf(struct strbuf *s, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    strbuf_vprintf(s, format, args);
    va_end(args);
}

void
strbuf_truncate(struct strbuf *s, size_t length)
{
    if (length >= s->length)
        return;
    s->length = length;
    s->text[length] = '\0';
}

void
strbuf_drop_sent(struct strbuf *s, size_t *sent)
{
    size_t rest = s->length - *sent;

    if (*sent == 0 || *sent < rest)
        return;
    memmove(s->text, s->text + *sent, rest);
    strbuf_truncate(s, rest);
    *sent = 0;
}
