/* SPDX-License-Identifier: Apache-2.0 */
/* element_gate.h - elements of an array that wait for elements of other arrays
 * with the same task ids (aftercorr)
 *
 * A gate has the elements of an array that still wait, and those whose
 * dependency is never met. An end (element_ends.h) updates one element of each
 * gate, at a cost that does not depend on the number of elements. All waiting
 * elements are judged only when a target's record was read, or the target has
 * ended or was requeued.
 *
 * Owns:       copies of everything in it, except its pointers to element_ends,
 *             which must outlive it.
 * Thread:     the lifecycle loop's.
 * Invariant:  never is a subset of waiting.
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
    struct index_set never; /* those of waiting that are never met */
    int64_t freed_from;     /* lowest index removed from waiting since the caller
                         * last reset this; INT64_MAX: none */
    struct gate_parts *parts;
};

void element_gate_free(struct element_gate *gate);
struct element_gate *element_gate_new(const struct job *job) OWNED_BY(element_gate_free);

/* The gate waits for those elements, too. */
void element_gate_add(struct element_gate *gate, const struct element_ends *ends);

/* All arrays are added; nothing is judged before. */
void element_gate_complete(struct element_gate *gate);

/* An element of `ends` has ended. False: that changes nothing. */
bool element_gate_note_end(struct element_gate *gate, const struct element_ends *ends,
                           int64_t index);

/* Judges all waiting elements. */
void element_gate_check_all(struct element_gate *gate);

/* Removes an element that is never met, after its state was recorded. */
void element_gate_drop(struct element_gate *gate, int64_t index);

/* The verdict for the array as a whole: met as soon as one element need not
 * wait, never met when that holds for all elements.
 */
enum job_dependency_verdict element_gate_judge(const struct element_gate *gate);
