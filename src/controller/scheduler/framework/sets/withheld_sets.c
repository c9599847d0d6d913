/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/framework/sets/withheld_sets.h"

#include <stdlib.h>

#include "lib/base/alloc.h"

struct withheld_window {
    int64_t from_us;
    const struct node_bits *nodes;
};

struct withheld_sets {
    uint64_t *last_id;
    uint64_t since;            /* the first id that these windows use */
    int64_t from_us, until_us; /* start times that the windows are right for */
    struct withheld_window *windows;
    unsigned count, capacity;
    struct node_set **sets; /* [N]: of the first N; NULL: not made yet */
};

struct withheld_sets *
withheld_sets_new(uint64_t *last_id)
{
    struct withheld_sets *s = xnew(struct withheld_sets);

    s->last_id = last_id;
    return s;
}

void
withheld_sets_forget(struct withheld_sets *s)
{
    for (unsigned i = 0; s->sets != NULL && i <= s->count; i++)
        if (s->sets[i] != NULL) {
            node_bits_fini(&s->sets[i]->bits);
            free(s->sets[i]);
        }
    free(s->sets);
    s->sets = NULL;
    s->count = 0;
    s->from_us = s->until_us = 0;
}

void
withheld_sets_free(struct withheld_sets *s)
{
    if (s == NULL)
        return;
    withheld_sets_forget(s);
    free(s->windows);
    free(s);
}

void
withheld_sets_begin(struct withheld_sets *s, int64_t from_us)
{
    withheld_sets_forget(s);
    s->from_us = from_us;
    s->until_us = INT64_MAX;
}

void
withheld_sets_add(struct withheld_sets *s, int64_t from_us, int64_t until_us,
                  const struct node_bits *nodes)
{
    xgrow(s->windows, s->count, s->capacity);
    s->windows[s->count++] = (struct withheld_window){from_us, nodes};
    if (until_us < s->until_us)
        s->until_us = until_us;
}

static int
window_order(const void *a, const void *b)
{
    const struct withheld_window *left = a, *right = b;

    return left->from_us < right->from_us ? -1 : left->from_us > right->from_us;
}

void
withheld_sets_end(struct withheld_sets *s)
{
    if (s->count > 1)
        qsort(s->windows, s->count, sizeof(*s->windows), window_order);
    s->sets = xcalloc(s->count + 1, sizeof(struct node_set *));
    s->since = *s->last_id + 1;
}

bool
withheld_sets_hold(const struct withheld_sets *s, int64_t from_us)
{
    return s->sets != NULL && from_us >= s->from_us && from_us < s->until_us;
}

/* The number of windows that begin before that time. */
static unsigned
count_before(const struct withheld_sets *s, int64_t until_us)
{
    unsigned low = 0, high = s->count;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (s->windows[middle].from_us < until_us)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct node_set *
withheld_sets_find(struct withheld_sets *s, int64_t until_us)
{
    unsigned count = count_before(s, until_us), within = count;
    struct node_set *set;

    if (count == 0)
        return NULL;
    if (s->sets[count] != NULL)
        return s->sets[count];
    set = xnew(struct node_set);
    set->id = ++*s->last_id;
    set->since = s->since;
    while (within > 0 && s->sets[within] == NULL)
        within--;
    if (within > 0)
        node_bits_add(&set->bits, &s->sets[within]->bits);
    for (; within < count; within++)
        node_bits_add(&set->bits, s->windows[within].nodes);
    s->sets[count] = set;
    return set;
}
