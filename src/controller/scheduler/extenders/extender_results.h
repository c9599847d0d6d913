/* SPDX-License-Identifier: Apache-2.0 */
/* extender_results.h - what the extenders say of a pod: of the nodes that it
 * could be on, and of who should leave one
 *
 * Gathered while the pod's cycle is parked, and kept by names, because the
 * cluster goes on meanwhile: when the cycle goes on, the nodes are filtered and
 * scored as they are then.
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
    int64_t score;        /* of those that prioritize, weighted */
    bool is_passed;       /* by the extender whose answer is being read */
};

void extender_results_free(struct extender_results *c);
struct extender_results *extender_results_new(void)
    OWNED_BY(extender_results_free);
DEFINE_CLEANUP(struct extender_results, extender_results_free)

/* Change. Add: the node is asked about; OK and 0 unless it is said otherwise.
 * The proposals stand there when they have been asked about.
 */
struct extender_result *extender_results_add(struct extender_results *c,
                                             const char *node_name);
void extender_results_set_proposals(struct extender_results *c,
                                    struct proposals *proposals);

/* Look. Find: NULL for a node that nobody was asked about. At: by place, in
 * the order they were added. Proposals: NULL when nobody was asked.
 */
struct extender_result *extender_results_find(const struct extender_results *c,
                                              const char *node_name);
struct extender_result *extender_results_at(const struct extender_results *c,
                                            unsigned place);
unsigned extender_results_count(const struct extender_results *c);
const struct proposals *
extender_results_proposals(const struct extender_results *c);
