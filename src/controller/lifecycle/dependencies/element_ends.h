/* SPDX-License-Identifier: Apache-2.0 */
/* element_ends.h - the known states of the elements of one array that other
 * jobs wait for
 *
 * The states are kept as sets of indexes. Each end is reported once when it
 * happens; earlier ends are read once from the store.
 *
 * Owns:       copies of everything in it.
 * Thread:     the lifecycle loop's.
 * Invariant:  cancelled is a subset of bad; ok and bad are disjoint.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/job/element_states.h"
#include "lib/api/value/index_set.h"
#include "lib/api/value/task_list.h"
#include "lib/base/macro.h"

struct arena;
struct job;
struct json;

struct element_ends {
    struct arena *arena;
    struct task_list tasks;     /* empty: not an array, or not known yet */
    struct index_set ok, bad;   /* completed; ended otherwise */
    struct index_set cancelled; /* subset of bad */
    struct index_set begun;     /* started and not ended */
    bool is_known, is_loaded;
    bool is_over;     /* the array has ended: elements not in ok never
                       * complete */
    bool is_whole_ok; /* the array completed */
    bool is_lost;     /* the array was deleted before its elements were read */
};

/* Life. */
void element_ends_free(struct element_ends *ends);
struct element_ends *element_ends_new(void) OWNED_BY(element_ends_free);

/* The Job is known. */
void element_ends_follow(struct element_ends *ends, const struct job *job);

bool element_ends_needs_load(const struct element_ends *ends);

/* Reads the store's record of the elements, as jobs/NAME/elements returns it. False: it is
 * malformed.
 */
bool element_ends_load(struct element_ends *ends, const struct json *elements);

/* The element has started. */
void element_ends_begin(struct element_ends *ends, int64_t index);

/* The element has reached a state; WAITING: it is to run again. */
void element_ends_see(struct element_ends *ends, int64_t index, enum element_state state);

/* All elements are to be loaded again. */
void element_ends_reset(struct element_ends *ends);

/* The array has ended; is_gone: no more of its elements can be read. */
void element_ends_close(struct element_ends *ends, bool is_ok, bool is_gone);

/* The tasks of a Job; an empty list if the Job is not an array. */
void element_ends_read_tasks(struct arena *arena, const struct job *job,
                             struct task_list *ret_tasks);
