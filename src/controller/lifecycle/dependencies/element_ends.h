/* SPDX-License-Identifier: Apache-2.0 */
/* element_ends.h - what is known of the elements of one array that others wait
 * for
 *
 * Kept as sets of indexes. Ends are heard of one by one, and read once from
 * the store, which has those of before.
 *
 * Owns:       copies of all that it knows.
 * Thread:     the lifecycle loop's.
 * Invariant:  cancelled is in bad, and nothing is in ok and bad.
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
    struct task_list tasks;     /* empty: no array, or not known yet */
    struct index_set ok, bad;   /* completed; ended otherwise */
    struct index_set cancelled; /* of bad */
    struct index_set begun;     /* have started, of those that have not ended */
    bool is_known, is_loaded;
    bool is_over;     /* what is not ok never will be */
    bool is_whole_ok; /* all of it is */
    bool is_lost;     /* it was gone before all was read */
};

/* Life */
void element_ends_free(struct element_ends *ends);
struct element_ends *element_ends_new(void) OWNED_BY(element_ends_free);

/* Change. Follow: the Job is known now. Load: what the store has noted of its
 * elements, as jobs/NAME/elements has it; false: it cannot be read. Begin: it
 * has started. See: it is settled, or WAITING: is to run again. Close: the array
 * has ended; gone: nothing more can be read of it.
 */
void element_ends_follow(struct element_ends *ends, const struct job *job);
bool element_ends_needs_load(const struct element_ends *ends);
bool element_ends_load(struct element_ends *ends, const struct json *elements);
void element_ends_begin(struct element_ends *ends, int64_t index);
void element_ends_see(struct element_ends *ends,
                      int64_t index,
                      enum element_state state);
void element_ends_reset(struct element_ends *ends); /* to be loaded anew */
void element_ends_close(struct element_ends *ends, bool is_ok, bool is_gone);

/* The tasks of a Job; an empty list of one that is no array. */
void element_ends_read_tasks(struct arena *arena,
                             const struct job *job,
                             struct task_list *ret_tasks);
