/* SPDX-License-Identifier: Apache-2.0 */
/* node_classes.h - the nodes, grouped by equal hardware and equal labels
 *
 * A pod that no node of a class could run even if it were empty need be compared
 * with only one of them. The nodes of a class have equal labels, except for
 * those that are the node's own name, equal amounts to give, memory within a
 * thirty-second, and topologies of one shape. Neither the state of a node nor
 * its pods matter, so a node that is down or drained counts like any other.
 *
 * The classes are kept with each change of the store's pending head, like the
 * sums of node_uses.h, so a job that is submitted after a node has joined is
 * compared with that node. Most changes of a node change none of this.
 *
 * Owns:    a reference to the last state of each node.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/list.h"
#include "lib/base/macro.h"

struct object;
struct occupancy;
struct node_classes;

/* A cluster whose nodes have so many different labels that there are more
 * classes has nodes without one. Then it is not known what they could run.
 */
#define NODE_CLASSES_MOST 1024u

struct node_class {
    struct list nodes; /* of class_node.link */
    size_t count;
    bool is_unknown;        /* no node has reported what it has */
    int64_t memory_bytes;   /* the most that any of them has had, */
    int64_t scratch_bytes;  /* and likewise */
    bool is_mixed;          /* their memory differs a little */
    struct occupancy *room; /* of one of them, empty; NULL: no topology */
    unsigned at;            /* place among the classes */
    char *key;
};

struct class_node {
    struct list link;
    struct node_class *class; /* NULL: there were too many classes */
    const struct object *object;
};

/* Life */
void node_classes_free(struct node_classes *all);
struct node_classes *node_classes_new(void) OWNED_BY(node_classes_free);
DEFINE_CLEANUP(struct node_classes, node_classes_free)

/* An object changed, was created (no `before`) or was removed (no
 * `after`). Prefer: the class will be the first from now on.
 */
void node_classes_moved(struct node_classes *all, const struct object *before,
                        const struct object *after);
void node_classes_prefer(struct node_classes *all, struct node_class *class);

/* The n-th class, from 0; NULL: there are no more. Complete: every node
 * has a class.
 */
struct node_class *node_classes_at(const struct node_classes *all, unsigned n);
const struct class_node *node_classes_find(const struct node_classes *all, const char *name);
size_t node_classes_nodes(const struct node_classes *all);
bool node_classes_are_complete(const struct node_classes *all);

/* The nodes' names are visited in no order, until the visitor returns false. */
typedef bool node_classes_name_fn(const char *name, void *context);
void node_classes_visit_names(const struct node_classes *all, node_classes_name_fn *visit,
                              void *context);
