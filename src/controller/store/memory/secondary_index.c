/* SPDX-License-Identifier: Apache-2.0 */
/* The postings of one value form a ring, and the first of each ring is chained
 * in the hash table. So a value that every object has does not slow down other
 * values in the same bucket. A waiting job has ten postings with its pod, so
 * they are small: they are allocated in blocks of the index and refer to each
 * other by number.
 */
#include "controller/store/memory/secondary_index.h"

#include <string.h>

#include "controller/store/memory/object_index.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

#define BLOCK_BITS 7u
#define BLOCK_SIZE (1u << BLOCK_BITS)

/* The bits of a hash that a posting keeps. With more values than these allow,
 * chains grow.
 */
#define HASH_BITS 29u

struct posting {
    struct entry *entry;
    uint32_t next, previous; /* ring of postings of the same value */
    uint32_t next_value;     /* next in the chain: first of a ring, or unused */
    uint32_t hash : HASH_BITS;
    uint32_t is_first : 1; /* of its ring: it is chained in the table */
    uint32_t heads : 2;    /* bits by enum store_head */
};

struct secondary_index {
    struct kind_index index;
    unsigned slot;
    uint32_t *table; /* by hash: number of the first posting of a chain; 0:
                      * none */
    size_t capacity; /* a power of two */
    size_t n_values;
    struct posting **blocks;
    uint32_t n_blocks, blocks_capacity;
    uint32_t unused; /* chained by next_value */
};

struct secondary_index *
secondary_index_new(const struct kind_index *index, unsigned slot)
{
    struct secondary_index *l = xnew(struct secondary_index);

    l->index = *index;
    l->slot = slot;
    l->capacity = 16;
    l->table = xnew_array(uint32_t, l->capacity);
    return l;
}

void
secondary_index_free(struct secondary_index *l)
{
    if (l == NULL)
        return;
    for (uint32_t i = 0; i < l->n_blocks; i++)
        free(l->blocks[i]);
    free(l->blocks);
    free(l->table);
    free(l);
}

/* Numbers begin at 1. */
static struct posting *
posting_at(const struct secondary_index *l, uint32_t number)
{
    number--;
    return &l->blocks[number >> BLOCK_BITS][number & (BLOCK_SIZE - 1)];
}

static void
release_posting(struct secondary_index *l, uint32_t number)
{
    struct posting *p = posting_at(l, number);

    memset(p, 0, sizeof(*p));
    p->next_value = l->unused;
    l->unused = number;
}

static void
add_block(struct secondary_index *l)
{
    const uint32_t first = l->n_blocks * BLOCK_SIZE + 1;

    xgrow(l->blocks, l->n_blocks, l->blocks_capacity);
    l->blocks[l->n_blocks++] = xnew_array(struct posting, BLOCK_SIZE);
    for (uint32_t i = BLOCK_SIZE; i > 0; i--)
        release_posting(l, first + i - 1);
}

static uint32_t
take_posting(struct secondary_index *l)
{
    uint32_t number;

    if (l->unused == 0)
        add_block(l);
    number = l->unused;
    l->unused = posting_at(l, number)->next_value;
    posting_at(l, number)->next_value = 0;
    return number;
}

static const char *
value_of(const struct secondary_index *l, const struct object *object, char buffer[64])
{
    return object != NULL ? l->index.value(object, buffer) : NULL;
}

static uint32_t
value_hash(const char *value)
{
    return (uint32_t)map_hash(value, strlen(value)) & ((UINT32_C(1) << HASH_BITS) - 1);
}

static bool
has_head(const struct posting *p, enum store_head head)
{
    return (p->heads >> head & 1u) != 0;
}

/* Whether the ring that begins with this posting is the value's. */
static bool
stands_for(const struct secondary_index *l, const struct posting *first, const char *v)
{
    enum store_head head = has_head(first, STORE_PENDING) ? STORE_PENDING : STORE_PUBLISHED;
    char buffer[64];
    const char *value = value_of(l, first->entry->heads[head], buffer);

    return value != NULL && strcmp(value, v) == 0;
}

static uint32_t *
chain_of(const struct secondary_index *l, uint32_t hash)
{
    return &l->table[hash & (l->capacity - 1)];
}

/* The first posting of the value's ring, or 0. */
static uint32_t
find_ring(const struct secondary_index *l, const char *value, uint32_t hash)
{
    uint32_t number = *chain_of(l, hash);

    while (number != 0) {
        const struct posting *p = posting_at(l, number);

        if (p->hash == hash && stands_for(l, p, value))
            break;
        number = p->next_value;
    }
    return number;
}

static void
chain(struct secondary_index *l, uint32_t number)
{
    struct posting *first = posting_at(l, number);
    uint32_t *at = chain_of(l, first->hash);

    first->is_first = 1;
    first->next_value = *at;
    *at = number;
}

static void
grow(struct secondary_index *l)
{
    uint32_t *old = l->table;
    size_t n = l->capacity;

    l->capacity *= 2;
    l->table = xnew_array(uint32_t, l->capacity);
    for (size_t i = 0; i < n; i++)
        while (old[i] != 0) {
            uint32_t first = old[i];

            old[i] = posting_at(l, first)->next_value;
            chain(l, first);
        }
    free(old);
}

/* Adds the posting at the end of the ring. */
static void
join_ring(struct secondary_index *l, uint32_t first, uint32_t number)
{
    struct posting *f = posting_at(l, first), *p = posting_at(l, number);

    p->previous = f->previous;
    p->next = first;
    posting_at(l, f->previous)->next = number;
    f->previous = number;
}

static uint32_t
add(struct secondary_index *l, struct entry *entry, const char *value)
{
    uint32_t hash = value_hash(value);
    uint32_t first = find_ring(l, value, hash);
    uint32_t number = take_posting(l);
    struct posting *p = posting_at(l, number);

    p->entry = entry;
    p->hash = hash;
    if (first != 0) {
        join_ring(l, first, number);
        return number;
    }
    p->next = p->previous = number;
    if (++l->n_values > l->capacity)
        grow(l);
    chain(l, number);
    return number;
}

/* Removes the first posting of a ring from the table; the next one of the ring
 * takes its place.
 */
static void
unchain(struct secondary_index *l, uint32_t number)
{
    const struct posting *p = posting_at(l, number);
    uint32_t *at = chain_of(l, p->hash);

    while (*at != number)
        at = &posting_at(l, *at)->next_value;
    if (p->next == number) {
        *at = p->next_value;
        l->n_values--;
    } else {
        struct posting *heir = posting_at(l, p->next);

        heir->is_first = 1;
        heir->next_value = p->next_value;
        *at = p->next;
    }
}

static void
drop(struct secondary_index *l, uint32_t number)
{
    const struct posting *p = posting_at(l, number);

    if (p->is_first)
        unchain(l, number);
    posting_at(l, p->previous)->next = p->next;
    posting_at(l, p->next)->previous = p->previous;
    release_posting(l, number);
}

/* The entry's posting for that value, for either head; 0: none. */
static uint32_t
find_own(const struct secondary_index *l, struct entry *entry, const char *value)
{
    for (int head = 0; head < ENTRY_HEADS; head++) {
        char buffer[64];
        const char *has = value_of(l, entry->heads[head], buffer);

        if (has != NULL && strcmp(has, value) == 0)
            return entry_postings_of(entry)[l->slot][head];
    }
    return 0;
}

void
secondary_index_set(struct secondary_index *l, struct entry *entry, enum store_head head,
                    const struct object *object)
{
    uint32_t *own = entry_postings_of(entry)[l->slot];
    const uint32_t old = own[head];
    uint32_t new = 0;
    char buffer[64];
    const char *value = value_of(l, object, buffer);

    if (value != NULL) {
        new = find_own(l, entry, value);
        if (new == 0)
            new = add(l, entry, value);
        posting_at(l, new)->heads |= 1u << head & 3u;
    }
    own[head] = new;
    if (old == 0 || old == new)
        return;
    posting_at(l, old)->heads &= ~(1u << head) & 3u;
    if (posting_at(l, old)->heads == 0)
        drop(l, old);
}

void
secondary_index_visit(const struct secondary_index *l, enum store_head head, const char *value,
                      store_visit_fn *visit, void *context)
{
    const uint32_t first = find_ring(l, value, value_hash(value));
    uint32_t number = first;

    if (first == 0)
        return;
    do {
        const struct posting *p = posting_at(l, number);

        if (has_head(p, head) && !visit(p->entry->heads[head], context))
            return;
        number = p->next;
    } while (number != first);
}
