/* SPDX-License-Identifier: Apache-2.0 */
/* index_counts.h - the states of the indexes of one Job
 *
 * An index is done when one of its pods has succeeded, and failed when its pods
 * have failed more often than the Job allows; then it is settled for good. It
 * is taken while it has a pod, and when it is settled. An index that ever had a
 * pod and is not settled has a slot, so a million indexes that are done in
 * order cost one range. Plain data: zeroed is empty.
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
    int64_t active;      /* pods; if more than 0, the index is taken */
    int64_t failures;    /* failed pods that count against the limit */
    int64_t ignored;     /* failed pods that do not count */
    int64_t interrupted; /* arrays: interrupted pods since the last restart */
    int64_t last_failure_us;
};

struct index_counts {
    struct index_set done, failed, cancelled, taken;
    /* `done` has all settled indexes, which are one range in a large array;
     * failed and cancelled ones are only counted
     */
    bool is_merged;
    int64_t n_failed;         /* failed ones, if is_merged */
    int64_t n_cancelled;      /* in either case */
    struct index_slot *slots; /* in ascending order of index */
    size_t n_slots, n_stale_slots, slot_room;

    /* of a Job whose attempts are whole: what is done is done in the last of its
     * attempts, and all indexes get the next attempt, which is this number
     */
    bool is_whole;
    int64_t attempts;
};

/* Life: from status.completedIndexes and failedIndexes; either may be NULL. */
void index_counts_fini(struct index_counts *c);
void index_counts_load(struct index_counts *c, const char *done, const char *failed);

/* Finish, fail and cancel settle the index; the others do nothing if it
 * is settled.
 */
void index_counts_finish(struct index_counts *c, int64_t index);
void index_counts_fail(struct index_counts *c, int64_t index);
void index_counts_cancel(struct index_counts *c, int64_t index);
void index_counts_take(struct index_counts *c, int64_t index);
void index_counts_release(struct index_counts *c, int64_t index);

/* Note: a pod of that attempt was created, and with it a whole attempt begins;
 * withdraw: it was not created after
 * all. Note_failures: how many pods of the index have failed so far, according
 * to its pods.
 */
void index_counts_note(struct index_counts *c, int64_t index, int64_t attempt);
void index_counts_withdraw(struct index_counts *c, int64_t index, int64_t attempt);
void index_counts_note_failures(struct index_counts *c, int64_t index, int64_t failures,
                                int64_t ignored, int64_t last_failure_us);
void index_counts_set_interrupted(struct index_counts *c, int64_t index, int64_t interrupted);

/* Is_last: what that attempt has done counts. Count: the indexes below `end`. Find: NULL if the index never had a pod
 * or is settled.
 */
int64_t index_counts_count_done(const struct index_counts *c, int64_t end);
int64_t index_counts_count_failed(const struct index_counts *c, int64_t end);
bool index_counts_is_last(const struct index_counts *c, int64_t attempt);
bool index_counts_is_settled(const struct index_counts *c, int64_t index);
const struct index_slot *index_counts_find(const struct index_counts *c, int64_t index);
