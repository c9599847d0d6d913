/* SPDX-License-Identifier: Apache-2.0 */
/* preemption.h - the nodes on which preemption would help, and the best of them
 *
 * The parts of DefaultPreemption, without the plugin.
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
    /* Of the dry run, by slot; OK: the node was not tried */
    struct answer *answers;
};

void candidates_fini(struct candidates *c);

/* For the pods of a group, about which no extender is asked. */

/* False if the profile has no DefaultPreemption, no pod on any node ranks lower, or the pod
 * may not preempt.
 */
bool preemption_may_help_group(const struct profile *p, const struct cycle *c);

/* Finds the candidates, best first, by the arguments of that plugin. */
void candidates_find_for_group(struct candidates *ret_candidates, const struct profile *p,
                               const struct cycle *c, const struct diagnosis *diagnosis);

/* NULL, or the reason why the pod may not preempt at all. */
const char *preemption_refusal(const struct cycle *c, const struct diagnosis *diagnosis,
                               const char *nominated_node);

/* Tries the nodes that failed with VERDICT_REJECT, starting at a random one,
 * until enough of them are candidates.
 */
void candidates_find(struct candidates *ret_candidates, const struct profile *p,
                     const struct cycle *c, const struct diagnosis *diagnosis, unsigned percentage,
                     unsigned absolute);

/* The best candidate; the first of equal ones. */
const struct victims *candidates_best(const struct candidates *c);

/* The number of candidates that is enough. */
uint32_t candidates_wanted(unsigned percentage, unsigned absolute, uint32_t n_nodes);
