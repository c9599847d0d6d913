/* SPDX-License-Identifier: Apache-2.0 */
/* Each element stores its own index, so any of them can be removed or moved in O(log n); a
 * queue whose entries change their keys needs that more often than the top. Removal moves the
 * hole down without comparing the element that fills it, because that one usually belongs near
 * the bottom.
 */
#include "lib/base/heap.h"

#include "lib/base/alloc.h"

struct heap {
    void **items;
    size_t count;
    size_t capacity;
    heap_less_fn less;
    void *context;
    size_t place_offset;
};

struct heap *
heap_new(heap_less_fn less, void *context, size_t place_offset)
{
    struct heap *h = xnew(struct heap);

    h->less = less;
    h->context = context;
    h->place_offset = place_offset;
    return h;
}

void
heap_free(struct heap *h)
{
    if (h == NULL)
        return;
    free(h->items);
    free(h);
}

static size_t *
place_of(const struct heap *h, void *element)
{
    return (size_t *)(void *)((char *)element + h->place_offset);
}

static void
set(struct heap *h, size_t i, void *element)
{
    h->items[i] = element;
    *place_of(h, element) = i;
}

static void
sift_up(struct heap *h, size_t i)
{
    void *element = h->items[i];

    while (i > 0) {
        size_t parent = (i - 1) / 2;

        if (!h->less(element, h->items[parent], h->context))
            break;
        set(h, i, h->items[parent]);
        i = parent;
    }
    set(h, i, element);
}

static void
sift_down(struct heap *h, size_t i)
{
    void *element = h->items[i];

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= h->count)
            break;
        if (child + 1 < h->count && h->less(h->items[child + 1], h->items[child], h->context))
            child++;
        if (!h->less(h->items[child], element, h->context))
            break;
        set(h, i, h->items[child]);
        i = child;
    }
    set(h, i, element);
}

/* The element that replaces a removed one usually comes from the bottom and
 * belongs there: move the hole down without comparing the element, then move
 * the element up. The element ends above its equals, as after sift_down.
 */
static void
sink(struct heap *h, size_t i)
{
    void *element = h->items[i];
    size_t top = i;

    for (size_t child = 2 * i + 1; child < h->count; child = 2 * i + 1) {
        if (child + 1 < h->count && h->less(h->items[child + 1], h->items[child], h->context))
            child++;
        set(h, i, h->items[child]);
        i = child;
    }
    while (i > top) {
        size_t parent = (i - 1) / 2;

        if (h->less(h->items[parent], element, h->context))
            break;
        set(h, i, h->items[parent]);
        i = parent;
    }
    set(h, i, element);
}

void
heap_push(struct heap *h, void *element)
{
    xgrow(h->items, h->count, h->capacity);
    h->items[h->count] = element;
    h->count++;
    sift_up(h, h->count - 1);
}

void
heap_remove(struct heap *h, void *element)
{
    size_t i = *place_of(h, element);
    void *last = h->items[--h->count];

    *place_of(h, element) = HEAP_NOWHERE;
    if (last == element)
        return;
    set(h, i, last);
    sift_up(h, i);
    if (*place_of(h, last) == i)
        sink(h, i);
}

void *
heap_pop(struct heap *h)
{
    void *top = heap_top(h);

    if (top != NULL)
        heap_remove(h, top);
    return top;
}

void
heap_moved(struct heap *h, void *element)
{
    sift_up(h, *place_of(h, element));
    sift_down(h, *place_of(h, element));
}

void *
heap_top(const struct heap *h)
{
    return h->count > 0 ? h->items[0] : NULL;
}

size_t
heap_count(const struct heap *h)
{
    return h->count;
}

void *
heap_at(const struct heap *h, size_t index)
{
    return h->items[index];
}
