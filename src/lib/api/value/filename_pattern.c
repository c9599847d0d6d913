/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/filename_pattern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/strbuf.h"

#define MAX_WIDTH 10

static const char *
value_of(char letter, const struct filename_pattern_values *v)
{
    switch (letter) {
    case 'j':
        return v->job_id;
    case 'x':
        return v->job_name;
    case 'u':
        return v->user;
    case 'N':
        return v->node;
    case '%':
        return "%";
    default:
        return NULL;
    }
}

static void
pad(const char *text, long width, struct strbuf *out)
{
    for (long i = (long)strlen(text); i < width && i < MAX_WIDTH; i++)
        strbuf_add_char(out, '0');
}

/* A value chosen by the user must not contain a path, so slashes are replaced.
 */
static void
add_part(const char *text, struct strbuf *out)
{
    for (const char *p = text; *p != '\0'; p++)
        strbuf_add_char(out, *p == '/' ? '_' : *p);
}

void
filename_pattern_expand(const char *pattern, const struct filename_pattern_values *values,
                        struct strbuf *out)
{
    for (const char *p = pattern; *p != '\0'; p++) {
        const char *letter = p + 1;
        const char *value;

        if (*p != '%') {
            strbuf_add_char(out, *p);
            continue;
        }
        while (isdigit((unsigned char)*letter))
            letter++;
        value = value_of(*letter, values);
        if (value == NULL) {
            strbuf_add_char(out, '%');
            continue;
        }
        if (*letter == 'j')
            pad(value, strtol(p + 1, NULL, 10), out);
        add_part(value, out);
        p = letter;
    }
}
