/* SPDX-License-Identifier: Apache-2.0 */
/* Postings of one value form a ring; the first of each ring is chained in the
 * hash table. So a value that every object has costs its neighbours in the
 * table nothing.
 */
#include "controller/store/memory/secondary_index.h"

#include <string.h>

#include "controller/store/memory/object_index.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/list.h"
#include "lib/base/map.h"

struct posting {
    struct list same; /* those of the same value */
    struct posting *next_value;
    struct entry *entry;
    uint32_t hash;
    bool is_first; /* of its ring: chained in the table */
    bool heads[ENTRY_HEADS];
};

struct secondary_index {
    struct kind_index index;
    unsigned slot;
    struct posting **table;
    size_t capacity; /* a power of two */
    size_t n_values;
};

struct secondary_index *
secondary_index_new(const struct kind_index *index, unsigned slot)
{
    struct secondary_index *l = xnew(struct secondary_index);

    l->index = *index;
    l->slot = slot;
    l->capacity = 16;
    l->table = xnew_array(struct posting *, l->capacity);
    return l;
}

static void
ring_free(struct posting *first)
{
    while (!list_is_empty(&first->same)) {
        struct list *other = first->same.next;

        list_remove(other);
        free(container_of(other, struct posting, same));
    }
    free(first);
}

void
secondary_index_free(struct secondary_index *l)
{
    if (l == NULL)
        return;
    for (size_t i = 0; i < l->capacity; i++)
        while (l->table[i] != NULL) {
            struct posting *first = l->table[i];

            l->table[i] = first->next_value;
            ring_free(first);
        }
    free(l->table);
    free(l);
}

static const char *
value_of(const struct secondary_index *l,
         const struct object *object,
         char buffer[64])
{
    return object != NULL ? l->index.value(object, buffer) : NULL;
}

static uint32_t
value_hash(const char *value)
{
    return (uint32_t)map_hash(value, strlen(value));
}

/* Whether the ring that begins there is the value's. */
static bool
stands_for(const struct secondary_index *l,
           const struct posting *first,
           const char *v)
{
    enum store_head head =
        first->heads[STORE_PENDING] ? STORE_PENDING : STORE_PUBLISHED;
    char buffer[64];
    const char *value = value_of(l, first->entry->heads[head], buffer);

    return value != NULL && strcmp(value, v) == 0;
}

static struct posting *
find_ring(const struct secondary_index *l, const char *value, uint32_t hash)
{
    struct posting *p = l->table[hash & (l->capacity - 1)];

    while (p != NULL && (p->hash != hash || !stands_for(l, p, value)))
        p = p->next_value;
    return p;
}

static struct posting **
chain_of(struct secondary_index *l, uint32_t hash)
{
    return &l->table[hash & (l->capacity - 1)];
}

static void
chain(struct secondary_index *l, struct posting *first)
{
    struct posting **at = chain_of(l, first->hash);

    first->is_first = true;
    first->next_value = *at;
    *at = first;
}

static void
grow(struct secondary_index *l)
{
    struct posting **old = l->table;
    size_t n = l->capacity;

    l->capacity *= 2;
    l->table = xnew_array(struct posting *, l->capacity);
    for (size_t i = 0; i < n; i++)
        while (old[i] != NULL) {
            struct posting *first = old[i];

            old[i] = first->next_value;
            chain(l, first);
        }
    free(old);
}

static struct posting *
add(struct secondary_index *l, struct entry *entry, const char *value)
{
    uint32_t hash = value_hash(value);
    struct posting *first = find_ring(l, value, hash);
    struct posting *p = xnew(struct posting);

    p->entry = entry;
    p->hash = hash;
    list_init(&p->same);
    if (first != NULL) {
        list_add_last(&first->same, &p->same);
        return p;
    }
    if (++l->n_values > l->capacity)
        grow(l);
    chain(l, p);
    return p;
}

static void
drop(struct secondary_index *l, struct posting *p)
{
    struct posting **at;

    if (p->is_first) {
        at = chain_of(l, p->hash);
        while (*at != p)
            at = &(*at)->next_value;
        if (list_is_empty(&p->same)) {
            *at = p->next_value;
            l->n_values--;
        } else {
            struct posting *heir =
                container_of(p->same.next, struct posting, same);

            heir->is_first = true;
            heir->next_value = p->next_value;
            *at = heir;
        }
    }
    list_remove(&p->same);
    free(p);
}

/* The entry's posting under that value, whichever head it is for. */
static struct posting *
find_own(const struct secondary_index *l,
         const struct entry *entry,
         const char *value)
{
    for (int head = 0; head < ENTRY_HEADS; head++) {
        char buffer[64];
        const char *has = value_of(l, entry->heads[head], buffer);

        if (has != NULL && strcmp(has, value) == 0)
            return entry->postings[l->slot][head];
    }
    return NULL;
}

void
secondary_index_set(struct secondary_index *l,
                    struct entry *entry,
                    enum store_head head,
                    const struct object *object)
{
    struct posting **own = entry->postings[l->slot];
    struct posting *old = own[head];
    struct posting *new = NULL;
    char buffer[64];
    const char *value = value_of(l, object, buffer);

    if (value != NULL) {
        new = find_own(l, entry, value);
        if (new == NULL)
            new = add(l, entry, value);
        new->heads[head] = true;
    }
    own[head] = new;
    if (old == NULL || old == new)
        return;
    old->heads[head] = false;
    if (!old->heads[STORE_PUBLISHED] && !old->heads[STORE_PENDING])
        drop(l, old);
}

void
secondary_index_visit(const struct secondary_index *l,
                      enum store_head head,
                      const char *value,
                      store_visit_fn *visit,
                      void *context)
{
    const struct posting *first = find_ring(l, value, value_hash(value));
    const struct posting *p = first;

    if (first == NULL)
        return;
    do {
        if (p->heads[head] && !visit(p->entry->heads[head], context))
            return;
        p = container_of(p->same.next, struct posting, same);
    } while (p != first);
}
