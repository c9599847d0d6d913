/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/id_ranges.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

#define MAX_DIGITS 18

static int
refuse(const char *text, size_t length, struct error *err)
{
    return error_set(err, -EINVAL,
                     "'%.*s' is neither a job id nor a range of job ids "
                     "(1042, 5,6, 10-20 or 1042_[3-9])",
                     (int)(length < 60 ? length : 60), text);
}

/* Reads a number of `length` digits. */
static bool
read_id(const char *text, size_t length, int64_t *ret_id)
{
    int64_t id = 0;

    if (length == 0)
        return false;
    for (; length > 1 && *text == '0'; length--)
        text++;
    if (length > MAX_DIGITS)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        id = id * 10 + (text[i] - '0');
    }
    *ret_id = id;
    return id > 0;
}

/* Reads one part between commas. */
static int
read_range(const char *text, size_t length, struct id_range *ret, struct error *err)
{
    const char *dash = memchr(text, '-', length);
    const size_t first = dash != NULL ? (size_t)(dash - text) : length;

    if (!read_id(text, first, &ret->first))
        return refuse(text, length, err);
    ret->last = ret->first;
    if (dash != NULL && !read_id(dash + 1, length - first - 1, &ret->last))
        return refuse(text, length, err);
    if (ret->last < ret->first)
        return error_set(err, -EINVAL, "the range %" PRId64 "-%" PRId64 " ends before it begins",
                         ret->first, ret->last);
    return 0;
}

static void
append(struct id_ranges *ranges, const struct id_range *item, struct arena *a)
{
    if (ranges->count == ranges->capacity) {
        const size_t capacity = ranges->capacity > 0 ? 2 * ranges->capacity : 8;
        struct id_range *items = arena_new_array(a, struct id_range, capacity);

        if (ranges->count > 0)
            memcpy(items, ranges->items, ranges->count * sizeof(*items));
        ranges->items = items;
        ranges->capacity = capacity;
    }
    ranges->items[ranges->count++] = *item;
}

/* The length up to a comma outside brackets. */
static size_t
part_length(const char *text)
{
    bool is_inside = false;
    size_t n = 0;

    for (; text[n] != '\0' && (text[n] != ',' || is_inside); n++)
        is_inside = text[n] == '[' || (is_inside && text[n] != ']');
    return n;
}

static int
compare(const void *a, const void *b)
{
    const struct id_range *x = a;
    const struct id_range *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* Sorts the ranges, joins adjacent and overlapping ones, and counts the ids. */
static void
normalize(struct id_ranges *ranges)
{
    size_t n = 0;

    ranges->total = 0;
    if (ranges->count > 1)
        qsort(ranges->items, ranges->count, sizeof(*ranges->items), compare);
    for (size_t i = 0; i < ranges->count; i++) {
        const struct id_range item = ranges->items[i];

        if (n > 0 && item.first <= ranges->items[n - 1].last + 1) {
            if (item.last > ranges->items[n - 1].last)
                ranges->items[n - 1].last = item.last;
        } else
            ranges->items[n++] = item;
    }
    ranges->count = n;
    /* There are at most ID_RANGES_MOST ranges of at most as many ids each, so
     * the sum does not overflow.
     */
    for (size_t i = 0; i < n; i++)
        ranges->total += ranges->items[i].last - ranges->items[i].first + 1;
}

static void
append_elements(struct id_ranges *ranges, const struct job_elements *more, struct arena *a)
{
    if (ranges->n_elements == ranges->elements_capacity) {
        const size_t capacity = ranges->n_elements > 0 ? 2 * ranges->n_elements : 4;
        struct job_elements *items = arena_new_array(a, struct job_elements, capacity);

        if (ranges->n_elements > 0)
            memcpy(items, ranges->elements, ranges->n_elements * sizeof(*items));
        ranges->elements = items;
        ranges->elements_capacity = capacity;
    }
    ranges->elements[ranges->n_elements++] = *more;
}

/* Whether the set has the whole job; elements of it are then redundant. */
static bool
has_job(const struct id_ranges *ranges, int64_t id)
{
    for (size_t i = 0; i < ranges->count; i++)
        if (id >= ranges->items[i].first && id <= ranges->items[i].last)
            return true;
    return false;
}

static int
compare_elements(const void *a, const void *b)
{
    const struct job_elements *x = a;
    const struct job_elements *y = b;

    return (x->job > y->job) - (x->job < y->job);
}

/* Joins several lists of one job by joining their texts, so that the parser
 * sorts them all at once, whatever their number.
 */
static int
join_elements(struct job_elements *items, size_t count, struct arena *arena, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (count == 1)
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            strbuf_add_char(&text, ',');
        task_list_format(&items[i].tasks, &text);
    }
    return task_list_parse(arena, text.text, &items[0].tasks, err);
}

static int
normalize_elements(struct id_ranges *ranges, struct arena *arena, struct error *err)
{
    struct job_elements *items = ranges->elements;
    const size_t count = ranges->n_elements;
    size_t n = 0;

    if (count > 1)
        qsort(items, count, sizeof(*items), compare_elements);
    for (size_t i = 0, next; i < count; i = next) {
        int r;

        for (next = i + 1; next < count && items[next].job == items[i].job;)
            next++;
        if (has_job(ranges, items[i].job))
            continue;
        r = join_elements(&items[i], next - i, arena, err);
        if (r < 0)
            return r;
        items[n++] = items[i];
    }
    ranges->n_elements = n;
    if (n > ID_RANGES_ARRAYS_MOST)
        return error_set(err, -EINVAL,
                         "these are elements of %zu arrays; one command "
                         "accepts at most %d",
                         n, ID_RANGES_ARRAYS_MOST);
    return 0;
}

/* Reads "5" or "10-20". A range that is too large is refused before any work on
 * it.
 */
static int
add_range(struct id_ranges *ranges, const char *text, size_t length, struct arena *arena,
          struct error *err)
{
    struct id_range item;
    int r = read_range(text, length, &item, err);

    if (r < 0)
        return r;
    if (item.last - item.first >= ID_RANGES_MOST)
        return error_set(err, -EINVAL,
                         "%" PRId64 "-%" PRId64 " are %" PRId64 " jobs; one "
                         "command accepts at most %d, but selects any number "
                         "of jobs by --user, --state, --name or --partition",
                         item.first, item.last, item.last - item.first + 1, ID_RANGES_MOST);
    append(ranges, &item, arena);
    return 0;
}

static int
add_part(struct id_ranges *ranges, const char *text, size_t length, struct arena *arena,
         struct error *err)
{
    struct job_elements elements;
    int r;

    if (!job_elements_looks_like(text))
        return add_range(ranges, text, length, arena, err);
    r = job_elements_parse(arena, arena_strndup(arena, text, length), &elements, err);
    if (r == 0)
        append_elements(ranges, &elements, arena);
    return r;
}

int
id_ranges_add(struct id_ranges *ranges, const char *text, struct arena *arena, struct error *err)
{
    struct id_ranges next = {0};
    int r = 0;

    for (size_t i = 0; i < ranges->count; i++)
        append(&next, &ranges->items[i], arena);
    for (size_t i = 0; i < ranges->n_elements; i++)
        append_elements(&next, &ranges->elements[i], arena);
    for (const char *at = text; next.count + next.n_elements <= ID_RANGES_MOST; at++) {
        const size_t length = part_length(at);

        r = add_part(&next, at, length, arena, err);
        if (r < 0)
            return r;
        at += length;
        if (*at == '\0')
            break;
    }
    normalize(&next);
    if (next.total > ID_RANGES_MOST || next.count + next.n_elements > ID_RANGES_MOST)
        return error_set(err, -EINVAL,
                         "more than %d jobs, the limit for one command; "
                         "--user, --state, --name and --partition select any "
                         "number",
                         ID_RANGES_MOST);
    r = normalize_elements(&next, arena, err);
    if (r == 0)
        *ranges = next;
    return r;
}

bool
id_ranges_looks_like(const char *text)
{
    return text[strcspn(text, "0123456789")] != '\0'
           && text[strspn(text, "0123456789,-_[]:")] == '\0';
}

void
id_ranges_format(const struct id_ranges *ranges, struct strbuf *out)
{
    for (size_t i = 0; i < ranges->count; i++) {
        const struct id_range *item = &ranges->items[i];

        strbuf_printf(out, "%s%" PRId64, i > 0 ? "," : "", item->first);
        if (item->last > item->first)
            strbuf_printf(out, "-%" PRId64, item->last);
    }
    for (size_t i = 0; i < ranges->n_elements; i++) {
        if (i > 0 || ranges->count > 0)
            strbuf_add_char(out, ',');
        job_elements_format(&ranges->elements[i], out);
    }
}
