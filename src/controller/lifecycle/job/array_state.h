/* SPDX-License-Identifier: Apache-2.0 */
/* array_state.h - what the job controller knows of one array beside the counts
 * of its pods
 *
 * Three things: which elements do not start (held, cancelled); how many pods
 * are worth having, the window; and which elements have come to something that
 * the store has not noted yet.
 *
 * Owns:    copies of all that it knows.
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

/* The end of a pod. Again: its element waits for the next. */
enum array_outcome { ARRAY_DONE, ARRAY_FAILED, ARRAY_CANCELLED, ARRAY_AGAIN };

/* To be noted in the store, and then the pod goes. */
struct array_end {
    struct list link;
    char *pod, *uid; /* NULL: it is gone */
    int64_t index;
    enum array_outcome outcome;
    int64_t of_attempt; /* of the pod; -1: it is of none */
    int64_t attempt;    /* of the next pod; these for AGAIN */
    int64_t failures, ignored;
    int64_t interrupted; /* more than may be: the element is to be held */
    bool is_too_often;
    int64_t since_us; /* monotonic; 0: new */
    bool is_sent;
};

struct array_state {
    bool is_loaded, is_loading;
    bool must_settle; /* at once */
    bool must_look;   /* at all live pods: some may be held or cancelled */

    struct arena *arena; /* of the lists */
    struct task_list tasks;
    char *held_text, *cancelled_text;
    bool must_follow; /* though the texts are the same */
    struct index_set cancelled;
    struct index_set held;
    struct index_set requeued; /* its pod has a node, and is to end */
    struct array_try {
        int64_t index, attempt;
    } * tries; /* by the record: the next attempt of those that wait */
    size_t n_tries, tries_room;
    struct index_set unstarted; /* of those with pods: none had a node */
    struct element_gate *gate;  /* in this look; NULL: none waits for an element
                                * of another array */
    int64_t n_vain;             /* cancelled, since they waited in vain */
    int64_t frontier;           /* none below it may have a new pod */
    int64_t ended_below;        /* all below it are settled or cancelled */

    int64_t second_us; /* monotonic, the second in which `bound` were */
    int64_t bound, bound_before;
    int64_t window; /* pods without a node that are worth having */

    struct list ends;
    size_t n_ends;
};

/* Life */
void array_state_free(struct array_state *a);
struct array_state *array_state_new(const struct job *job)
    OWNED_BY(array_state_free);

/* The lists of the Job may have changed. */
void array_state_follow(struct array_state *a, const struct job *job);

/* Ends. Add takes nothing over: `pod` and `uid` are copied, or NULL. */
struct array_end *array_state_add_end(struct array_state *a,
                                      const char *pod,
                                      const char *uid,
                                      int64_t index,
                                      enum array_outcome outcome);
void array_state_drop_end(struct array_state *a, struct array_end *end);

/* Of the record: the next attempt of an element. */
void array_state_add_try(struct array_state *a, int64_t index, int64_t attempt);

/* The window: pods without a node that are worth having. */
void array_state_note_bound(struct array_state *a);
void array_state_set_window(struct array_state *a, int64_t monotonic_us);

/* An element may have a pod again; and those in `settled` never will. So no look
 * begins at the first element.
 */
void array_state_note_free(struct array_state *a, int64_t index);
void array_state_note_settled(struct array_state *a,
                              const struct index_set *settled);

/* Look. Next: the first from `index` on that is neither taken nor barred. Format: the task ids of the elements that have no pod and are not
 * settled (`taken` are those that are), shortened.
 */
bool array_state_is_cancelled(const struct array_state *a, int64_t index);
bool array_state_is_barred(const struct array_state *a, int64_t index);
int64_t array_state_next(const struct array_state *a,
                         const struct index_set *taken,
                         int64_t index);
void array_state_format_waiting(const struct array_state *a,
                                const struct index_set *taken,
                                struct strbuf *out);
/* The same of any indexes, at the end: less is left out. */
void array_state_format(const struct array_state *a,
                        const struct index_set *indexes,
                        struct strbuf *out);
