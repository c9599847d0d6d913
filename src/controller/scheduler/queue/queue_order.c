/* SPDX-License-Identifier: Apache-2.0 */
/* "How many are before me" needs an order statistic, which a heap cannot answer, and a
 * balanced tree would cost an allocation and a dozen comparisons for each pod that enters and
 * leaves. Blocks of an array suit what happens: pods are added at the end and removed at the
 * front, and the rest is a binary search over blocks and within one (decision 171). Cursors
 * are moved with the changes, so that a forecast can read the queue in parts while pods come
 * and go.
 */
#include "controller/scheduler/queue/queue_order.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

#define BLOCK_MAX   256u
#define LOOK_BLOCKS 8u

struct block {
    unsigned count;
    struct queued_pod *pods[BLOCK_MAX];
};

/* No block is empty. */
struct queue_order {
    queue_order_less_fn *less;
    void *context;
    struct block **blocks;
    size_t n_blocks, room;
    struct list cursors;
};

struct queue_order *
queue_order_new(queue_order_less_fn *less, void *context)
{
    struct queue_order *o = xnew(struct queue_order);

    o->less = less;
    o->context = context;
    list_init(&o->cursors);
    return o;
}

void
queue_order_free(struct queue_order *o)
{
    if (o == NULL)
        return;
    for (size_t i = 0; i < o->n_blocks; i++)
        free(o->blocks[i]);
    free(o->blocks);
    free(o);
}

static bool
is_before(const struct queue_order *o, const struct queued_pod *a, const struct queued_pod *b)
{
    return o->less(a, b, o->context);
}

/* The index of the first block whose last pod does not come before this one, or
 * the number of blocks. The last and the first block are tried first, because
 * most pods are added and removed there.
 */
static size_t
find_block(const struct queue_order *o, const struct queued_pod *pod)
{
    size_t low = 0, high = o->n_blocks;

    if (high == 0)
        return 0;
    if (is_before(o, o->blocks[high - 1]->pods[o->blocks[high - 1]->count - 1], pod))
        return high;
    if (!is_before(o, o->blocks[0]->pods[o->blocks[0]->count - 1], pod))
        return 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct block *b = o->blocks[middle];

        if (is_before(o, b->pods[b->count - 1], pod))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The index of the first pod in the block that does not come before this one.
 */
static unsigned
find_place(const struct queue_order *o, const struct block *b, const struct queued_pod *pod)
{
    unsigned low = 0, high = b->count;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (is_before(o, b->pods[middle], pod))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct block *
add_block(struct queue_order *o, size_t at)
{
    struct block *b = xnew(struct block);

    if (o->n_blocks == o->room) {
        o->room = o->room > 0 ? 2 * o->room : 16;
        o->blocks = xrealloc(o->blocks, o->room * sizeof(struct block *));
    }
    memmove(&o->blocks[at + 1], &o->blocks[at], (o->n_blocks - at) * sizeof(struct block *));
    o->blocks[at] = b;
    o->n_blocks++;
    return b;
}

/* ---- Cursors ---- */

static void
note_split(struct queue_order *o, size_t at, unsigned left)
{
    list_foreach(pos, &o->cursors)
    {
        struct queue_cursor *c = container_of(pos, struct queue_cursor, link);

        if (c->block > at)
            c->block++;
        else if (c->block == at && c->place >= left) {
            c->block++;
            c->place -= left;
        }
    }
}

static void
note_added(struct queue_order *o, size_t at, unsigned place)
{
    list_foreach(pos, &o->cursors)
    {
        struct queue_cursor *c = container_of(pos, struct queue_cursor, link);

        if (c->block == at && place < c->place)
            c->place++;
    }
}

/* `is_empty`: the block is removed, too. */
static void
note_removed(struct queue_order *o, size_t at, unsigned place, bool is_empty)
{
    list_foreach(pos, &o->cursors)
    {
        struct queue_cursor *c = container_of(pos, struct queue_cursor, link);

        if (c->block == at && place < c->place)
            c->place--;
        if (is_empty && c->block > at)
            c->block--;
    }
}

void
queue_order_begin(struct queue_order *o, struct queue_cursor *c)
{
    *c = (struct queue_cursor){.order = o};
    list_add_last(&o->cursors, &c->link);
}

void
queue_order_end(struct queue_cursor *c)
{
    if (c->order == NULL)
        return;
    list_remove(&c->link);
    c->order = NULL;
}

struct queued_pod *
queue_order_next(struct queue_cursor *c)
{
    const struct queue_order *o = c->order;

    if (c->block < o->n_blocks && c->place == o->blocks[c->block]->count) {
        c->block++;
        c->place = 0;
    }
    return c->block < o->n_blocks ? o->blocks[c->block]->pods[c->place++] : NULL;
}

/* ---- Changes ---- */

/* The second half of the block becomes a block of its own. */
static void
split(struct queue_order *o, size_t at)
{
    struct block *next = add_block(o, at + 1);
    struct block *b = o->blocks[at];

    next->count = b->count / 2;
    b->count -= next->count;
    memcpy(next->pods, &b->pods[b->count], next->count * sizeof(b->pods[0]));
    note_split(o, at, b->count);
}

void
queue_order_add(struct queue_order *o, struct queued_pod *pod)
{
    size_t at = find_block(o, pod);
    struct block *b;
    unsigned place;

    /* At the end, blocks are filled one after the other. */
    if (at == o->n_blocks && (at == 0 || o->blocks[at - 1]->count == BLOCK_MAX))
        add_block(o, at);
    else if (at == o->n_blocks)
        at--;
    if (o->blocks[at]->count == BLOCK_MAX) {
        split(o, at);
        b = o->blocks[at];
        at += is_before(o, b->pods[b->count - 1], pod);
    }
    b = o->blocks[at];
    place = find_place(o, b, pod);
    memmove(&b->pods[place + 1], &b->pods[place], (b->count - place) * sizeof(b->pods[0]));
    b->pods[place] = pod;
    b->count++;
    note_added(o, at, place);
}

/* The binary search misses a pod if a plugin sorts by something that has
 * changed since the pod was added.
 */
static void
find_anywhere(const struct queue_order *o, const struct queued_pod *pod, size_t *ret_block,
              unsigned *ret_place)
{
    for (size_t i = 0; i < o->n_blocks; i++)
        for (unsigned j = 0; j < o->blocks[i]->count; j++)
            if (o->blocks[i]->pods[j] == pod) {
                *ret_block = i;
                *ret_place = j;
                return;
            }
}

void
queue_order_remove(struct queue_order *o, struct queued_pod *pod)
{
    size_t at = find_block(o, pod);
    unsigned place = at < o->n_blocks ? find_place(o, o->blocks[at], pod) : 0;
    struct block *b;

    if (at == o->n_blocks || place == o->blocks[at]->count || o->blocks[at]->pods[place] != pod)
        find_anywhere(o, pod, &at, &place);
    b = o->blocks[at];
    b->count--;
    memmove(&b->pods[place], &b->pods[place + 1], (b->count - place) * sizeof(b->pods[0]));
    note_removed(o, at, place, b->count == 0);
    if (b->count > 0)
        return;
    free(b);
    o->n_blocks--;
    memmove(&o->blocks[at], &o->blocks[at + 1], (o->n_blocks - at) * sizeof(struct block *));
}

size_t
queue_order_before(const struct queue_order *o, const struct queued_pod *pod)
{
    size_t at = find_block(o, pod), before = 0;

    for (size_t i = 0; i < at; i++)
        before += o->blocks[i]->count;
    return at < o->n_blocks ? before + find_place(o, o->blocks[at], pod) : before;
}

struct queued_pod *
queue_order_first(const struct queue_order *o, const struct queued_pod *before,
                  bool (*is_wanted)(const struct queued_pod *pod, void *context), void *context)
{
    for (size_t i = 0; i < o->n_blocks && i < LOOK_BLOCKS; i++)
        for (unsigned j = 0; j < o->blocks[i]->count; j++) {
            struct queued_pod *pod = o->blocks[i]->pods[j];

            if (pod == before)
                return NULL;
            if (is_wanted(pod, context))
                return pod;
        }
    return NULL;
}
