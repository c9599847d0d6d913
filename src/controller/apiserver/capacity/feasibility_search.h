/* SPDX-License-Identifier: Apache-2.0 */
/* feasibility_search.h - a pod that is compared with the nodes
 *
 * Called by:  feasibility.c, and feasibility_words.c for a pod that no node
 *             could run. No other file.
 * Thread:     the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/apiserver/capacity/feasibility.h"
#include "lib/allocator/allocator.h"
#include "lib/allocator/demand.h"
#include "lib/api/pod/pod_sums.h"

struct class_node;
struct map;
struct node_class;
struct partition;

#define PARTITIONS_MOST 16u

struct feasibility_search {
    const struct feasibility_question *q;
    const struct pod_spec *spec;
    const char *partition; /* names; NULL: any node */
    const struct partition *partitions[PARTITIONS_MOST];
    unsigned n_partitions;
    struct map *named; /* struct class_node: nodes that are named in some way */
    size_t n_values;   /* of labels and names that nodes are to have, or not */
    bool is_only_named;
    bool is_unknown;
    struct pod_sums sums;
    struct demand demand;
    int64_t scratch_bytes;
};

/* Whether the node is of the pod's partitions; and one that the pod asks for. */
bool feasibility_is_in_partition(const struct feasibility_search *s, const struct class_node *node);
bool feasibility_is_wanted(const struct feasibility_search *s, const struct class_node *node);

/* An amount that the pod asks for, and what the node has of it: CPUs in
 * thousandths, and the others in units.
 */
struct asked_size {
    const char *name;
    const char *model; /* of GPUs; or NULL */
    int64_t needs, has;
};
unsigned feasibility_asked_count(const struct feasibility_search *s);
struct asked_size feasibility_asked_at(const struct feasibility_search *s,
                                       const struct class_node *node, unsigned at);

/* The allocator's answer for an empty node of the class. The demand that it was
 * asked for may be a little smaller than the pod's.
 */
enum allocator_answer feasibility_ask_allocator(const struct feasibility_search *s,
                                                const struct node_class *class,
                                                struct demand *ret_demand);

/* Visits one node of each class, and all that are named, until the visitor
 * returns false.
 */
typedef bool feasibility_visit_fn(struct feasibility_search *s, const struct class_node *node,
                                  void *context);
void feasibility_visit(struct feasibility_search *s, feasibility_visit_fn *visit, void *context);

/* Appends why no node could run the pod; or that only `room` of those that are
 * placed together could run at a time, on so many nodes.
 */
void feasibility_format_why(struct feasibility_search *s, struct strbuf *out);
void feasibility_format_few(const struct feasibility_search *s, uint64_t room, uint64_t nodes,
                            struct strbuf *out);
