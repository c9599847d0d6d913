/* SPDX-License-Identifier: Apache-2.0 */
/* memory_manager.h - memory and hugepages by NUMA node, as the kubelet's static
 * memory manager policy accounts for them
 *
 * A block is an amount on a set of NUMA nodes, filled from the lowest node up.
 * The group rule: a node that is used by single-node blocks joins no group, and
 * a node in a group appears in hints only together with that group.
 *
 * Thread:     one at a time.
 * Invariant:  reserved + free = allocatable, for each node and type.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct numa_hint;
struct numa_hints;

#define MEMORY_TYPES     4u /* 0: plain memory; the others: hugepages */
#define MEMORY_MAX_NODES 64u
#define MEMORY_REUSES    32u

struct memory_cell {
    uint64_t allocatable, reserved, free;
};

struct memory_node {
    uint16_t id;
    unsigned assignments; /* blocks that name the node */
    uint64_t group;       /* only the node itself without blocks */
    struct memory_cell cells[MEMORY_TYPES];
};

struct memory_manager {
    unsigned count;
    uint16_t ids[MEMORY_MAX_NODES]; /* ascending, in the order of `nodes` */
    struct memory_node nodes[MEMORY_MAX_NODES];
};

struct memory_request {
    bool is_asked[MEMORY_TYPES];
    uint64_t bytes[MEMORY_TYPES];
};

struct memory_block {
    uint64_t nodes;
    unsigned type;
    uint64_t bytes;
};

/* The memory that init containers of a pod leave to the containers after them.
 */
struct memory_reuse {
    struct memory_block items[MEMORY_REUSES];
    unsigned count;
};

enum memory_answer {
    MEMORY_OK,
    MEMORY_NO_DEFAULT,            /* no affinity, and no set of nodes fits */
    MEMORY_DEFAULT_NOT_PREFERRED, /* likewise, under a strict policy */
    MEMORY_NO_EXTENSION,          /* no wider set around the affinity fits */
    MEMORY_EXTENSION_NOT_PREFERRED,
    MEMORY_GROUP_RULE,
};

void memory_manager_add_node(struct memory_manager *m, uint16_t id);
struct memory_node *memory_manager_find(struct memory_manager *m, uint16_t id);

/* The same hints serve every type. No hints when nothing fits; the kubelet
 * passes that on as "no preference".
 */
void memory_manager_hints(const struct memory_manager *m, const struct memory_request *request,
                          const struct memory_reuse *reuse, struct numa_hints *ret_hints);

/* Finds the NUMA nodes for the request; the caller makes the blocks. */
enum memory_answer memory_manager_allocate(struct memory_manager *m,
                                           const struct memory_request *request,
                                           const struct memory_reuse *reuse,
                                           const struct numa_hint *affinity, uint64_t *ret_nodes);
void memory_manager_release(struct memory_manager *m, const struct memory_block *block);

/* An init container leaves its block for reuse; a container that reuses one
 * takes it.
 */
void memory_reuse_leave(struct memory_reuse *r, const struct memory_block *b);
void memory_reuse_take(struct memory_reuse *r, const struct memory_block *b);
