/* SPDX-License-Identifier: Apache-2.0 */
/* node_reservations.h - the Reservations, and the nodes that they withhold
 *
 * Each node of a Reservation has a withheld entry in the future of its ledger,
 * for the plugins that depend on time. A pod may take such a node if the pod
 * ends before the next window begins, or if the pod names the Reservation.
 *
 * Owns:       references to the Reservations.
 * Called by:  event_handlers.c (change); the
 *             plugins, select/, explain/ and the timeline (look).
 * Thread:     the scheduler's.
 * Invariant:  a node that exists has one entry for each Reservation that names
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

/* Finds a node by name, or NULL. */
typedef struct node_view *node_reservations_find_fn(void *context, const char *name);

/* Life. Only the change functions call `find`. */
void node_reservations_free(struct node_reservations *all);
struct node_reservations *node_reservations_new(node_reservations_find_fn *find, void *context)
    OWNED_BY(node_reservations_free);
DEFINE_CLEANUP(struct node_reservations, node_reservations_free)

/* A Reservation was added or changed. Returns whether its set of existing nodes is another
 * one, so that answers to pods that name it are outdated.
 */
bool node_reservations_set(struct node_reservations *all, const struct object *reservation);

/* A Reservation was deleted. */
void node_reservations_remove(struct node_reservations *all, const char *name);

/* A node was added. */
void node_reservations_node_comes(struct node_reservations *all, struct node_view *node);

/* A node is about to go. */
void node_reservations_node_leaves(struct node_reservations *all, const struct node_view *node);

/* Calls `turned` for each Reservation that has begun or ended since the last
 * call, by the real clock, which may jump forwards or backwards.
 */
void node_reservations_turn(struct node_reservations *all, int64_t now_us,
                            void (*turned)(const struct object *reservation, void *context),
                            void *context);

/* Find: NULL when there is none. */
unsigned node_reservations_count(const struct node_reservations *all);
const struct object *node_reservations_find(const struct node_reservations *all, const char *name);

/* The existing nodes of a Reservation; NULL: there is no such Reservation.
 * Borrowed until the next change.
 */
const struct node_bits *node_reservations_nodes(const struct node_reservations *all,
                                                const char *name);

/* The name of the Reservation that the pod names, or NULL. */
const char *node_reservations_name(const struct pod_view *pod);

/* Whether the pod may use the node from `from_us` to `until_us`: no Reservation
 * withholds the node from it, and one that it names has the node and has begun.
 */
bool node_reservations_admit(const struct node_view *node, const struct pod_view *pod,
                             int64_t from_us, int64_t until_us);

/* For a pod that names no Reservation: the first Reservation that withholds the
 * node in that time, and its window; or NULL.
 */
const struct object *node_reservations_withholder(const struct node_view *node, int64_t from_us,
                                                  int64_t until_us,
                                                  struct reserved_window *ret_window);

/* The nodes that are withheld from the pod in that time, that is, those that
 * node_reservations_admit refuses. For a pod that names a Reservation which has
 * begun, the set is right only for that Reservation's own nodes. NULL: none.
 * Borrowed until the next change or call.
 */
const struct node_set *node_reservations_withheld(const struct node_reservations *all,
                                                  const struct pod_view *pod, int64_t from_us,
                                                  int64_t until_us);

/* The same for a pod that names no Reservation, for any time in the future.
 * Replaces the content of `bits`.
 */
void node_reservations_find_withheld(const struct node_reservations *all, int64_t from_us,
                                     int64_t until_us, struct node_bits *bits);

/* Visits the nodes of all Reservations that have a window in that time. */
typedef void node_reservations_visit_fn(struct node_view *node, void *context);
void node_reservations_visit(const struct node_reservations *all, int64_t from_us, int64_t until_us,
                             node_reservations_visit_fn *visit, void *context);

/* Calls `visit` with future times at which nodes may become available to the
 * pod: the end of each window, and the start of each window of the Reservation
 * that it names. Only the next few windows of each Reservation count. The times
 * are not sorted.
 */
void node_reservations_visit_turns(const struct node_reservations *all, const struct pod_view *pod,
                                   int64_t now_us, void (*visit)(int64_t at_us, void *context),
                                   void *context);
