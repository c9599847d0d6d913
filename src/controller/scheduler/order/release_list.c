/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/order/release_list.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

void
release_list_fini(struct release_list *l)
{
    free(l->items);
    free(l->sums);
    *l = (struct release_list){0};
}

/* The index of the first entry at that time or later. */
static size_t
find_place(const struct release_list *l, int64_t at_s)
{
    size_t low = 0, high = l->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (l->items[middle].at_s < at_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void
release_list_add(struct release_list *l, int64_t at_s, int64_t mcpu)
{
    size_t at = find_place(l, at_s);

    xgrow(l->items, l->count, l->capacity);
    memmove(l->items + at + 1, l->items + at, (l->count - at) * sizeof(*l->items));
    l->items[at] = (struct release){at_s, mcpu};
    l->count++;
    l->has_sums = false;
}

void
release_list_remove(struct release_list *l, int64_t at_s, int64_t mcpu)
{
    size_t at = find_place(l, at_s);

    while (at < l->count && l->items[at].at_s == at_s && l->items[at].mcpu != mcpu)
        at++;
    if (at == l->count || l->items[at].at_s != at_s)
        return;
    l->count--;
    memmove(l->items + at, l->items + at + 1, (l->count - at) * sizeof(*l->items));
    l->has_sums = false;
}

static void
make_sums(struct release_list *l)
{
    int64_t sum = 0;

    if (l->n_sums < l->capacity) {
        l->n_sums = l->capacity;
        l->sums = xrealloc_array(l->sums, l->n_sums, sizeof(*l->sums));
    }
    for (size_t i = 0; i < l->count; i++)
        l->sums[i] = sum += l->items[i].mcpu;
    l->has_sums = true;
}

int64_t
release_list_find(struct release_list *l, int64_t mcpu, int64_t *ret_mcpu)
{
    size_t low = 0, high = l->count;

    if (ret_mcpu != NULL)
        *ret_mcpu = 0;
    if (mcpu <= 0)
        return INT64_MIN;
    if (!l->has_sums)
        make_sums(l);
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (l->sums[middle] < mcpu)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == l->count)
        return RELEASE_NEVER;
    for (high = low; high + 1 < l->count && l->items[high + 1].at_s == l->items[low].at_s;)
        high++;
    if (ret_mcpu != NULL)
        *ret_mcpu = l->sums[high];
    return l->items[low].at_s;
}
