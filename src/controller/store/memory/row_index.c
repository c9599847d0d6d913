/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing. Nobody outside chooses rows, so the hash needs no seed. */
#include "controller/store/memory/row_index.h"

#include <stdlib.h>

#include "lib/base/alloc.h"

#define CAPACITY_LEAST 64u /* a power of two */

struct row_slot {
    int64_t row; /* 0: free */
    struct entry *entry;
};

struct row_index {
    struct row_slot *slots;
    size_t capacity;
    size_t count;
};

void
row_index_free(struct row_index *x)
{
    if (x == NULL)
        return;
    free(x->slots);
    free(x);
}

struct row_index *
row_index_new(void)
{
    struct row_index *x = xnew(struct row_index);

    x->capacity = CAPACITY_LEAST;
    x->slots = xnew_array(struct row_slot, x->capacity);
    return x;
}

static size_t
home(const struct row_index *x, int64_t row)
{
    return (size_t)((uint64_t)row * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (x->capacity - 1);
}

/* The slot of the row, or the free one where it belongs. */
static size_t
place_of(const struct row_index *x, int64_t row)
{
    size_t i = home(x, row);

    while (x->slots[i].row != 0 && x->slots[i].row != row)
        i = (i + 1) & (x->capacity - 1);
    return i;
}

static void
grow(struct row_index *x)
{
    struct row_slot *old = x->slots;
    size_t n = x->capacity;

    x->capacity *= 2;
    x->slots = xnew_array(struct row_slot, x->capacity);
    for (size_t i = 0; i < n; i++)
        if (old[i].row != 0)
            x->slots[place_of(x, old[i].row)] = old[i];
    free(old);
}

void
row_index_add(struct row_index *x, int64_t row, struct entry *entry)
{
    if (x->count >= x->capacity / 4 * 3)
        grow(x);
    x->slots[place_of(x, row)] = (struct row_slot){row, entry};
    x->count++;
}

/* Rows behind the freed slot move into it, unless they would then be before their
 * home.
 */
static void
close_gap(struct row_index *x, size_t gap)
{
    size_t mask = x->capacity - 1;

    for (size_t i = (gap + 1) & mask; x->slots[i].row != 0; i = (i + 1) & mask) {
        size_t distance = (i - home(x, x->slots[i].row)) & mask;

        if (distance >= ((i - gap) & mask)) {
            x->slots[gap] = x->slots[i];
            x->slots[i] = (struct row_slot){0};
            gap = i;
        }
    }
}

struct entry *
row_index_remove(struct row_index *x, int64_t row)
{
    size_t i = place_of(x, row);
    struct entry *entry = x->slots[i].entry;

    if (x->slots[i].row == 0)
        return NULL;
    x->slots[i] = (struct row_slot){0};
    x->count--;
    close_gap(x, i);
    return entry;
}

struct entry *
row_index_find(const struct row_index *x, int64_t row)
{
    return x->slots[place_of(x, row)].entry;
}

size_t
row_index_count(const struct row_index *x)
{
    return x->count;
}
