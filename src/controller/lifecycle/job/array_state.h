/* SPDX-License-Identifier: Apache-2.0 */
/* array_state.h - the job controller's state of one array, beside the counts of
 * its pods
 *
 * It holds which elements do not start (held, cancelled), and how many pods without
 * a node are created ahead, the window. The ends of elements that the store has not
 * recorded yet are a part of it (array_ends.h).
 *
 * Owns:    copies of everything in it.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct array_ends;
struct array_state;
struct element_gate;
struct index_set;
struct job;
struct strbuf;
struct task_list;

/* Life. */
void array_state_free(struct array_state *a);
struct array_state *array_state_new(const struct job *job) OWNED_BY(array_state_free);

struct array_ends *array_state_ends(struct array_state *a);
const struct task_list *array_state_tasks(const struct array_state *a);

/* The record of elements in the store is read once. Begin_load: false if it was read, or is
 * being read. End_load: it was read, or could not be; false: a pod was removed meanwhile, so
 * that it may be older than that and must be read again. Set_broken: it cannot be read, and
 * is not read again.
 */
bool array_state_is_loaded(const struct array_state *a);
bool array_state_begin_load(struct array_state *a);
bool array_state_end_load(struct array_state *a);
void array_state_note_removed(struct array_state *a);
void array_state_set_loaded(struct array_state *a);
void array_state_set_broken(struct array_state *a);

/* The next attempt of an element, from the record. Take: one of them; false: no more. */
void array_state_add_try(struct array_state *a, int64_t index, int64_t attempt);
bool array_state_take_try(struct array_state *a, int64_t *ret_index, int64_t *ret_attempt);

/* The lists of the Job may have changed. Follow_again: read them also if they have not. */
void array_state_follow(struct array_state *a, const struct job *job);
void array_state_follow_again(struct array_state *a);

/* Barred: held or cancelled. Hold: it was interrupted too often. */
bool array_state_is_cancelled(const struct array_state *a, int64_t index);
bool array_state_is_barred(const struct array_state *a, int64_t index);
const struct index_set *array_state_cancelled(const struct array_state *a);
void array_state_hold(struct array_state *a, int64_t index);

/* Elements that are to run again, whose pod has a node and must end. */
void array_state_requeue(struct array_state *a, int64_t index);
bool array_state_is_requeued(const struct array_state *a, int64_t index);
void array_state_end_requeue(struct array_state *a, int64_t index);

/* Elements of whose pods none ever had a node. */
void array_state_note_unstarted(struct array_state *a, int64_t index);
void array_state_note_started(struct array_state *a, int64_t index);
const struct index_set *array_state_unstarted(const struct array_state *a);

/* Elements that are cancelled because their dependency is never met. */
void array_state_add_vain(struct array_state *a);
int64_t array_state_n_vain(const struct array_state *a);

/* All live pods are to be visited: some may be held or cancelled. Take: the answer, once. */
void array_state_request_visit(struct array_state *a);
bool array_state_take_visit(struct array_state *a);

/* Set during a sync; NULL: no element waits for one of another array. */
void array_state_set_gate(struct array_state *a, struct element_gate *gate);
struct element_gate *array_state_gate(const struct array_state *a);

/* The window: how many pods without a node to have. It is twice the number of
 * pods that were bound in the last second, within limits.
 */
void array_state_note_bound(struct array_state *a);
void array_state_set_window(struct array_state *a, int64_t monotonic_us);
int64_t array_state_window(const struct array_state *a);

/* Both keep searches from starting at the first element. */

/* The element may get a pod again. */
void array_state_note_free(struct array_state *a, int64_t index);

/* The elements in `settled` never get a pod again. */
void array_state_note_settled(struct array_state *a, const struct index_set *settled);

/* Returns the first index that is neither taken nor barred, of all or from `index` on. */
int64_t array_state_first(struct array_state *a, const struct index_set *taken);
int64_t array_state_next(const struct array_state *a, const struct index_set *taken, int64_t index);

/* Formats the task ids of elements that have no pod and are not settled (`taken` has those
 * that have or are), shortened.
 */
void array_state_format_waiting(const struct array_state *a, const struct index_set *taken,
                                struct strbuf *out);
/* The same for any set of indexes, when the array has ended: less is left out.
 */
void array_state_format(const struct array_state *a, const struct index_set *indexes,
                        struct strbuf *out);
