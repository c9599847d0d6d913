/* SPDX-License-Identifier: Apache-2.0 */
/* A file name or an argument may have any bytes, while JSON and the log need UTF-8, and
 * replacing what is not would start another program. So bytes are carried in private
 * characters, and a text that has these itself is carried in the same way: everything comes
 * back as it was.
 */
#include "lib/step/byte_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/arena.h"

#define FIRST 0x10F700u

static bool
is_continued(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* The bytes of the character that begins at `p`, or 0 if none does. *ret_value is the
 * character. A NUL ends every sequence, because it continues none.
 */
static unsigned
measure_character(const unsigned char *p, uint32_t *ret_value)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned length = p[0] < 0x80             ? 1
                      : (p[0] & 0xE0) == 0xC0 ? 2
                      : (p[0] & 0xF0) == 0xE0 ? 3
                      : (p[0] & 0xF8) == 0xF0 ? 4
                                              : 0;
    uint32_t value = length < 2 ? p[0] : p[0] & (0x7Fu >> length);

    for (unsigned i = 1; i < length; i++) {
        if (!is_continued(p[i]))
            return 0;
        value = value << 6 | (p[i] & 0x3Fu);
    }
    if (length == 0 || value < least[length] || value > 0x10FFFF
        || (value >= 0xD800 && value <= 0xDFFF))
        return 0;
    *ret_value = value;
    return length;
}

static bool
stands_for_byte(uint32_t value)
{
    return value >= FIRST + 0x80 && value <= FIRST + 0xFF;
}

/* The bytes that stay as they are at `p`; 0: the next byte must be replaced. */
static unsigned
measure_plain(const unsigned char *p)
{
    uint32_t value = 0;
    unsigned length = measure_character(p, &value);

    return stands_for_byte(value) ? 0 : length;
}

static char *
put_byte(char *out, unsigned char byte)
{
    const uint32_t value = FIRST + byte;

    *out++ = (char)(0xF0 | value >> 18);
    *out++ = (char)(0x80 | (value >> 12 & 0x3F));
    *out++ = (char)(0x80 | (value >> 6 & 0x3F));
    *out++ = (char)(0x80 | (value & 0x3F));
    return out;
}

const char *
byte_text_encode(struct arena *arena, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t replaced = 0;
    char *out, *begin;

    for (unsigned n; *p != '\0'; p += n) {
        n = measure_plain(p);
        if (n == 0) {
            replaced++;
            n = 1;
        }
    }
    if (replaced == 0)
        return text;
    begin = out = arena_text(arena, (size_t)(p - (const unsigned char *)text) + 3 * replaced);
    for (p = (const unsigned char *)text; *p != '\0';) {
        unsigned n = measure_plain(p);

        if (n == 0) {
            out = put_byte(out, *p++);
            continue;
        }
        memcpy(out, p, n);
        out += n;
        p += n;
    }
    return begin;
}

const char *
byte_text_decode(struct arena *arena, const char *text)
{
    char *copy, *out;

    /* The first byte of those characters; few texts have it. */
    if (strchr(text, 0xF4) == NULL)
        return text;
    copy = out = arena_strdup(arena, text);
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0';) {
        uint32_t value = 0;
        unsigned n = measure_character(p, &value);

        if (stands_for_byte(value)) {
            *out++ = (char)(value - FIRST);
        } else {
            n = n == 0 ? 1 : n;
            memcpy(out, p, n);
            out += n;
        }
        p += n;
    }
    *out = '\0';
    return copy;
}
