/* SPDX-License-Identifier: Apache-2.0 */
/* reservation_nodes.h - chooses the nodes of a Reservation by their number
 *
 * Nodes whose pods end by the reservation's start come first, then nodes whose
 * pods end earliest; equal nodes are ordered by name.
 *
 * Owns:    the list; borrows the names.
 * Thread:  any; plain data.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct node;
struct node_reservation;
struct pod;

struct reservation_nodes {
    struct reservation_candidate {
        const char *name;
        int64_t busy_until_us; /* INT64_MAX: unknown */
    } * items;
    unsigned count, capacity;
};

void reservation_nodes_fini(struct reservation_nodes *nodes);
void reservation_nodes_add(struct reservation_nodes *nodes, const char *name,
                           int64_t busy_until_us);

/* Keeps the best `count` nodes for a start at that time. */
void reservation_nodes_choose(struct reservation_nodes *nodes, unsigned count, int64_t start_us);

/* Whether the node has all labels that the reservation's selector asks for, and
 * is none of an ordinary user, on which only that user's pods could run.
 */
bool reservation_nodes_match(const struct node_reservation *r, const struct node *node);

/* The latest time at which the pod ends; INT64_MAX: unknown, because it has no
 * time limit or is suspended.
 */
int64_t reservation_nodes_end_us(const struct pod *pod, int64_t now_us);
