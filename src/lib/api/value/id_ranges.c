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
    return error_set(err,
                     -EINVAL,
                     "'%.*s' is no job id, and no range of them (1042, 5,6 or "
                     "10-20)",
                     (int)(length < 60 ? length : 60),
                     text);
}

/* A number of `length` digits. */
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

/* One part between commas. */
static int
read_range(const char *text,
           size_t length,
           struct id_range *ret,
           struct error *err)
{
    const char *dash = memchr(text, '-', length);
    const size_t first = dash != NULL ? (size_t)(dash - text) : length;

    if (!read_id(text, first, &ret->first))
        return refuse(text, length, err);
    ret->last = ret->first;
    if (dash != NULL && !read_id(dash + 1, length - first - 1, &ret->last))
        return refuse(text, length, err);
    if (ret->last < ret->first)
        return error_set(err,
                         -EINVAL,
                         "the range %" PRId64 "-%" PRId64
                         " ends before it begins",
                         ret->first,
                         ret->last);
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

static int
compare(const void *a, const void *b)
{
    const struct id_range *x = a;
    const struct id_range *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* Sorts, joins what meets, and counts. */
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
    /* No range and no number of them is above ID_RANGES_MOST, so the sum does
     * not overflow.
     */
    for (size_t i = 0; i < n; i++)
        ranges->total += ranges->items[i].last - ranges->items[i].first + 1;
}

int
id_ranges_add(struct id_ranges *ranges,
              const char *text,
              struct arena *arena,
              struct error *err)
{
    struct id_ranges next = {0};

    for (size_t i = 0; i < ranges->count; i++)
        append(&next, &ranges->items[i], arena);
    for (const char *at = text;;) {
        const size_t length = strcspn(at, ",");
        struct id_range item;
        int r = read_range(at, length, &item, err);

        if (r < 0)
            return r;
        if (item.last - item.first >= ID_RANGES_MOST)
            return error_set(err,
                             -EINVAL,
                             "%" PRId64 "-%" PRId64 " are %" PRId64
                             " jobs; one command takes %d at most, or selects "
                             "any number of them by --user, --state, --name "
                             "or --partition",
                             item.first,
                             item.last,
                             item.last - item.first + 1,
                             ID_RANGES_MOST);
        if (next.count > ID_RANGES_MOST)
            break;
        append(&next, &item, arena);
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    normalize(&next);
    if (next.total > ID_RANGES_MOST || next.count > ID_RANGES_MOST)
        return error_set(err,
                         -EINVAL,
                         "these are more than %d jobs, which is the most for "
                         "one command; --user, --state, --name and "
                         "--partition select any number",
                         ID_RANGES_MOST);
    *ranges = next;
    return 0;
}

bool
id_ranges_looks_like(const char *text)
{
    return text[strcspn(text, "0123456789")] != '\0'
           && text[strspn(text, "0123456789,-")] == '\0';
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
}
