/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/history.h"

#include "controller/store/shelf.h"
#include "controller/store/store.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"

struct history {
    struct change *ring;
    size_t capacity; /* a power of two */
    uint64_t first;
    uint64_t published;
    uint64_t end;
    int64_t oldest;
    int64_t revision;
    size_t bytes;
};

struct history *
history_new(int64_t revision)
{
    struct history *h = xnew(struct history);

    h->capacity = 1024;
    h->ring = xnew_array(struct change, h->capacity);
    h->first = h->published = h->end = 1;
    h->oldest = h->revision = revision;
    return h;
}

static struct change *
at(const struct history *h, uint64_t number)
{
    return &h->ring[number & (h->capacity - 1)];
}

/* Bytes that only the ring holds. What became is the head's, or the old object
 * of a later change.
 */
static size_t
cost(const struct change *c)
{
    size_t bytes = sizeof(*c);

    if (c->old_object != NULL)
        bytes += object_bytes(c->old_object);
    if (c->is_removal)
        bytes += object_bytes(c->new_object);
    return bytes;
}

static void
release(struct history *h, struct change *c)
{
    h->bytes -= cost(c);
    object_unref(c->old_object);
    object_unref(c->new_object);
}

void
history_free(struct history *h)
{
    if (h == NULL)
        return;
    for (; h->first < h->end; h->first++)
        release(h, at(h, h->first));
    free(h->ring);
    free(h);
}

static void
resize(struct history *h, size_t capacity)
{
    struct change *ring = xnew_array(struct change, capacity);

    for (uint64_t n = h->first; n < h->end; n++)
        ring[n & (capacity - 1)] = *at(h, n);
    free(h->ring);
    h->ring = ring;
    h->capacity = capacity;
}

void
history_add(struct history *h, struct change change)
{
    if (h->end - h->first == h->capacity)
        resize(h, h->capacity * 2);
    if (change.old_object != NULL)
        object_ref(change.old_object);
    object_ref(change.new_object);
    change.previous = change.entry->last_change;
    change.entry->last_change = h->end;
    h->bytes += cost(&change);
    *at(h, h->end++) = change;
}

void
history_pop(struct history *h)
{
    struct change *c = at(h, --h->end);

    c->entry->last_change = c->previous;
    release(h, c);
}

const struct change *
history_publish(struct history *h)
{
    const struct change *c = at(h, h->published++);

    h->revision = c->revision;
    return c;
}

void
history_let_go(struct history *h, struct shelf *shelf, struct entry *entry)
{
    if (entry->last_change < h->first && entry->heads[STORE_PUBLISHED] == NULL
        && entry->heads[STORE_PENDING] == NULL)
        shelf_remove(shelf, entry);
}

void
history_forget(struct history *h)
{
    struct change c = *at(h, h->first++);

    h->oldest = c.revision;
    history_let_go(h, c.shelf, c.entry);
    release(h, &c);
}

static void
shrink(struct history *h)
{
    size_t capacity = h->capacity;

    while (capacity > 1024 && (h->end - h->first) * 8 < capacity)
        capacity /= 2;
    if (capacity < h->capacity)
        resize(h, capacity);
}

void
history_trim(struct history *h, size_t bytes, int64_t before_us)
{
    while (h->first < h->published
           && (h->bytes > bytes || at(h, h->first)->at_us < before_us))
        history_forget(h);
    shrink(h);
}

void
history_forget_to(struct history *h, int64_t revision)
{
    while (h->first < h->published && at(h, h->first)->revision <= revision)
        history_forget(h);
    if (revision > h->oldest)
        h->oldest = revision < h->revision ? revision : h->revision;
    shrink(h);
}

const struct change *
history_get(const struct history *h, uint64_t number)
{
    return at(h, number);
}

uint64_t
history_first(const struct history *h)
{
    return h->first;
}

uint64_t
history_published(const struct history *h)
{
    return h->published;
}

uint64_t
history_end(const struct history *h)
{
    return h->end;
}

int64_t
history_oldest_revision(const struct history *h)
{
    return h->oldest;
}

int64_t
history_revision(const struct history *h)
{
    return h->revision;
}

size_t
history_bytes(const struct history *h)
{
    return h->bytes;
}

uint64_t
history_seek(const struct history *h, int64_t revision)
{
    uint64_t low = h->first;
    uint64_t high = h->published;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (at(h, middle)->revision > revision)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const struct object *
history_at(const struct history *h, const struct entry *entry, int64_t rev)
{
    const struct object *object = entry->heads[STORE_PENDING];

    for (uint64_t n = entry->last_change; n >= h->first && n != 0;) {
        const struct change *c = at(h, n);

        if (c->revision <= rev)
            break;
        object = c->old_object;
        n = c->previous;
    }
    return object;
}
