/* SPDX-License-Identifier: Apache-2.0 */
/* index_counts.h - what became of the indexes of one Job
 *
 * An index is done when a pod of it has succeeded, and failed when its pods
 * have failed more often than the Job allows; then it is settled for good. It
 * is taken while it has a pod, and when it is settled. One that ever had a pod
 * and is not settled has a slot; so a million indexes that are done in order
 * cost one range. Plain data: zeroed is empty.
 *
 * Owns:  its sets and slots.
 * Thread:  any; plain data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/api/value/index_set.h"

struct index_slot {
    int64_t index;
    int64_t next_attempt;
    int64_t active;      /* its pods; more than 0: taken */
    int64_t failures;    /* of its pods that count against it */
    int64_t ignored;     /* and those that do not */
    int64_t interrupted; /* of its pods, since it began anew; of an array */
    int64_t last_failure_us;
};

struct index_counts {
    struct index_set done, failed, cancelled, taken;
    bool is_merged;   /* `done` has all that are settled, which of a large array
                     * is a range: how many of them failed is counted alone */
    int64_t n_failed; /* of these, if it is merged */
    int64_t n_cancelled;      /* in any case */
    struct index_slot *slots; /* ascending */
    size_t n_slots, n_stale_slots, slot_room;
};

/* Life: from status.completedIndexes and failedIndexes; either may be NULL. */
void index_counts_fini(struct index_counts *l);
void
index_counts_load(struct index_counts *l, const char *done, const char *failed);

/* Change. All but the first three do nothing where the index is settled. */
void index_counts_finish(struct index_counts *l, int64_t index);
void index_counts_fail(struct index_counts *l, int64_t index);
void index_counts_cancel(struct index_counts *l, int64_t index);
void index_counts_take(struct index_counts *l, int64_t index);
void index_counts_release(struct index_counts *l, int64_t index);

/* A pod of that number was made, or was not after all; and how many of the
 * index have failed so far, as its pods tell.
 */
void index_counts_note(struct index_counts *l, int64_t index, int64_t attempt);
void
index_counts_withdraw(struct index_counts *l, int64_t index, int64_t attempt);
void index_counts_note_failures(struct index_counts *l,
                                int64_t index,
                                int64_t failures,
                                int64_t ignored,
                                int64_t last_failure_us);
void index_counts_set_interrupted(struct index_counts *l,
                                  int64_t index,
                                  int64_t interrupted);

/* Look. Count: of those below `end`. Find: NULL when it never had a pod, or is settled. */
int64_t index_counts_count_done(const struct index_counts *l, int64_t end);
int64_t index_counts_count_failed(const struct index_counts *l, int64_t end);
bool index_counts_is_settled(const struct index_counts *l, int64_t index);
const struct index_slot *index_counts_find(const struct index_counts *l,
                                           int64_t index);
