/* SPDX-License-Identifier: Apache-2.0 */
/* reservation_nodes.h - which nodes a Reservation of a number of nodes gets
 *
 * Those whose pods end by its start come first, then those whose pods end
 * earliest; of equal ones, by name.
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
        int64_t busy_until_us; /* INT64_MAX: nobody knows */
    } * items;
    unsigned count, capacity;
};

void reservation_nodes_fini(struct reservation_nodes *nodes);
void reservation_nodes_add(struct reservation_nodes *nodes,
                           const char *name,
                           int64_t busy_until_us);

/* Keeps the best so many for a start at that time. */
void reservation_nodes_choose(struct reservation_nodes *nodes,
                              unsigned count,
                              int64_t start_us);

/* Whether the node has the labels that are asked for. */
bool reservation_nodes_match(const struct node_reservation *r,
                             const struct node *node);

/* When the pod ends at the latest; INT64_MAX: it has no time limit. */
int64_t reservation_nodes_end_us(const struct pod *pod, int64_t now_us);
