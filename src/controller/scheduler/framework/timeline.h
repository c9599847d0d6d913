/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h - the nodes in the future: known ends, and the room that waiting
 * pods are promised
 *
 * A reservation is the promise of a start to a pod, or to a pod group, that
 * cannot start now: a reserved entry in the ledger of each node that it will
 * take. Reservations are kept in the queue's order. One binds the pods behind
 * it alone: such a pod may take a node only where the reserved ones still have
 * room when they begin.
 *
 * The room that a node will have is found by what-if: in a journal the pods that end
 * by then leave, the reserved ones come, and the profile's own filters of room
 * are asked. So cores, NUMA memory and devices count, not amounts alone.
 *
 * Owns:       the reservations, and a reference to each of their pods.
 * Called by:  the Backfill plugin (admit), reservations.c (the rest), explain.
 * Thread:     the scheduler's.
 * Invariant:  each place of a reservation is one entry in the future of its
 *             node's ledger, and each such entry is a place. Derived from the
 *             queue and the ends, never stored.
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

/* A pod that is past its end is being ended: at any moment, as long as nothing
 * is wrong with it, and within the next of longer steps when that takes longer.
 * Steps count from its end, so that a plan made again within one is the same.
 */
#define TIMELINE_MOMENT_US INT64_C(1000000)
#define TIMELINE_GRACE_US  (INT64_C(30) * 1000000)

/* The least that a pod without a time limit is assumed to run. */
#define TIMELINE_ASSUMED_US (INT64_C(86400) * 1000000)

struct reserved_place {
    struct reservation *reservation;
    struct pod_view *pod;
    struct node_view *node;
    bool is_free; /* has that room already, and waits for the others */
};

struct reservation {
    char *key; /* "namespace/name" of the pod, or of its group */
    const struct profile *profile;
    struct queued_pod order;   /* a copy, for its place in the order */
    struct pod_view **members; /* alike */
    unsigned count;
    bool *may_come; /* nodes by slot: it may run there when there is room */
    uint32_t n_slots;
    int64_t from_us, until_us;     /* until INT64_MAX: it has no time limit */
    struct reserved_place *places; /* one a member; NULL: none now */
    bool is_stale;                 /* to be planned again */
};

/* Life. A reservation begins without places. */
void timeline_free(struct timeline *t);
struct timeline *timeline_new(struct clock *clock) OWNED_BY(timeline_free);
DEFINE_CLEANUP(struct timeline, timeline_free)
void reservation_free(struct reservation *r);
struct reservation *reservation_new(const char *key,
                                    const struct queued_pod *queued,
                                    struct pod_view *const *members,
                                    unsigned count) OWNED_BY(reservation_free);

/* Change. Most: how many there may be; the largest that was asked for. Add: at
 * its place in the order. Reorder: its pod has another now. Place: takes the nodes, one a member; what it had is
 * given up.
 */
void timeline_set_most(struct timeline *t, unsigned most);
void timeline_add(struct timeline *t, struct reservation *r TAKES);
void timeline_remove(struct timeline *t, struct reservation *r);
void timeline_reorder(struct timeline *t,
                      struct reservation *r,
                      const struct queued_pod *queued);
void timeline_place(struct reservation *r,
                    struct node_view *const *nodes,
                    const bool *are_free,
                    int64_t from_us);
void timeline_unplace(struct reservation *r);
void timeline_move_place(struct reserved_place *place, struct node_view *node);

/* The pod that is decided now, and all members of its group: so many of the
 * first reservations bind it.
 */
void timeline_bind(struct timeline *t, unsigned count);

/* Look. Rank: how many reservations are before that pod in the order. */
unsigned timeline_most(const struct timeline *t);
unsigned timeline_count(const struct timeline *t);
struct reservation *timeline_at(const struct timeline *t, unsigned at);
struct reservation *timeline_find(const struct timeline *t, const char *key);
unsigned timeline_rank(const struct timeline *t, const struct queued_pod *pod);
unsigned timeline_binding(const struct timeline *t);

/* When the pod ends; INT64_MAX: nobody knows. */
int64_t timeline_end_us(const struct pod_view *pod, int64_t now_us);

/* The same where one without a time limit is assumed to run as long again as it
 * has, and a day at least: for people, who want to know about when, and never for
 * what is planned.
 */
int64_t timeline_assumed_end_us(const struct pod_view *pod, int64_t now_us);

/* How long it may run; INT64_MAX: as long as it likes. */
int64_t timeline_limit_us(const struct pod_view *pod);

/* A cycle for the filters of room alone: they need no prefilter. */
void timeline_init_cycle(struct cycle *c,
                         const struct profile *profile,
                         struct pod_view *pod,
                         const struct snapshot *snapshot);

/* A question about a node's future, for pods like the cycle's. The first so
 * many reservations count.
 */
struct what_if {
    const struct timeline *timeline; /* NULL: no reservation counts */
    const struct profile *profile;
    plugin_set filters;
    const struct cycle *cycle;
    unsigned n_binding;
    int64_t now_us;
    bool assumes_ends; /* of those without a time limit */
};

/* How many such pods, at most `most`, have room on the node from then until
 * then; from INT64_MAX: on the empty node.
 */
unsigned timeline_room(const struct what_if *w,
                       struct node_view *node,
                       int64_t from_us,
                       int64_t until_us,
                       unsigned most);

/* Whether the cycle's pod, for which the node has room now, leaves enough to
 * those whose reservations bind it.
 */
bool timeline_admits(const struct timeline *t,
                     const struct profile *profile,
                     const struct cycle *c,
                     struct node_view *node);
