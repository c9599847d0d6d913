/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/text_width.h"

#include <locale.h>
#include <pthread.h>
#include <stdint.h>
#include <wchar.h>

/* The locale is made once; the C library has it built in. */
static locale_t utf8;
static pthread_once_t utf8_once = PTHREAD_ONCE_INIT;

static void
make_utf8(void)
{
    utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* Returns the length of the character in bytes; 1 for invalid UTF-8 (then
 * *ret_code is U+FFFD). The text must not be empty.
 */
static size_t
decode(const char *text, uint32_t *ret_code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *c = (const unsigned char *)text;
    const size_t n = c[0] < 0x80             ? 1
                     : (c[0] & 0xe0) == 0xc0 ? 2
                     : (c[0] & 0xf0) == 0xe0 ? 3
                     : (c[0] & 0xf8) == 0xf0 ? 4
                                             : 0;
    uint32_t code = n == 1 ? c[0] : n > 0 ? c[0] & (0x7fu >> n) : 0;

    *ret_code = 0xfffd;
    if (n == 0)
        return 1;
    for (size_t i = 1; i < n; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return 1;
        code = code << 6 | (c[i] & 0x3f);
    }
    if (code < least[n] || code > 0x10ffff || (code & 0xfffff800u) == 0xd800)
        return 1;
    *ret_code = code;
    return n;
}

static size_t
width_of(uint32_t code)
{
    const int width = wcwidth((wchar_t)code);

    return width >= 0 ? (size_t)width : 1;
}

/* Walks over as many characters as fit into `columns`. */
static size_t
walk(const char *text, size_t columns, size_t *ret_width)
{
    locale_t before = (locale_t)0;
    size_t width = 0;
    size_t at = 0;

    pthread_once(&utf8_once, make_utf8);
    if (utf8 != (locale_t)0)
        before = uselocale(utf8);
    while (text[at] != '\0') {
        uint32_t code;
        const size_t n = decode(text + at, &code);
        const size_t w = code < 0x7f ? 1 : width_of(code);

        if (w > columns - width)
            break;
        width += w;
        at += n;
    }
    if (before != (locale_t)0)
        uselocale(before);
    *ret_width = width;
    return at;
}

size_t
text_width(const char *text)
{
    size_t width;

    walk(text, SIZE_MAX, &width);
    return width;
}

size_t
text_width_cut(const char *text, size_t columns)
{
    size_t width;

    return walk(text, columns, &width);
}
