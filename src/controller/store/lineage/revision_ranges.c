/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/lineage/revision_ranges.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/strbuf.h"

static void
remove_at(struct revision_ranges *ranges, size_t at)
{
    ranges->count--;
    memmove(&ranges->list[at], &ranges->list[at + 1],
            (ranges->count - at) * sizeof(ranges->list[0]));
}

/* Makes one of the range and the next, and of what is between them. */
static void
join_next(struct revision_ranges *ranges, size_t at)
{
    if (ranges->list[at].before < ranges->list[at + 1].before)
        ranges->list[at].before = ranges->list[at + 1].before;
    remove_at(ranges, at + 1);
}

static void
join_nearest(struct revision_ranges *ranges)
{
    size_t best = 0;

    for (size_t i = 1; i + 1 < ranges->count; i++)
        if (ranges->list[i + 1].after - ranges->list[i].before
            < ranges->list[best + 1].after - ranges->list[best].before)
            best = i;
    join_next(ranges, best);
}

void
revision_ranges_add(struct revision_ranges *ranges, int64_t after, int64_t before)
{
    size_t at = ranges->count;

    if (before - after <= 1)
        return;
    while (at > 0 && ranges->list[at - 1].after > after)
        at--;
    memmove(&ranges->list[at + 1], &ranges->list[at],
            (ranges->count - at) * sizeof(ranges->list[0]));
    ranges->list[at] = (struct revision_range){.after = after, .before = before};
    ranges->count++;
    if (at > 0)
        at--;
    while (at + 1 < ranges->count) {
        if (ranges->list[at + 1].after < ranges->list[at].before)
            join_next(ranges, at);
        else if (ranges->list[at].after > after)
            break;
        else
            at++;
    }
    if (ranges->count > REVISION_RANGES_MOST)
        join_nearest(ranges);
}

void
revision_ranges_parse(const char *text, struct revision_ranges *ret_ranges)
{
    int64_t after, before;

    ret_ranges->count = 0;
    while (text != NULL && sscanf(text, "%" SCNd64 " %" SCNd64, &after, &before) == 2) {
        revision_ranges_add(ret_ranges, after, before);
        text = strchr(text, ';');
        text = text != NULL ? text + 1 : NULL;
    }
}

char *
revision_ranges_format(const struct revision_ranges *ranges)
{
    struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < ranges->count; i++)
        strbuf_printf(&text, "%" PRId64 " %" PRId64 ";", ranges->list[i].after,
                      ranges->list[i].before);
    return strbuf_take(&text);
}

bool
revision_ranges_covers(const struct revision_ranges *ranges, int64_t after, int64_t last)
{
    for (size_t i = 0; i < ranges->count; i++)
        if (ranges->list[i].after <= after && ranges->list[i].before > last)
            return true;
    return false;
}
