/* SPDX-License-Identifier: Apache-2.0 */
/* counsel.h - what the extenders say of a pod: of the nodes that it could be
 * on, and of who should leave one
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

struct counsel;

struct opinion {
    char *node_name;
    struct answer answer; /* of the extenders that filter */
    int64_t score;        /* of those that prioritize, weighted */
    bool is_passed;       /* by the extender whose answer is being read */
};

void counsel_free(struct counsel *c);
struct counsel *counsel_new(void) OWNED_BY(counsel_free);
DEFINE_CLEANUP(struct counsel, counsel_free)

/* Change. Add: the node is asked about; OK and 0 unless it is said otherwise.
 * The proposals stand there when they have been asked about.
 */
struct opinion *counsel_add(struct counsel *c, const char *node_name);
void counsel_set_proposals(struct counsel *c, struct proposals *proposals);

/* Look. Find: NULL for a node that nobody was asked about. At: by place, in
 * the order they were added. Proposals: NULL when nobody was asked.
 */
struct opinion *counsel_find(const struct counsel *c, const char *node_name);
struct opinion *counsel_at(const struct counsel *c, unsigned place);
unsigned counsel_count(const struct counsel *c);
const struct proposals *counsel_proposals(const struct counsel *c);
