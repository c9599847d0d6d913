/* SPDX-License-Identifier: Apache-2.0 */
/* Everybody's job names are on everybody's terminal, and a terminal obeys some of the bytes
 * that it is sent. Invisible characters and those that turn a line around are replaced as
 * well, because they make one name look like another.
 */
#include "cli/print/sanitize_text.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

static bool
is_c0(unsigned char c)
{
    return c < 0x20 || c == 0x7f;
}

static bool
is_c1(const char *text)
{
    return (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] >= 0x80
           && (unsigned char)text[1] < 0xa0;
}

/* Characters of three bytes that change the direction of a line (U+200E,
 * U+200F, U+202A to U+202E, U+2066 to U+2069), end it (U+2028, U+2029) or are
 * invisible (U+200B to U+200D, U+2060 to U+2064, U+FEFF).
 */
static bool
is_invisible(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;

    if (c[0] == 0xe2 && c[1] == 0x80)
        return (c[2] >= 0x8b && c[2] <= 0x8f) || (c[2] >= 0xa8 && c[2] <= 0xae);
    if (c[0] == 0xe2 && c[1] == 0x81)
        return c[2] >= 0xa0 && c[2] <= 0xa9;
    return c[0] == 0xef && c[1] == 0xbb && c[2] == 0xbf;
}

size_t
sanitize_text_in_place(char *text)
{
    char *out = text;

    for (const char *p = text; *p != '\0'; p++) {
        if (is_c1(p)) {
            *out++ = '?';
            p++;
        } else if (is_invisible(p)) {
            *out++ = '?';
            p += 2;
        } else if (*p == '\n' || *p == '\t') {
            *out++ = ' ';
        } else {
            *out++ = is_c0((unsigned char)*p) ? '?' : *p;
        }
    }
    *out = '\0';
    return (size_t)(out - text);
}

char *
sanitize_text_dup(const char *text)
{
    char *copy = xstrdup(text != NULL ? text : "");

    (void)sanitize_text_in_place(copy);
    return copy;
}

/* "-5", "+1.5", and "-", which stands for nothing. */
static bool
is_number(const char *text)
{
    return strchr("+-", text[0]) != NULL && text[1 + strspn(text + 1, "0123456789.:")] == '\0';
}

void
sanitize_text_add_csv(const char *text, struct strbuf *out)
{
    CLEANUP_FREE char *clean = sanitize_text_dup(text);
    const bool is_formula =
        clean[0] != '\0' && strchr("=+-@", clean[0]) != NULL && !is_number(clean);

    if (!is_formula && clean[strcspn(clean, ",\"")] == '\0') {
        strbuf_add_text(out, clean);
        return;
    }
    strbuf_add_char(out, '"');
    if (is_formula)
        strbuf_add_char(out, '\'');
    for (const char *p = clean; *p != '\0'; p++) {
        if (*p == '"')
            strbuf_add_char(out, '"');
        strbuf_add_char(out, *p);
    }
    strbuf_add_char(out, '"');
}
