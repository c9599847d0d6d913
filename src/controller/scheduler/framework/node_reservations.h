/* SPDX-License-Identifier: Apache-2.0 */
/* node_reservations.h - the Reservations, and the nodes that they withhold
 *
 * A node that a Reservation has holds a withheld entry in the future of its
 * ledger, for the plugins that depend on time. Others flow around it: a pod may
 * take such a node if it ends before the next window begins, or if it names the
 * Reservation.
 *
 * Owns:       references to the Reservations.
 * Called by:  event_handlers.c and reserved_nodes.c (change); the plugins,
 *             the timeline (look).
 * Thread:     the scheduler's.
 * Invariant:  a node that is there has one entry for each Reservation that has
 *             it and has not ended.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct node_bits;
struct node_reservations;
struct node_set;
struct node_view;
struct object;
struct pod_view;
struct reserved_window;

/* A node by its name, or NULL. */
typedef struct node_view *node_reservations_find_fn(void *context,
                                                    const char *name);

/* Life. The find function is used by changes alone. */
void node_reservations_free(struct node_reservations *all);
struct node_reservations *node_reservations_new(node_reservations_find_fn *find,
                                                void *context)
    OWNED_BY(node_reservations_free);
DEFINE_CLEANUP(struct node_reservations, node_reservations_free)

/* Change. Set: it came or changed; true: it has other nodes than before, so that
 * answers to pods that name it are others. Remove: it went. Node comes, and leaves.
 */
bool node_reservations_set(struct node_reservations *all,
                           const struct object *reservation);
void node_reservations_remove(struct node_reservations *all, const char *name);
void node_reservations_node_comes(struct node_reservations *all,
                                  struct node_view *node);
void node_reservations_node_leaves(struct node_reservations *all,
                                   const struct node_view *node);

/* Calls `turned` for each that has begun or ended since the last call, by the
 * real clock, which may have jumped either way.
 */
void node_reservations_turn(struct node_reservations *all,
                            int64_t now_us,
                            void (*turned)(const struct object *reservation,
                                           void *context),
                            void *context);

/* Look. Find: NULL when there is none. */
unsigned node_reservations_count(const struct node_reservations *all);
const struct object *node_reservations_find(const struct node_reservations *all,
                                            const char *name);

/* The nodes that it has and that are there; NULL: there is no such Reservation.
 * Borrowed until the next change.
 */
const struct node_bits *
node_reservations_nodes(const struct node_reservations *all, const char *name);

/* The name of the one that the pod names, or NULL. */
const char *node_reservations_name(const struct pod_view *pod);

/* Whether none keeps the pod off the node between these times. */
bool node_reservations_admit(const struct node_view *node,
                             const struct pod_view *pod,
                             int64_t from_us,
                             int64_t until_us);

/* The first that keeps a pod which names none off the node in that time, with its
 * window; or NULL.
 */
const struct object *
node_reservations_withholder(const struct node_view *node,
                             int64_t from_us,
                             int64_t until_us,
                             struct reserved_window *ret_window);

/* The nodes that are withheld in that time from the pod: those where `admit` says
 * no; of a pod that names a Reservation which has begun, those of its nodes. NULL:
 * none. Borrowed until the next change or call.
 */
const struct node_set *
node_reservations_withheld(const struct node_reservations *all,
                           const struct pod_view *pod,
                           int64_t from_us,
                           int64_t until_us);

/* The same for pods that name none, of any time to come: they alone are in `bits`
 * afterwards.
 */
void node_reservations_find_withheld(const struct node_reservations *all,
                                     int64_t from_us,
                                     int64_t until_us,
                                     struct node_bits *bits);

/* Visits the nodes of the Reservations that have a window in that time. */
typedef void node_reservations_visit_fn(struct node_view *node, void *context);
void node_reservations_visit(const struct node_reservations *all,
                             int64_t from_us,
                             int64_t until_us,
                             node_reservations_visit_fn *visit,
                             void *context);

/* Calls with each later time at which the pod may have nodes that it may not have
 * before: the end of a window, or the start of one of its own. The first few of
 * each Reservation, in no order.
 */
void node_reservations_visit_turns(const struct node_reservations *all,
                                   const struct pod_view *pod,
                                   int64_t now_us,
                                   void (*visit)(int64_t at_us, void *context),
                                   void *context);
