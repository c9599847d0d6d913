/* SPDX-License-Identifier: Apache-2.0 */
/* A million indexes that end in order must not cost a million entries, so done and failed ones
 * are sets of ranges, and only what is under way or has failed before has a slot. Slots of
 * settled indexes are removed when half of all are such: removing each at once would move the
 * others each time.
 */
#include "controller/lifecycle/job/index_counts.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

#define STALE (-1) /* next_attempt of a slot whose index is settled */

void
index_counts_fini(struct index_counts *c)
{
    index_set_fini(&c->done);
    index_set_fini(&c->failed);
    index_set_fini(&c->cancelled);
    index_set_fini(&c->taken);
    free(c->slots);
    *c = (struct index_counts){0};
}

void
index_counts_load(struct index_counts *c, const char *done, const char *failed)
{
    if (done != NULL) {
        index_set_parse(&c->done, done);
        index_set_parse(&c->taken, done);
    }
    if (failed != NULL) {
        index_set_parse(&c->failed, failed);
        index_set_parse(&c->taken, failed);
    }
}

/* ---- Slots ---- */

static size_t
find_slot(const struct index_counts *c, int64_t index)
{
    size_t low = 0, high = c->n_slots;

    if (high > 0 && c->slots[high - 1].index < index)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (c->slots[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct index_slot *
slot_of(struct index_counts *c, int64_t index)
{
    size_t at = find_slot(c, index);

    if (at < c->n_slots && c->slots[at].index == index)
        return &c->slots[at];
    if (c->n_slots == c->slot_room) {
        c->slot_room = c->slot_room > 0 ? c->slot_room * 2 : 1;
        c->slots = xrealloc_array(c->slots, c->slot_room, sizeof(*c->slots));
    }
    memmove(&c->slots[at + 1], &c->slots[at], (c->n_slots - at) * sizeof(*c->slots));
    c->n_slots++;
    c->slots[at] = (struct index_slot){.index = index};
    return &c->slots[at];
}

static void
drop_slot(struct index_counts *c, struct index_slot *slot)
{
    struct index_slot *end = c->slots + c->n_slots--;

    memmove(slot, slot + 1, (size_t)(end - slot - 1) * sizeof(*slot));
}

/* Runs when half of the slots are stale, so that the cost for each is constant.
 */
static void
drop_stale_slots(struct index_counts *c)
{
    size_t kept = 0;

    if (c->n_stale_slots * 2 < c->n_slots)
        return;
    for (size_t i = 0; i < c->n_slots; i++)
        if (c->slots[i].next_attempt != STALE)
            c->slots[kept++] = c->slots[i];
    c->n_slots = kept;
    c->n_stale_slots = 0;
}

/* ---- Change ---- */

/* Returns false if the index was settled before. */
static bool
settle_index(struct index_counts *c, struct index_set *how, int64_t index)
{
    size_t at = find_slot(c, index);

    if (index_counts_is_settled(c, index))
        return false;
    index_set_add(how, index);
    index_set_add(&c->taken, index);
    if (at < c->n_slots && c->slots[at].index == index) {
        c->slots[at].next_attempt = STALE;
        c->n_stale_slots++;
        drop_stale_slots(c);
    }
    return true;
}

void
index_counts_finish(struct index_counts *c, int64_t index)
{
    (void)settle_index(c, &c->done, index);
}

void
index_counts_fail(struct index_counts *c, int64_t index)
{
    if (!c->is_merged)
        (void)settle_index(c, &c->failed, index);
    else if (settle_index(c, &c->done, index))
        c->n_failed++;
}

/* A cancelled index is neither done nor failed; only arrays have them. */
void
index_counts_cancel(struct index_counts *c, int64_t index)
{
    if (settle_index(c, c->is_merged ? &c->done : &c->cancelled, index))
        c->n_cancelled++;
}

void
index_counts_take(struct index_counts *c, int64_t index)
{
    if (!index_counts_is_settled(c, index) && slot_of(c, index)->active++ == 0)
        index_set_add(&c->taken, index);
}

void
index_counts_release(struct index_counts *c, int64_t index)
{
    if (!index_counts_is_settled(c, index) && --slot_of(c, index)->active == 0)
        index_set_remove(&c->taken, index);
}

static int64_t
larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* No pod of an earlier attempt is left. */
static void
begin_attempt(struct index_counts *c, int64_t attempt)
{
    index_set_fini(&c->done);
    index_set_fini(&c->taken);
    c->n_slots = c->n_stale_slots = 0;
    c->attempts = attempt + 1;
}

void
index_counts_note(struct index_counts *c, int64_t index, int64_t attempt)
{
    struct index_slot *slot;

    if (c->is_whole && attempt >= c->attempts)
        begin_attempt(c, attempt);
    if (index_counts_is_settled(c, index))
        return;
    slot = slot_of(c, index);
    slot->next_attempt = larger(slot->next_attempt, attempt + 1);
}

void
index_counts_withdraw(struct index_counts *c, int64_t index, int64_t attempt)
{
    struct index_slot *slot;

    if (c->is_whole && attempt + 1 == c->attempts)
        c->attempts = attempt;
    if (index_counts_is_settled(c, index))
        return;
    slot = slot_of(c, index);
    if (attempt + 1 == slot->next_attempt)
        slot->next_attempt = attempt;
    if (slot->next_attempt == 0 && slot->active == 0)
        drop_slot(c, slot);
}

void
index_counts_note_failures(struct index_counts *c, int64_t index, int64_t failures, int64_t ignored,
                           int64_t last_failure_us)
{
    struct index_slot *slot;

    if (index_counts_is_settled(c, index))
        return;
    slot = slot_of(c, index);
    slot->failures = larger(slot->failures, failures);
    slot->ignored = larger(slot->ignored, ignored);
    slot->last_failure_us = larger(slot->last_failure_us, last_failure_us);
}

void
index_counts_set_interrupted(struct index_counts *c, int64_t index, int64_t interrupted)
{
    if (!index_counts_is_settled(c, index))
        slot_of(c, index)->interrupted = interrupted;
}

/* ---- Look ---- */

int64_t
index_counts_count_done(const struct index_counts *c, int64_t end)
{
    int64_t count = index_set_count_below(&c->done, end);

    return c->is_merged ? count - c->n_failed - c->n_cancelled : count;
}

int64_t
index_counts_count_failed(const struct index_counts *c, int64_t end)
{
    return c->is_merged ? c->n_failed : index_set_count_below(&c->failed, end);
}

bool
index_counts_is_last(const struct index_counts *c, int64_t attempt)
{
    return !c->is_whole || attempt + 1 == c->attempts;
}

bool
index_counts_is_settled(const struct index_counts *c, int64_t index)
{
    return index_set_has(&c->done, index) || index_set_has(&c->failed, index)
           || index_set_has(&c->cancelled, index);
}

const struct index_slot *
index_counts_find(const struct index_counts *c, int64_t index)
{
    size_t at = find_slot(c, index);

    return at < c->n_slots && c->slots[at].index == index && c->slots[at].next_attempt != STALE
               ? &c->slots[at]
               : NULL;
}
