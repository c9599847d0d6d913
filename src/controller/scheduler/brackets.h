/* SPDX-License-Identifier: Apache-2.0 */
/* brackets.h - the nodes by how full they are, with bounds of each bracket
 *
 * Nodes of about the same size, with about as much of it in use, and in the
 * same tenth of the order of places are one bracket; brackets of nodes of one
 * size are a class. Brought up to date at the cost of what has changed. The
 * bounds of a bracket hold for each of its nodes; those of a class may be
 * wider than need be.
 *
 * Owns:    copies of numbers; the views are the cache's.
 * Thread:  the scheduler's.
 */
#pragma once

#include <stdint.h>

#include "controller/scheduler/framework/bounds.h"
#include "lib/base/macro.h"

struct bracket;
struct bracket_class;
struct node_view;
struct snapshot;

/* A node in its bracket. */
struct bracket_node {
    struct node_view *view; /* NULL: no such node */
    struct bounds bounds;
    struct bracket_class *class;
    struct bracket *bracket;
    uint32_t at; /* its place there */
};

struct bracket {
    struct bounds bounds;
    bool is_stale; /* the bounds are wider than the nodes left */
    uint32_t *slots;
    uint32_t count, capacity;
};

#define BRACKETS_OF_CLASS 220u

struct bracket_class {
    uint64_t key;
    uint32_t n_nodes;
    struct bounds bounds;
    uint32_t removals; /* since the bounds were made */
    struct bracket brackets[BRACKETS_OF_CLASS];
};

#define BRACKET_CLASSES 64u

struct brackets {
    uint64_t generation; /* seen */
    uint64_t removal_generation;
    struct bracket_node *nodes; /* by slot */
    uint32_t n_slots;
    struct bracket_class *classes[BRACKET_CLASSES]; /* the last one: the rest */
    unsigned n_classes;
};

void brackets_free(struct brackets *b);
struct brackets *brackets_new(void) OWNED_BY(brackets_free);
DEFINE_CLEANUP(struct brackets, brackets_free)

void brackets_update(struct brackets *b, const struct snapshot *snapshot);

/* The bounds of a bracket that has nodes, as they are now. */
const struct bounds *brackets_bounds(const struct brackets *b,
                                     struct bracket *bracket);
