/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/harmless.h"

#include <stdbool.h>

#include "lib/base/alloc.h"

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

char *
harmless_dup(const char *text)
{
    char *copy = xstrdup(text != NULL ? text : "");
    char *out = copy;

    for (const char *p = copy; *p != '\0'; p++) {
        if (is_c1(p)) {
            *out++ = '?';
            p++;
        } else if (*p == '\n' || *p == '\t') {
            *out++ = ' ';
        } else {
            *out++ = is_c0((unsigned char)*p) ? '?' : *p;
        }
    }
    *out = '\0';
    return copy;
}
