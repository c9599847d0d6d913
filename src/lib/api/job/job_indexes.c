/* SPDX-License-Identifier: Apache-2.0 */
/* job_indexes.c - lists of indexes, such as "1,3-5" */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/job/job_rules.h"
#include "lib/base/arena.h"

struct job_interval {
    int64_t first, last;
};

static int
refuse(const char **ret_why, const char *why)
{
    *ret_why = why;
    return -EINVAL;
}

static int
read_index(struct arena *arena, const char *text, size_t length, int64_t completions,
           int64_t *ret_index, const char **ret_why)
{
    char *part = arena_strndup(arena, text, length);
    char *end;
    long long n;

    errno = 0;
    n = strtoll(part, &end, 10);
    if (length == 0 || *end != '\0' || errno != 0 || *part == ' ')
        return refuse(ret_why, arena_printf(arena,
                                            "cannot convert string to integer for "
                                            "index: \"%s\"",
                                            part));
    if (n >= completions)
        return refuse(ret_why, arena_printf(arena, "too large index: \"%s\"", part));
    *ret_index = n;
    return 0;
}

static int
refuse_order(struct arena *arena, int64_t previous, int64_t current, const char **ret_why)
{
    return refuse(ret_why,
                  arena_printf(arena,
                               "non-increasing order, previous: %" PRId64 ", current: %" PRId64,
                               previous, current));
}

/* Parses one interval of `length` bytes: "3" or "3-5". */
static int
read_interval(struct arena *arena, const char *text, size_t length, int64_t completions,
              struct job_interval *ret, const char **ret_why)
{
    const char *dash = memchr(text, '-', length);
    size_t first = dash != NULL ? (size_t)(dash - text) : length;
    size_t rest = length - first;
    int r;

    if (rest > 1 && memchr(dash + 1, '-', rest - 1) != NULL)
        return refuse(ret_why, arena_printf(arena,
                                            "the fragment \"%s\" violates the requirement that an "
                                            "index interval can have at most two parts separated "
                                            "by '-'",
                                            arena_strndup(arena, text, length)));
    r = read_index(arena, text, first, completions, &ret->first, ret_why);
    ret->last = ret->first;
    if (r < 0 || dash == NULL)
        return r;
    r = read_index(arena, dash + 1, rest - 1, completions, &ret->last, ret_why);
    if (r == 0 && ret->first >= ret->last)
        return refuse_order(arena, ret->first, ret->last, ret_why);
    return r;
}

/* Parses the interval at *text; *text becomes NULL after the last one. */
static int
job_indexes_next(struct arena *arena, const char **text, int64_t completions,
                 struct job_interval *ret, const char **ret_why)
{
    size_t length = strcspn(*text, ",");
    int r = read_interval(arena, *text, length, completions, ret, ret_why);

    *text += length;
    if (**text == ',')
        ++*text;
    else
        *text = NULL;
    return r;
}

int
job_indexes_count(struct arena *arena, const char *text, int64_t completions, int64_t *ret_total,
                  const char **ret_why)
{
    const char *at = *text != '\0' ? text : NULL;
    struct job_interval i = {0};
    int64_t total = 0, previous = -1;

    while (at != NULL) {
        int r = job_indexes_next(arena, &at, completions, &i, ret_why);

        if (r < 0)
            return r;
        if (previous >= i.first)
            return refuse_order(arena, previous, i.first, ret_why);
        total += i.last - i.first + 1;
        previous = i.last;
    }
    *ret_total = total;
    return 0;
}

bool
job_indexes_overlap(struct arena *arena, const char *a, const char *b, int64_t completions,
                    int64_t *ret_at)
{
    struct job_interval x, y = {.last = -1};
    const char *why;

    b = *b != '\0' ? b : NULL;
    for (a = *a != '\0' ? a : NULL; a != NULL;) {
        if (job_indexes_next(arena, &a, completions, &x, &why) < 0)
            return false;
        while (y.last < x.first && b != NULL)
            if (job_indexes_next(arena, &b, completions, &y, &why) < 0)
                return false;
        if (y.last >= x.first && y.first <= x.last) {
            *ret_at = y.first > x.first ? y.first : x.first;
            return true;
        }
    }
    return false;
}
