/* SPDX-License-Identifier: Apache-2.0 */
/* counsel.h - what the extenders say of the nodes that a pod could be on
 *
 * Gathered while the pod's cycle is parked, node by node and by name, because
 * the cluster goes on meanwhile: when the cycle goes on, the nodes are filtered
 * and scored as they are then.
 *
 * Owned by:  the consultation that gathers it.
 * Thread:    the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/scheduler/framework/verdict.h"
#include "lib/base/macro.h"

struct counsel;

struct opinion {
    char *node_name;
    struct answer answer; /* of the extenders that filter */
    int64_t score;        /* of those that prioritize, weighted */
};

void counsel_free(struct counsel *a);
struct counsel *counsel_new(void) OWNED_BY(counsel_free);
DEFINE_CLEANUP(struct counsel, counsel_free)

/* Change. Add: the node is asked about; OK and 0 unless it is said otherwise. */
struct opinion *counsel_add(struct counsel *a, const char *node_name);

/* Look. Find: NULL for a node that nobody was asked about. By place: in the
 * order they were added.
 */
struct opinion *counsel_find(const struct counsel *a, const char *node_name);
struct opinion *counsel_at(const struct counsel *a, unsigned place);
unsigned counsel_count(const struct counsel *a);
