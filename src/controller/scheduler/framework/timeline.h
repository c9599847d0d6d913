/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h - nodes in the future: known ends of pods, and reserved room
 *
 * A reservation promises a start to a pod or pod group that cannot start now:
 * it has a reserved entry in the ledger of each node that the pods will take.
 * Reservations are kept in the queue's order. A reservation binds only the pods
 * behind it: such a pod may take a node only if the reserved pods still have
 * room when they start.
 *
 * The room that a node will have is found by what-if: within a journal, the
 * pods that end by that time are removed, the reserved pods are added, and the
 * profile's own filters of room run. So cores, NUMA memory and devices count,
 * not only amounts.
 *
 * Owns:       the reservations, and a reference to each of their pods.
 * Called by:  the Backfill plugin (admit), planning/planner.c (the rest), explain.
 * Thread:     the scheduler's.
 * Invariant:  each place of a reservation is one future entry of its node's
 *             ledger, and each reserved entry is a place. Reservations are
 *             derived from the queue and the ends of pods, and never stored.
 *
 * Times are those of the real clock, as the ends of pods are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/verdict.h"
#include "lib/base/macro.h"

struct clock;
struct cycle;
struct node_view;
struct pod_view;
struct profile;
struct reservation;
struct snapshot;
struct timeline;

/* A pod that is past its end is assumed to end at the next step, counted from
 * its end: steps of MOMENT at first, and of GRACE once it is late by GRACE.
 * Counting from its end makes plans within one step equal.
 */
#define TIMELINE_MOMENT_US INT64_C(1000000)
#define TIMELINE_GRACE_US  (INT64_C(30) * 1000000)

/* The minimum run time assumed for a pod without a time limit. */
#define TIMELINE_ASSUMED_US (INT64_C(86400) * 1000000)

struct reserved_place {
    struct reservation *reservation;
    struct pod_view *pod;
    struct node_view *node;
    /* The room is free now, but the reservation waits for its other places */
    bool is_free;
};

struct reservation {
    char *key; /* "namespace/name" of the pod, or of its group */
    const struct profile *profile;
    struct queued_pod order;   /* a copy, for its place in the order */
    struct pod_view **members; /* pods that are alike */
    unsigned count;
    bool is_one_per_node; /* each member on its own node */
    /* By slot: nodes where it may run once there is room */
    bool *may_come;
    /* By slot, from 1 on: the domain of the node, if all members must be in one domain of
     * the topology; 0: it has none. NULL: they may be anywhere.
     */
    uint32_t *domain_of;
    uint32_t n_domains;
    uint32_t n_slots;
    int64_t from_us, until_us;     /* until INT64_MAX: it has no time limit */
    struct reserved_place *places; /* one for each member; NULL: none now */
    bool is_stale;                 /* it must be planned again */
};

/* Life. A new reservation has no places. */
void timeline_free(struct timeline *t);
struct timeline *timeline_new(struct clock *clock) OWNED_BY(timeline_free);
DEFINE_CLEANUP(struct timeline, timeline_free)
void reservation_free(struct reservation *r);
struct reservation *reservation_new(const char *key, const struct queued_pod *queued,
                                    struct pod_view *const *members, unsigned count)
    OWNED_BY(reservation_free);

/* Sets the maximum number of reservations; a lower value than before is ignored. */
void timeline_set_most(struct timeline *t, unsigned most);

/* Inserts the reservation at its place in the order. */
void timeline_add(struct timeline *t, struct reservation *r TAKES);

void timeline_remove(struct timeline *t, struct reservation *r);

/* The reservation's pod has a new place in the order. */
void timeline_reorder(struct timeline *t, struct reservation *r, const struct queued_pod *queued);

/* Takes one node for each member; former places are given up. */
void timeline_place(struct reservation *r, struct node_view *const *nodes, const bool *are_free,
                    int64_t from_us);

void timeline_unplace(struct reservation *r);
void timeline_move_place(struct reserved_place *place, struct node_view *node);

/* Before a pod, or the members of a group, are decided: the first `count`
 * reservations bind them.
 */
void timeline_bind(struct timeline *t, unsigned count);

/* Rank: how many reservations are ahead of that pod in the order. */
unsigned timeline_most(const struct timeline *t);
unsigned timeline_count(const struct timeline *t);
struct reservation *timeline_at(const struct timeline *t, unsigned at);
struct reservation *timeline_find(const struct timeline *t, const char *key);
unsigned timeline_rank(const struct timeline *t, const struct queued_pod *pod);
unsigned timeline_binding(const struct timeline *t);

/* When the pod ends; INT64_MAX: unknown. */
int64_t timeline_end_us(const struct pod_view *pod, int64_t now_us);

/* The same, but a pod without a time limit is assumed to run as long again as
 * it has run, and a day in total at least. Only for estimates shown to people,
 * never for plans.
 */
int64_t timeline_assumed_end_us(const struct pod_view *pod, int64_t now_us);

/* How long it may run; INT64_MAX: no limit. */
int64_t timeline_limit_us(const struct pod_view *pod);

/* Makes a cycle that runs only the filters of room, which need no prefilter. */
void timeline_init_cycle(struct cycle *c, const struct profile *profile, struct pod_view *pod,
                         const struct snapshot *snapshot);

/* A question about a node's future, for pods like the cycle's. The first
 * `n_binding` reservations count.
 */
struct what_if {
    const struct timeline *timeline; /* NULL: no reservation counts */
    const struct profile *profile;
    plugin_set filters;
    const struct cycle *cycle;
    unsigned n_binding;
    int64_t now_us;
    bool assumes_ends; /* of pods without a time limit */
};

/* How many such pods, at most `most`, have room on the node from `from_us` to
 * `until_us`. With `from_us` INT64_MAX: on the empty node.
 */
unsigned timeline_room(const struct what_if *w, struct node_view *node, int64_t from_us,
                       int64_t until_us, unsigned most);

/* Whether the cycle's pod, which has room on the node now, leaves enough room
 * for the pods whose reservations bind it.
 */
bool timeline_admits(const struct timeline *t, const struct profile *profile, const struct cycle *c,
                     struct node_view *node);
