/* SPDX-License-Identifier: Apache-2.0 */
/* index_ledger.h - what became of the indexes of one Job
 *
 * An index is done when a pod of it has succeeded, and failed when its pods
 * have failed more often than the Job allows; then it is settled for good. It
 * is taken while it has a pod, and when it is settled. One that ever had a pod
 * and is not settled has a slot; so a million indexes that are done in order
 * cost one range. Plain data: zeroed is empty.
 *
 * Owns:  its sets and slots.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/lifecycle/index_set.h"

struct index_slot {
    int64_t index;
    int64_t next_attempt;
    int64_t active;   /* its pods; more than 0: taken */
    int64_t failures; /* of its pods that count against it */
    int64_t ignored;  /* and those that do not */
    int64_t last_failure_us;
};

struct index_ledger {
    struct index_set done, failed, taken;
    struct index_slot *slots; /* ascending */
    size_t n_slots, n_stale_slots, slot_room;
};

/* Life: from status.completedIndexes and failedIndexes; either may be NULL. */
void index_ledger_fini(struct index_ledger *l);
void index_ledger_recall(struct index_ledger *l,
                         const char *done,
                         const char *failed);

/* Change. All but the first two do nothing where the index is settled. */
void index_ledger_finish(struct index_ledger *l, int64_t index);
void index_ledger_fail(struct index_ledger *l, int64_t index);
void index_ledger_take(struct index_ledger *l, int64_t index);
void index_ledger_release(struct index_ledger *l, int64_t index);

/* A pod of that number was made, or was not after all; and how many of the
 * index have failed so far, as its pods tell.
 */
void index_ledger_note(struct index_ledger *l, int64_t index, int64_t attempt);
void
index_ledger_withdraw(struct index_ledger *l, int64_t index, int64_t attempt);
void index_ledger_note_failures(struct index_ledger *l,
                                int64_t index,
                                int64_t failures,
                                int64_t ignored,
                                int64_t last_failure_us);

/* Look. Find: NULL when it never had a pod, or is settled. */
bool index_ledger_is_settled(const struct index_ledger *l, int64_t index);
const struct index_slot *index_ledger_find(const struct index_ledger *l,
                                           int64_t index);
int64_t index_ledger_next_attempt(const struct index_ledger *l, int64_t index);
