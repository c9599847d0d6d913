/* SPDX-License-Identifier: Apache-2.0 */
/* reply_warnings.c - warnings to a client, in headers of bounded length */
#include "controller/apiserver/request/reply.h"

#include <stdarg.h>
#include <string.h>

#include "lib/base/arena.h"

/* Upstream's bounds: the characters of all warnings, and of each one when there
 * are more than that.
 */
#define WARNED_MAX    4096u
#define WARNING_SHORT 256u

/* Counts characters of UTF-8: each begins with a byte that is not a
 * continuation byte.
 */
static size_t
count_characters(const char *text)
{
    size_t n = 0;

    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static const char *
first_characters(struct arena *arena, const char *text, size_t most)
{
    size_t n = 0;

    for (const char *p = text; *p != '\0'; p++) {
        if (((unsigned char)*p & 0xc0) != 0x80 && n++ == most)
            return arena_strndup(arena, text, (size_t)(p - text));
    }
    return text;
}

/* The array has room for a NULL after the last warning. */
static void
add_warning(struct reply *r, const char *text)
{
    const char **longer;

    if (((r->n_warnings + 1) & r->n_warnings) == 0) {
        longer = arena_new_array(r->arena, const char *, 2 * (r->n_warnings + 1) + 1);
        if (r->n_warnings > 0)
            memcpy(longer, r->warnings, r->n_warnings * sizeof(*longer));
        r->warnings = longer;
    }
    r->warnings[r->n_warnings++] = text;
    r->warned += count_characters(text);
}

/* Cuts each warning to its beginning, and drops those that do not fit any more.
 */
static void
shorten_warnings(struct reply *r)
{
    size_t n = r->n_warnings;

    r->is_shortening_warnings = true;
    r->warned = 0;
    r->n_warnings = 0;
    for (size_t i = 0; i < n && r->warned < WARNED_MAX; i++) {
        r->warnings[i] = first_characters(r->arena, r->warnings[i], WARNING_SHORT);
        r->warned += count_characters(r->warnings[i]);
        r->n_warnings++;
    }
    r->warnings[r->n_warnings] = NULL;
}

/* As upstream: no warning is repeated, and when all together have more than
 * WARNED_MAX characters, each is shortened and the last ones are left out.
 */
void
reply_warn(struct reply *r, const char *format, ...)
{
    const char *text;
    va_list args;

    if (r->is_shortening_warnings && r->warned >= WARNED_MAX)
        return;
    va_start(args, format);
    text = arena_vprintf(r->arena, format, args);
    va_end(args);
    for (size_t i = 0; i < r->n_warnings; i++)
        if (strcmp(r->warnings[i], text) == 0)
            return;
    if (r->is_shortening_warnings)
        text = first_characters(r->arena, text, WARNING_SHORT);
    add_warning(r, text);
    if (!r->is_shortening_warnings && r->warned > WARNED_MAX)
        shorten_warnings(r);
}
