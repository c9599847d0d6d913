/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values/hostlist.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"

#define LONGEST 4096 /* bytes; limits the recursion for brackets */

struct host_expansion {
    struct arena *arena;
    const char *text; /* the whole text, for errors */
    const char **names;
    size_t count;
};

static int
refuse(const struct host_expansion *e, struct error *err)
{
    return error_set(err, -EINVAL, "'%s' is not a list of nodes (such as n1,n[4-7])", e->text);
}

static int
add_name(struct host_expansion *e, const char *name, struct error *err)
{
    if (e->count == HOSTLIST_MAX)
        return error_set(err, -E2BIG, "'%s' names more than %u nodes", e->text, HOSTLIST_MAX);
    e->names[e->count++] = name;
    return 0;
}

static bool
read_number(const char **p, unsigned *ret_value, int *ret_width)
{
    unsigned value = 0;
    int width = 0;

    while (isdigit((unsigned char)**p)) {
        if (++width > 8)
            return false;
        value = value * 10 + (unsigned)(*(*p)++ - '0');
    }
    *ret_value = value;
    *ret_width = width;
    return width > 0;
}

static int expand_name(struct host_expansion *e, const char *prefix, const char *rest,
                       size_t length, struct error *err);

/* Expands "4-7"; the text before and after the range stays the same. */
static int
expand_range(struct host_expansion *e, const char *prefix, const char **p, const char *rest,
             size_t length, struct error *err)
{
    unsigned first;
    unsigned last;
    int width;
    int last_width;

    if (!read_number(p, &first, &width))
        return refuse(e, err);
    last = first;
    if (**p == '-') {
        (*p)++;
        if (!read_number(p, &last, &last_width) || last < first)
            return refuse(e, err);
    }
    for (unsigned i = first; i <= last; i++) {
        int r =
            expand_name(e, arena_printf(e->arena, "%s%0*u", prefix, width, i), rest, length, err);

        if (r < 0)
            return r;
    }
    return 0;
}

/* Expands the first bracket of `rest`, after the finished prefix, and then the
 * brackets behind it.
 */
static int
expand_name(struct host_expansion *e, const char *prefix, const char *rest, size_t length,
            struct error *err)
{
    const char *open = memchr(rest, '[', length);
    const char *close;
    const char *start;
    const char *p;

    if (open == NULL) {
        if (memchr(rest, ']', length) != NULL)
            return refuse(e, err);
        return add_name(e, arena_printf(e->arena, "%s%.*s", prefix, (int)length, rest), err);
    }
    close = memchr(open, ']', length - (size_t)(open - rest));
    if (close == NULL)
        return refuse(e, err);
    start = arena_printf(e->arena, "%s%.*s", prefix, (int)(open - rest), rest);
    p = open + 1;
    for (;;) {
        int r = expand_range(e, start, &p, close + 1, length - (size_t)(close + 1 - rest), err);

        if (r < 0)
            return r;
        if (p == close)
            return 0;
        if (*p++ != ',')
            return refuse(e, err);
    }
}

/* Finds the comma that ends a name; commas in brackets do not end it. */
static size_t
name_length(const char *text)
{
    size_t n = 0;
    bool in_brackets = false;

    for (; text[n] != '\0'; n++) {
        if (text[n] == '[')
            in_brackets = true;
        else if (text[n] == ']')
            in_brackets = false;
        else if (text[n] == ',' && !in_brackets)
            break;
    }
    return n;
}

static bool
is_plausible(const char *text)
{
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && strchr("-_.[],", *text) == NULL)
            return false;
    return true;
}

int
hostlist_expand(struct arena *arena, const char *text, const char ***ret_names, size_t *ret_count,
                struct error *err)
{
    struct host_expansion e = {
        .arena = arena,
        .text = text,
        .names = arena_new_array(arena, const char *, HOSTLIST_MAX),
    };

    if (strlen(text) > LONGEST || !is_plausible(text))
        return refuse(&e, err);
    for (const char *p = text;; p++) {
        size_t length = name_length(p);
        int r = length > 0 ? expand_name(&e, "", p, length, err) : refuse(&e, err);

        if (r < 0)
            return r;
        p += length;
        if (*p == '\0')
            break;
    }
    *ret_names = e.names;
    *ret_count = e.count;
    return 0;
}
