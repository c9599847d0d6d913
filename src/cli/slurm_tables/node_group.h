/* SPDX-License-Identifier: Apache-2.0 */
/* node_group.h - a line of sinfo: the nodes of a partition that are alike in
 * what the line shows
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;

/* A state of Slurm's. Order: as sinfo sorts, largest first. */
struct node_state {
    const char *compact, *whole, *complete; /* "drng", "draining", "mixed+drain" */
    unsigned order;
    bool is_open;      /* takes jobs */
    bool is_allocated; /* has jobs */
    bool is_responding;
};

/* The state of a node of /kiln/v1/nodes. */
const struct node_state *node_state_of(const struct json *summary);

/* Whether it is the state that -t calls by the word (a drained node without jobs is idle, too,
 * and one with some jobs allocated), and whether Slurm has such a state. */
bool node_state_is(const struct node_state *state, const char *word, size_t length);
bool node_state_exists(const char *word, size_t length);

struct node_counts { /* as %C and %F show them */
    int64_t allocated, idle, other, total;
};
struct node_range {
    int64_t least, most, sum;
};

struct node_group {
    const struct json *partition; /* the object; NULL: none */
    bool is_default;
    size_t place;              /* of the partition in the list of all */
    const struct json *node;   /* the first one, of /kiln/v1/nodes; NULL: there is none */
    const struct json *object; /* its Node, if that was asked for; or NULL */
    const struct node_state *state;
    const char **names;
    size_t n_names, capacity;
    struct node_counts nodes, cpus;
    struct node_range cpus_of_node, memory, memory_used;
};

/* Adds a node; one that is in the group already is ignored. */
void node_group_add(struct node_group *group, const struct json *node);
void node_group_fini(struct node_group *group);

/* Name and texts of the partition; "" for one that is missing. */
const char *node_group_partition(const struct node_group *group);
const char *node_group_text(const struct node_group *group, const char *path);
