/* SPDX-License-Identifier: Apache-2.0 */
/* array_state.h - the job controller's state of one array, beside the counts of
 * its pods
 *
 * It holds which elements do not start (held, cancelled); how many pods without
 * a node are created ahead, the window; and which ends of elements the store
 * has not recorded yet.
 *
 * Owns:    copies of everything in it.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/api/value/index_set.h"
#include "lib/api/value/task_list.h"
#include "lib/base/list.h"
#include "lib/base/macro.h"

struct arena;
struct element_gate;
struct job;
struct strbuf;

/* How a pod ended. AGAIN: the element waits for its next pod. */
enum array_outcome { ARRAY_DONE, ARRAY_FAILED, ARRAY_CANCELLED, ARRAY_AGAIN };

/* An end to be recorded in the store; the same transaction deletes the pod. */
struct array_end {
    struct list link;
    char *pod, *uid; /* NULL: the pod is gone */
    int64_t index;
    enum array_outcome outcome;
    int64_t of_attempt; /* of the pod; -1: there was no pod */
    int64_t attempt;    /* of the next pod; with the next members, for AGAIN */
    int64_t failures, ignored;
    int64_t interrupted; /* is_too_often: hold the element, which was
                          * interrupted too often */
    bool is_too_often;
    int64_t since_us; /* monotonic; 0: new; -1: send at once */
    bool is_sent;
};

struct array_state {
    bool is_loaded, is_loading;
    bool must_read_again; /* a pod was removed while the record was read */
    bool must_settle;     /* send the ends at once */
    bool must_look;       /* visit all live pods: some may be held or cancelled */

    struct arena *arena; /* for the lists of tasks */
    struct task_list tasks;
    char *held_text, *cancelled_text;
    bool must_follow; /* read the lists again, even if they have not changed */
    struct index_set cancelled;
    struct index_set held;
    struct index_set requeued; /* to run again: the pod has a node and must
                                * end */
    struct array_try {
        int64_t index, attempt;
    } * tries; /* from the record: next attempts of waiting elements */
    size_t n_tries, tries_room;
    struct index_set unstarted; /* elements of whose pods none ever had a
                                 * node */
    struct element_gate *gate;  /* set during a sync; NULL: no element waits
                                 * for one of another array */
    int64_t n_vain;             /* cancelled: their dependency is never met */
    int64_t frontier;           /* no element below it may get a new pod */
    int64_t ended_below;        /* all elements below it are settled or
                                 * cancelled */

    int64_t second_us; /* monotonic; start of the second that `bound` counts */
    int64_t bound, bound_before;
    int64_t window; /* most pods without a node */

    struct list ends;
    size_t n_ends;
};

/* Life. */
void array_state_free(struct array_state *a);
struct array_state *array_state_new(const struct job *job) OWNED_BY(array_state_free);

/* The lists of the Job may have changed. */
void array_state_follow(struct array_state *a, const struct job *job);

/* Ends. Add copies `pod` and `uid`, which may be NULL. */
struct array_end *array_state_add_end(struct array_state *a, const char *pod, const char *uid,
                                      int64_t index, enum array_outcome outcome);
void array_state_drop_end(struct array_state *a, struct array_end *end);

/* From the record: the next attempt of an element. */
void array_state_add_try(struct array_state *a, int64_t index, int64_t attempt);

/* The window: how many pods without a node to have. It is twice the number of
 * pods that were bound in the last second, within limits.
 */
void array_state_note_bound(struct array_state *a);
void array_state_set_window(struct array_state *a, int64_t monotonic_us);

/* Note_free: the element may get a pod again. Note_settled: the elements in
 * `settled` never do. Both keep searches from starting at the first element.
 */
void array_state_note_free(struct array_state *a, int64_t index);
void array_state_note_settled(struct array_state *a, const struct index_set *settled);

bool array_state_is_cancelled(const struct array_state *a, int64_t index);
bool array_state_is_barred(const struct array_state *a, int64_t index);

/* Returns the first index from `index` on that is neither taken nor barred. */
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
