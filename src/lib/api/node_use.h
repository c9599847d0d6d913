/* SPDX-License-Identifier: Apache-2.0 */
/* node_use.h - what the pods of a node hold of it, all in all
 *
 * Pods that were deleted by force hold theirs until the agent says otherwise.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stdint.h>

struct node;
struct pod;

/* Begins zeroed. */
struct node_use {
    int64_t cpus; /* hardware threads, those kept idle included */
    int64_t memory_bytes;
    int64_t gpus;
    int64_t pods;
};

/* Of a pod that has ended, nothing. */
void node_use_add_pod(struct node_use *use, const struct pod *pod);
void node_use_add_remnants(struct node_use *use, const struct node *node);
