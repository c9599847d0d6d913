/* SPDX-License-Identifier: Apache-2.0 */
/* element_gate.h - elements of an array that wait for those of other arrays with
 * the same task ids (aftercorr)
 *
 * A gate has the elements of an array that still wait, or do so in vain. An end
 * (element_ends.h) moves one element of each gate, whatever the number of
 * elements; only when all is read at the start are those looked at that wait.
 *
 * Owns:       copies of all that it knows; a gate has pointers to the ends that
 *             it hears of, which outlive it.
 * Thread:     the lifecycle loop's.
 * Invariant:  never is in waiting.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/api/job/job_dependency.h"
#include "lib/api/value/index_set.h"
#include "lib/base/macro.h"

struct element_ends;
struct job;

struct element_gate {
    struct index_set waiting;
    struct index_set never; /* of these, those that wait in vain */
    int64_t freed_from; /* the first that waits no more since it was looked at;
                         * INT64_MAX: none */
    struct gate_parts *parts;
};

/* Gate. Add: it waits for these, too. Complete: these are all, and before that
 * nothing is decided. Hear: of the end of an element of them;
 * false: that changes nothing. Look at all: more than one may be another now.
 * Drop: what waited in vain is settled as that.
 */
void element_gate_free(struct element_gate *gate);
struct element_gate *element_gate_new(const struct job *job)
    OWNED_BY(element_gate_free);
void element_gate_add(struct element_gate *gate,
                      const struct element_ends *ends);
void element_gate_complete(struct element_gate *gate);
bool element_gate_hear(struct element_gate *gate,
                       const struct element_ends *ends,
                       int64_t index);
void element_gate_look_at_all(struct element_gate *gate);
void element_gate_drop(struct element_gate *gate, int64_t index);

/* Of the array as a whole: met as soon as one element need not wait, never when
 * all wait in vain.
 */
enum job_dependency_verdict element_gate_judge(const struct element_gate *gate);
