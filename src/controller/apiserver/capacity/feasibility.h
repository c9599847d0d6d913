/* SPDX-License-Identifier: Apache-2.0 */
/* feasibility.h - whether some node could run a pod if nothing else ran
 *
 * Only what the nodes have, their labels and their partitions count, not whether
 * they are full, down, drained or tainted, because that passes. The cores,
 * memory and devices are judged by the allocator that also places the pod. When
 * something is not known, the answer is yes: there are no nodes yet, or some
 * have not reported what they have, or the pod is not for Kiln's scheduler.
 *
 * Pods that are placed together need as much room at the same time: a node
 * counts for as many of them as its amounts allow, or for one.
 *
 * The class of nodes that could run the pod before it is compared first, so the
 * usual answer costs one comparison. The others are compared for a pod that
 * cannot run, at most NODE_CLASSES_MOST and the nodes that the pod or its
 * partition names, of which there may be FEASIBILITY_NAMES_MOST.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/api/policy/partition.h"

struct node_classes;
struct pod_spec;
struct strbuf;

/* A pod that names more nodes, or asks for more values of labels, is not
 * compared: every class of nodes would be compared with each.
 */
#define FEASIBILITY_NAMES_MOST 1024u

struct feasibility_question {
    struct node_classes *nodes;
    const struct pod_spec *spec;
    partition_find_fn *find; /* a Partition or Reservation, by its name */
    void *owner;
    unsigned together;    /* that many such pods at a time; 0: each by itself */
    bool is_one_per_node; /* and each of them on another node */
    /* And all of them on nodes with the same value of this label; NULL: on any. */
    const char *topology_key;
};

/* False: no node could ever run it. Then the reason is appended, with the node
 * or the word that comes nearest: "no node has 1000 CPUs; the nearest, n1, has
 * 64".
 */
bool feasibility_judge(const struct feasibility_question *question, struct strbuf *why);
