/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/index_set.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

void
index_set_fini(struct index_set *s)
{
    free(s->ranges);
    *s = (struct index_set){0};
}

/* The place of the first range that ends at or after the index; `count`: none
 * does.
 */
static size_t
find(const struct index_set *s, int64_t index)
{
    size_t low = 0, high = s->count;

    /* Most searches are for an index near the end. */
    if (high > 0 && s->ranges[high - 1].last < index)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (s->ranges[middle].last < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t
length(const struct index_range *r)
{
    return r->last - r->first + 1;
}

static void
insert(struct index_set *s, size_t at, int64_t first, int64_t last)
{
    if (s->count == s->room) {
        s->room = s->room ? s->room * 2 : 1;
        s->ranges = xrealloc_array(s->ranges, s->room, sizeof(*s->ranges));
    }
    memmove(&s->ranges[at + 1], &s->ranges[at], (s->count - at) * sizeof(*s->ranges));
    s->ranges[at] = (struct index_range){first, last};
    s->count++;
    s->total += length(&s->ranges[at]);
}

static void
take_out(struct index_set *s, size_t at, size_t n)
{
    for (size_t i = at; i < at + n; i++)
        s->total -= length(&s->ranges[i]);
    memmove(&s->ranges[at], &s->ranges[at + n], (s->count - at - n) * sizeof(*s->ranges));
    s->count -= n;
}

void
index_set_add_range(struct index_set *s, int64_t first, int64_t last)
{
    /* A range that ends just before `first` is extended. */
    size_t at = find(s, first > 0 ? first - 1 : first);
    size_t end = at;
    struct index_range *r;

    if (at == s->count || s->ranges[at].first > last + 1) {
        insert(s, at, first, last);
        return;
    }
    r = &s->ranges[at];
    s->total -= length(r);
    if (first < r->first)
        r->first = first;
    while (end + 1 < s->count && s->ranges[end + 1].first <= last + 1)
        end++;
    if (s->ranges[end].last > last)
        last = s->ranges[end].last;
    if (r->last < last)
        r->last = last;
    s->total += length(r);
    take_out(s, at + 1, end - at);
}

void
index_set_add(struct index_set *s, int64_t index)
{
    index_set_add_range(s, index, index);
}

void
index_set_remove(struct index_set *s, int64_t index)
{
    size_t at = find(s, index);
    struct index_range was;

    if (at == s->count || s->ranges[at].first > index)
        return;
    was = s->ranges[at];
    take_out(s, at, 1);
    if (was.last > index)
        insert(s, at, index + 1, was.last);
    if (was.first < index)
        insert(s, at, was.first, index - 1);
}

bool
index_set_has(const struct index_set *s, int64_t index)
{
    size_t at = find(s, index);

    return at < s->count && s->ranges[at].first <= index;
}

int64_t
index_set_count(const struct index_set *s)
{
    return s->total;
}

int64_t
index_set_count_below(const struct index_set *s, int64_t end)
{
    int64_t count = s->total;

    for (size_t i = s->count; i > 0 && s->ranges[i - 1].last >= end; i--) {
        const struct index_range *r = &s->ranges[i - 1];

        count -= r->last - (r->first > end ? r->first : end) + 1;
    }
    return count;
}

int64_t
index_set_count_common(const struct index_set *a, const struct index_set *b)
{
    int64_t count = 0;

    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const struct index_range *x = &a->ranges[i], *y = &b->ranges[j];
        int64_t first = x->first > y->first ? x->first : y->first;
        int64_t last = x->last < y->last ? x->last : y->last;

        if (first <= last)
            count += last - first + 1;
        if (x->last < y->last)
            i++;
        else
            j++;
    }
    return count;
}

int64_t
index_set_gap(const struct index_set *s, int64_t from)
{
    size_t at = find(s, from);

    if (at < s->count && s->ranges[at].first <= from)
        return s->ranges[at].last + 1;
    return from;
}

int64_t
index_set_next(const struct index_set *s, int64_t from)
{
    size_t at = find(s, from);

    if (at == s->count)
        return INT64_MAX;
    return s->ranges[at].first > from ? s->ranges[at].first : from;
}

void
index_set_format(const struct index_set *s, int64_t end, struct strbuf *out)
{
    for (size_t i = 0; i < s->count && s->ranges[i].first < end; i++) {
        int64_t first = s->ranges[i].first;
        int64_t last = s->ranges[i].last < end ? s->ranges[i].last : end - 1;

        strbuf_printf(out, "%s%" PRId64, i > 0 ? "," : "", first);
        if (last > first)
            strbuf_printf(out, "%c%" PRId64, last > first + 1 ? '-' : ',', last);
    }
}

static bool
take_number(const char **text, int64_t *ret)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    *ret = strtoll(*text, &end, 10);
    *text = end;
    return *ret < INT64_MAX;
}

bool
index_set_parse(struct index_set *s, const char *text)
{
    int64_t first, last;

    while (*text != '\0') {
        if (!take_number(&text, &first))
            return false;
        last = first;
        if (*text == '-') {
            text++;
            if (!take_number(&text, &last) || last < first)
                return false;
        }
        index_set_add_range(s, first, last);
        if (*text != '\0' && *text++ != ',')
            return false;
    }
    return true;
}
