/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/task_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/value/task_sets.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

/* The limit of memory, in bytes, for intermediate ranges: ranges that overlap
 * again and again could make work without end.
 */
#define MOST_SCRATCH ((size_t)16 << 20)

/* ----------------------------------------------------------- ranges */

/* A position in sorted ranges: one id of one range. */
struct range_position {
    const struct task_range *range, *end;
    int64_t id;
};

static bool
advance(struct range_position *place)
{
    if (place->id < place->range->last) {
        place->id += place->range->step;
        return true;
    }
    if (place->range + 1 >= place->end)
        return false;
    place->range++;
    place->id = place->range->first;
    return true;
}

/* Follows the longest run of ids with that step, and moves the position behind
 * the run. False: nothing follows the run.
 */
static bool
follow(struct range_position *place, int64_t step, int64_t *ret_last)
{
    for (;;) {
        int64_t last = place->id;

        if (place->range->step == step)
            last = place->id = place->range->last;
        *ret_last = last;
        if (!advance(place))
            return false;
        if (place->id - last != step)
            return true;
    }
}

static void
append(struct task_range *ranges, struct task_list *list, int64_t first, int64_t last, int64_t step)
{
    ranges[list->count++] =
        (struct task_range){.first = first, .last = last, .step = step, .before = list->total};
    list->total += (last - first) / step + 1;
}

/* A range of several ids has a step of 1 or at least three ids, so that each
 * set has exactly one list. The given ranges may be cut in any way.
 */
int
task_list_of_ranges(struct arena *arena, const struct task_range *ranges, size_t count,
                    struct task_list *ret_list, struct error *err)
{
    struct task_list list = {0};
    struct task_range *made;
    struct range_position at = {ranges, count > 0 ? ranges + count : NULL, 0};
    bool more = count > 0;

    /* At most two ranges begin within a given one, since three of its ids form
     * a run.
     */
    made = arena_new_array(arena, struct task_range, 2 * count + 1);
    at.id = more ? ranges[0].first : 0;
    while (more) {
        const int64_t first = at.id;
        struct range_position second = at, third;
        int64_t last = first, step = 1;

        more = advance(&second);
        third = second;
        if (more
            && (second.id == first + 1
                || (advance(&third) && third.id - second.id == second.id - first))) {
            step = second.id - first;
            more = follow(&second, step, &last);
        }
        at = second;
        append(made, &list, first, last, step);
    }
    if (list.count > TASK_LIST_RANGES_MOST)
        return error_set(err, -EINVAL,
                         "%zu ranges of task ids are more than the limit of "
                         "%d; ids next to each other and equal steps (1-99:2) "
                         "count as one range",
                         list.count, TASK_LIST_RANGES_MOST);
    list.ranges = made;
    *ret_list = list;
    return 0;
}

/* ------------------------------------------------------------- text */

static int
refuse(const char *text, size_t length, struct error *err)
{
    if (length == 0)
        return error_set(err, -EINVAL, "a task id is missing next to a comma (3,5,9-12)");
    return error_set(err, -EINVAL,
                     "'%.*s' is neither a task id nor a range of task ids (7, "
                     "3-9 or 1-1000:7)",
                     (int)(length < 60 ? length : 60), text);
}

/* Reads digits at *text and moves *text behind them. */
static int
read_number(const char **text, int64_t *ret_number)
{
    int64_t number = 0;

    if (**text < '0' || **text > '9')
        return -EINVAL;
    for (; **text >= '0' && **text <= '9'; ++*text) {
        number = number * 10 + (**text - '0');
        if (number > TASK_ID_MOST)
            return -ERANGE;
    }
    *ret_number = number;
    return 0;
}

/* Reads one part between commas: "7", "3-9", "1-1000:7". */
static int
read_range(const char *text, size_t length, struct task_range *range)
{
    const char *at = text;
    int r = read_number(&at, &range->first);

    range->last = range->first;
    range->step = 1;
    if (r == 0 && *at == '-') {
        at++;
        r = read_number(&at, &range->last);
        if (r == 0 && *at == ':') {
            at++;
            r = read_number(&at, &range->step);
        }
    }
    return r == 0 && at != text + length ? -EINVAL : r;
}

static int
read_part(const char *text, size_t length, struct task_range *range, struct error *err)
{
    const int shown = (int)(length < 60 ? length : 60);
    const int r = read_range(text, length, range);

    if (r == -ERANGE)
        return error_set(err, -EINVAL, "'%.*s': the largest task id is %" PRId64, shown, text,
                         TASK_ID_MOST);
    if (r < 0)
        return refuse(text, length, err);
    if (range->last < range->first)
        return error_set(err, -EINVAL, "the range '%.*s' ends before it begins", shown, text);
    if (range->step == 0)
        return error_set(err, -EINVAL,
                         "the range '%.*s' has a step of 0; use a step of 1 "
                         "for every id",
                         shown, text);
    range->last -= (range->last - range->first) % range->step;
    if (range->first == range->last)
        range->step = 1;
    return 0;
}

static int
compare(const void *a, const void *b)
{
    const struct task_range *x = a;
    const struct task_range *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* Unites sorted ranges that may overlap: each half first, then both results. */
static int
unite_ranges(struct arena *arena, const struct task_range *ranges, size_t count,
             struct task_list *ret_list, struct error *err)
{
    struct task_list low, high;
    bool apart = true;
    int r;

    for (size_t i = 1; i < count && apart; i++)
        apart = ranges[i].first > ranges[i - 1].last;
    if (apart)
        return task_list_of_ranges(arena, ranges, count, ret_list, err);
    if (arena_bytes(arena) > MOST_SCRATCH)
        return error_set(err, -EINVAL,
                         "these ranges of task ids overlap too often; "
                         "separate ranges, or ranges with equal steps, are "
                         "possible");
    r = unite_ranges(arena, ranges, count / 2, &low, err);
    if (r == 0)
        r = unite_ranges(arena, ranges + count / 2, count - count / 2, &high, err);
    return r == 0 ? task_sets_unite(arena, &low, &high, ret_list, err) : r;
}

int
task_list_parse(struct arena *arena, const char *text, struct task_list *ret_list,
                struct error *err)
{
    CLEANUP(arena_freep) struct arena *scratch = NULL;
    struct task_range *ranges;
    size_t parts = 1, n = 0;
    int r;

    if (*text == '\0') {
        *ret_list = (struct task_list){0};
        return 0;
    }
    for (const char *p = text; *p != '\0'; p++)
        parts += *p == ',';
    if (parts > TASK_LIST_RANGES_MOST)
        return error_set(err, -EINVAL,
                         "%zu task ids and ranges are more than the limit of "
                         "%d; use ranges (3-9, 1-99:2) to write fewer",
                         parts, TASK_LIST_RANGES_MOST);
    scratch = arena_new(0);
    ranges = arena_new_array(scratch, struct task_range, parts);
    for (const char *at = text; n < parts; n++) {
        const size_t length = strcspn(at, ",");

        r = read_part(at, length, &ranges[n], err);
        if (r < 0)
            return r;
        at += length + 1;
    }
    qsort(ranges, n, sizeof(*ranges), compare);
    r = unite_ranges(scratch, ranges, n, ret_list, err);
    if (r == 0)
        ret_list->ranges =
            arena_memdup(arena, ret_list->ranges, ret_list->count * sizeof(*ret_list->ranges));
    return r;
}

void
task_list_format(const struct task_list *list, struct strbuf *out)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct task_range *range = &list->ranges[i];

        strbuf_printf(out, "%s%" PRId64, i > 0 ? "," : "", range->first);
        if (range->last > range->first)
            strbuf_printf(out, "-%" PRId64, range->last);
        if (range->step > 1)
            strbuf_printf(out, ":%" PRId64, range->step);
    }
}

/* ------------------------------------------------------------- look */

int64_t
task_list_at(const struct task_list *list, int64_t index)
{
    size_t low = 0, high = list->count;

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        if (list->ranges[middle].before <= index)
            low = middle;
        else
            high = middle;
    }
    return list->ranges[low].first + (index - list->ranges[low].before) * list->ranges[low].step;
}

int64_t
task_list_index(const struct task_list *list, int64_t id)
{
    size_t low = 0, high = list->count;
    const struct task_range *range;

    if (high == 0)
        return -1;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        if (list->ranges[middle].first <= id)
            low = middle;
        else
            high = middle;
    }
    range = &list->ranges[low];
    if (id < range->first || id > range->last || (id - range->first) % range->step != 0)
        return -1;
    return range->before + (id - range->first) / range->step;
}
