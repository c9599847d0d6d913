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
index_counts_fini(struct index_counts *l)
{
    index_set_fini(&l->done);
    index_set_fini(&l->failed);
    index_set_fini(&l->cancelled);
    index_set_fini(&l->taken);
    free(l->slots);
    *l = (struct index_counts){0};
}

void
index_counts_load(struct index_counts *l, const char *done, const char *failed)
{
    if (done != NULL) {
        index_set_parse(&l->done, done);
        index_set_parse(&l->taken, done);
    }
    if (failed != NULL) {
        index_set_parse(&l->failed, failed);
        index_set_parse(&l->taken, failed);
    }
}

/* ---- Slots ---- */

static size_t
find_slot(const struct index_counts *l, int64_t index)
{
    size_t low = 0, high = l->n_slots;

    if (high > 0 && l->slots[high - 1].index < index)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (l->slots[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct index_slot *
slot_of(struct index_counts *l, int64_t index)
{
    size_t at = find_slot(l, index);

    if (at < l->n_slots && l->slots[at].index == index)
        return &l->slots[at];
    if (l->n_slots == l->slot_room) {
        l->slot_room = l->slot_room > 0 ? l->slot_room * 2 : 1;
        l->slots = xrealloc_array(l->slots, l->slot_room, sizeof(*l->slots));
    }
    memmove(&l->slots[at + 1], &l->slots[at], (l->n_slots - at) * sizeof(*l->slots));
    l->n_slots++;
    l->slots[at] = (struct index_slot){.index = index};
    return &l->slots[at];
}

static void
drop_slot(struct index_counts *l, struct index_slot *slot)
{
    struct index_slot *end = l->slots + l->n_slots--;

    memmove(slot, slot + 1, (size_t)(end - slot - 1) * sizeof(*slot));
}

/* Runs when half of the slots are stale, so that the cost for each is constant.
 */
static void
drop_stale_slots(struct index_counts *l)
{
    size_t kept = 0;

    if (l->n_stale_slots * 2 < l->n_slots)
        return;
    for (size_t i = 0; i < l->n_slots; i++)
        if (l->slots[i].next_attempt != STALE)
            l->slots[kept++] = l->slots[i];
    l->n_slots = kept;
    l->n_stale_slots = 0;
}

/* ---- Change ---- */

/* Returns false if the index was settled before. */
static bool
settle_index(struct index_counts *l, struct index_set *how, int64_t index)
{
    size_t at = find_slot(l, index);

    if (index_counts_is_settled(l, index))
        return false;
    index_set_add(how, index);
    index_set_add(&l->taken, index);
    if (at < l->n_slots && l->slots[at].index == index) {
        l->slots[at].next_attempt = STALE;
        l->n_stale_slots++;
        drop_stale_slots(l);
    }
    return true;
}

void
index_counts_finish(struct index_counts *l, int64_t index)
{
    (void)settle_index(l, &l->done, index);
}

void
index_counts_fail(struct index_counts *l, int64_t index)
{
    if (!l->is_merged)
        (void)settle_index(l, &l->failed, index);
    else if (settle_index(l, &l->done, index))
        l->n_failed++;
}

/* A cancelled index is neither done nor failed; only arrays have them. */
void
index_counts_cancel(struct index_counts *l, int64_t index)
{
    if (settle_index(l, l->is_merged ? &l->done : &l->cancelled, index))
        l->n_cancelled++;
}

void
index_counts_take(struct index_counts *l, int64_t index)
{
    if (!index_counts_is_settled(l, index) && slot_of(l, index)->active++ == 0)
        index_set_add(&l->taken, index);
}

void
index_counts_release(struct index_counts *l, int64_t index)
{
    if (!index_counts_is_settled(l, index) && --slot_of(l, index)->active == 0)
        index_set_remove(&l->taken, index);
}

static int64_t
larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* No pod of an earlier attempt is left. */
static void
begin_attempt(struct index_counts *l, int64_t attempt)
{
    index_set_fini(&l->done);
    index_set_fini(&l->taken);
    l->n_slots = l->n_stale_slots = 0;
    l->attempts = attempt + 1;
}

void
index_counts_note(struct index_counts *l, int64_t index, int64_t attempt)
{
    struct index_slot *slot;

    if (l->is_whole && attempt >= l->attempts)
        begin_attempt(l, attempt);
    if (index_counts_is_settled(l, index))
        return;
    slot = slot_of(l, index);
    slot->next_attempt = larger(slot->next_attempt, attempt + 1);
}

void
index_counts_withdraw(struct index_counts *l, int64_t index, int64_t attempt)
{
    struct index_slot *slot;

    if (l->is_whole && attempt + 1 == l->attempts)
        l->attempts = attempt;
    if (index_counts_is_settled(l, index))
        return;
    slot = slot_of(l, index);
    if (attempt + 1 == slot->next_attempt)
        slot->next_attempt = attempt;
    if (slot->next_attempt == 0 && slot->active == 0)
        drop_slot(l, slot);
}

void
index_counts_note_failures(struct index_counts *l, int64_t index, int64_t failures, int64_t ignored,
                           int64_t last_failure_us)
{
    struct index_slot *slot;

    if (index_counts_is_settled(l, index))
        return;
    slot = slot_of(l, index);
    slot->failures = larger(slot->failures, failures);
    slot->ignored = larger(slot->ignored, ignored);
    slot->last_failure_us = larger(slot->last_failure_us, last_failure_us);
}

void
index_counts_set_interrupted(struct index_counts *l, int64_t index, int64_t interrupted)
{
    if (!index_counts_is_settled(l, index))
        slot_of(l, index)->interrupted = interrupted;
}

/* ---- Look ---- */

int64_t
index_counts_count_done(const struct index_counts *l, int64_t end)
{
    int64_t count = index_set_count_below(&l->done, end);

    return l->is_merged ? count - l->n_failed - l->n_cancelled : count;
}

int64_t
index_counts_count_failed(const struct index_counts *l, int64_t end)
{
    return l->is_merged ? l->n_failed : index_set_count_below(&l->failed, end);
}

bool
index_counts_is_last(const struct index_counts *l, int64_t attempt)
{
    return !l->is_whole || attempt + 1 == l->attempts;
}

bool
index_counts_is_settled(const struct index_counts *l, int64_t index)
{
    return index_set_has(&l->done, index) || index_set_has(&l->failed, index)
           || index_set_has(&l->cancelled, index);
}

const struct index_slot *
index_counts_find(const struct index_counts *l, int64_t index)
{
    size_t at = find_slot(l, index);

    return at < l->n_slots && l->slots[at].index == index && l->slots[at].next_attempt != STALE
               ? &l->slots[at]
               : NULL;
}
