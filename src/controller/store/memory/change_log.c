/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/memory/change_log.h"

#include "controller/store/memory/object_index.h"
#include "controller/store/memory/store_types.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"

struct change_log {
    struct change *ring;
    size_t capacity; /* a power of two */
    uint64_t first;
    uint64_t published;
    uint64_t end;
    int64_t oldest;
    int64_t revision;
    size_t bytes;
};

struct change_log *
change_log_new(int64_t revision)
{
    struct change_log *l = xnew(struct change_log);

    l->capacity = 1024;
    l->ring = xnew_array(struct change, l->capacity);
    l->first = l->published = l->end = 1;
    l->oldest = l->revision = revision;
    return l;
}

static struct change *
at(const struct change_log *l, uint64_t number)
{
    return &l->ring[number & (l->capacity - 1)];
}

/* Bytes of objects that only the ring holds. The new object of a change is also
 * the head's, or the old object of a later change.
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
release(struct change_log *l, struct change *c)
{
    l->bytes -= cost(c);
    object_unref(c->old_object);
    object_unref(c->new_object);
}

void
change_log_free(struct change_log *l)
{
    if (l == NULL)
        return;
    for (; l->first < l->end; l->first++)
        release(l, at(l, l->first));
    free(l->ring);
    free(l);
}

static void
resize(struct change_log *l, size_t capacity)
{
    struct change *ring = xnew_array(struct change, capacity);

    for (uint64_t n = l->first; n < l->end; n++)
        ring[n & (capacity - 1)] = *at(l, n);
    free(l->ring);
    l->ring = ring;
    l->capacity = capacity;
}

void
change_log_add(struct change_log *l, struct change change)
{
    if (l->end - l->first == l->capacity)
        resize(l, l->capacity * 2);
    if (change.old_object != NULL)
        object_ref(change.old_object);
    object_ref(change.new_object);
    change.previous = change.entry->last_change;
    change.entry->last_change = l->end;
    l->bytes += cost(&change);
    *at(l, l->end++) = change;
}

void
change_log_pop(struct change_log *l)
{
    struct change *c = at(l, --l->end);

    c->entry->last_change = c->previous;
    release(l, c);
}

const struct change *
change_log_publish(struct change_log *l)
{
    const struct change *c = at(l, l->published++);

    l->revision = c->revision;
    return c;
}

void
change_log_release_entry(struct change_log *l, struct object_index *objects, struct entry *entry)
{
    if (entry->last_change < l->first && entry->heads[STORE_PUBLISHED] == NULL
        && entry->heads[STORE_PENDING] == NULL)
        object_index_remove(objects, entry);
}

static void
change_log_forget(struct change_log *l)
{
    struct change c = *at(l, l->first++);

    l->oldest = c.revision;
    change_log_release_entry(l, c.objects, c.entry);
    release(l, &c);
}

static void
shrink(struct change_log *l)
{
    size_t capacity = l->capacity;

    while (capacity > 1024 && (l->end - l->first) * 8 < capacity)
        capacity /= 2;
    if (capacity < l->capacity)
        resize(l, capacity);
}

void
change_log_trim(struct change_log *l, size_t bytes, int64_t before_us)
{
    while (l->first < l->published && (l->bytes > bytes || at(l, l->first)->at_us < before_us))
        change_log_forget(l);
    shrink(l);
}

void
change_log_forget_to(struct change_log *l, int64_t revision)
{
    while (l->first < l->published && at(l, l->first)->revision <= revision)
        change_log_forget(l);
    if (revision > l->oldest)
        l->oldest = revision < l->revision ? revision : l->revision;
    shrink(l);
}

const struct change *
change_log_get(const struct change_log *l, uint64_t number)
{
    return at(l, number);
}

uint64_t
change_log_published(const struct change_log *l)
{
    return l->published;
}

uint64_t
change_log_end(const struct change_log *l)
{
    return l->end;
}

int64_t
change_log_oldest_revision(const struct change_log *l)
{
    return l->oldest;
}

int64_t
change_log_revision(const struct change_log *l)
{
    return l->revision;
}

size_t
change_log_bytes(const struct change_log *l)
{
    return l->bytes;
}

uint64_t
change_log_seek(const struct change_log *l, int64_t revision)
{
    uint64_t low = l->first;
    uint64_t high = l->published;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (at(l, middle)->revision > revision)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const struct object *
change_log_at(const struct change_log *l, const struct entry *entry, int64_t rev)
{
    const struct object *object = entry->heads[STORE_PENDING];

    for (uint64_t n = entry->last_change; n >= l->first && n != 0;) {
        const struct change *c = at(l, n);

        if (c->revision <= rev)
            break;
        object = c->old_object;
        n = c->previous;
    }
    return object;
}
