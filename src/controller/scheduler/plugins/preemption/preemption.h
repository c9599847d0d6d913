/* SPDX-License-Identifier: Apache-2.0 */
/* preemption.h - on which nodes preemption would help, and on which best
 *
 * The parts of DefaultPreemption by themselves.
 *
 * Thread: the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/diagnosis.h"
#include "controller/scheduler/plugins/preemption/victims.h"

struct candidates {
    struct victims *items;
    unsigned count;
    struct answer *answers; /* of the dry run, by slot; OK: was not tried */
};

void candidates_fini(struct candidates *c);

/* NULL, or why the pod may not preempt at all. */
const char *preemption_refusal(const struct cycle *c,
                               const struct diagnosis *diagnosis,
                               const char *nominated_node);

/* Tries the nodes that failed with VERDICT_REJECT, from a random one on, until
 * enough help.
 */
void candidates_find(struct candidates *ret_candidates,
                     const struct profile *p,
                     const struct cycle *c,
                     const struct diagnosis *diagnosis,
                     unsigned percentage,
                     unsigned absolute);

/* The best; of equals the first. */
const struct victims *candidates_best(const struct candidates *c);

/* How many are enough. */
uint32_t
candidates_wanted(unsigned percentage, unsigned absolute, uint32_t n_nodes);
