/* SPDX-License-Identifier: Apache-2.0 */
/* extender_results.h - the extenders' answers for a pod: about nodes, and about
 * pods to preempt
 *
 * They are collected while the pod's cycle is parked, and refer to nodes by
 * name, because the cluster may change meanwhile: when the cycle goes on, the
 * nodes are filtered and scored in their current state.
 *
 * Owned by:  the pod's assignment.
 * Thread:    the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/proposal.h"
#include "controller/scheduler/framework/verdict.h"
#include "lib/base/macro.h"

struct extender_results;

struct extender_result {
    char *node_name;
    struct answer answer; /* of the extenders that filter */
    int64_t score;        /* weighted sum of those that prioritize */
    bool is_passed;       /* by the answer that is being decoded */
};

void extender_results_free(struct extender_results *r);
struct extender_results *extender_results_new(void) OWNED_BY(extender_results_free);
DEFINE_CLEANUP(struct extender_results, extender_results_free)

/* Adds a node that the extenders are asked about, with the answer OK and score 0 at first. */
struct extender_result *extender_results_add(struct extender_results *r, const char *node_name);

/* Sets the final proposals, after the extenders were asked about preemption. */
void extender_results_set_proposals(struct extender_results *r, struct proposals *proposals);

/* Returns NULL for a node that no extender was asked about. */
struct extender_result *extender_results_find(const struct extender_results *r,
                                              const char *node_name);

/* Returns the node of that index, in the order in which they were added. */
struct extender_result *extender_results_at(const struct extender_results *r, unsigned place);

unsigned extender_results_count(const struct extender_results *r);

/* Returns NULL when no extender was asked. */
const struct proposals *extender_results_proposals(const struct extender_results *r);
