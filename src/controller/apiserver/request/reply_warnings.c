/* SPDX-License-Identifier: Apache-2.0 */
/* reply_warnings.c - what a client is warned of, in headers of bounded length */
#include "controller/apiserver/request/reply.h"

#include <stdarg.h>
#include <string.h>

#include "lib/base/arena.h"

/* Upstream's bounds on warnings: characters of all, and of each beyond that. */
#define WARNED_MAX    4096u
#define WARNING_SHORT 256u

/* Characters, of which each begins with a byte that is no continuation. */
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

/* With the array's NULL behind the last one. */
static void
add_warning(struct reply *r, const char *text)
{
    const char **longer;

    if (((r->n_warnings + 1) & r->n_warnings) == 0) {
        longer = arena_new_array(r->arena,
                                 const char *,
                                 2 * (r->n_warnings + 1) + 1);
        if (r->n_warnings > 0)
            memcpy(longer, r->warnings, r->n_warnings * sizeof(*longer));
        r->warnings = longer;
    }
    r->warnings[r->n_warnings++] = text;
    r->warned += count_characters(text);
}

/* Each at its beginning, as far as there is room for. */
static void
shorten_warnings(struct reply *r)
{
    size_t n = r->n_warnings;

    r->is_shortening_warnings = true;
    r->warned = 0;
    r->n_warnings = 0;
    for (size_t i = 0; i < n && r->warned < WARNED_MAX; i++) {
        r->warnings[i] =
            first_characters(r->arena, r->warnings[i], WARNING_SHORT);
        r->warned += count_characters(r->warnings[i]);
        r->n_warnings++;
    }
    r->warnings[r->n_warnings] = NULL;
}

/* As upstream's: no two alike, and with more than WARNED_MAX characters of all
 * each is shortened and the last ones are left out.
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
