/* SPDX-License-Identifier: Apache-2.0 */
/* start_estimate.h - when and where a pod could start at best, by what the
 * nodes have and the known ends of what runs
 *
 * The pods that end are taken off their nodes in the order of their ends, and
 * the profile's own filters are asked, on a copy of the node, as preemption
 * asks them. Pods that wait before this one can only make it later.
 *
 * The work is bounded (ESTIMATE_ENDS, ESTIMATE_TRIALS, ESTIMATE_US), however many
 * nodes and pods there are: when it is not enough, the estimate says before when
 * the pod cannot start. Where nothing that ends by a time limit makes room, the
 * ends of what has none are assumed, on some of the nodes, and the time is
 * marked (is_assumed).
 *
 * Thread:  the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/verdict.h"

struct cache;
struct clock;
struct diagnosis;
struct node_view;
struct shortage;

#define ESTIMATE_ENDS   4096u /* pods' ends that are gone through */
#define ESTIMATE_TRIALS 128u  /* times that the filters look at a node */
#define ESTIMATE_US     2000  /* of both together, by the monotonic clock */

/* Best last: what a node may come to be for the pod. */
enum start_chance {
    START_NEVER,   /* too small, or not one that was asked for */
    START_BLOCKED, /* down, cordoned, or tainted */
    START_LATER,   /* others have its room */
    START_NOW,
};

struct start_estimate {
    enum start_chance chance;     /* the best of all nodes */
    const struct node_view *node; /* the nearest of these; NULL: no nodes */
    int64_t from_us;       /* later: when enough has ended; 0: nobody knows */
    bool is_assumed;       /* that: by ends that are assumed */
    int64_t not_before_us; /* later: nothing was found up to then; or 0 */
    uint32_t counts[START_NOW + 1]; /* nodes */
    uint32_t ends, trials;          /* what it took */
};

/* For a pod that fits nowhere now. Time: when alone, without the nearest. */
void start_estimate_make(struct start_estimate *ret,
                         const struct shortage *shortage,
                         const struct diagnosis *diagnosis,
                         const struct cache *cache,
                         struct clock *clock);
void start_estimate_time(struct start_estimate *ret,
                         const struct shortage *shortage,
                         const struct diagnosis *diagnosis,
                         const struct cache *cache,
                         struct clock *clock);

/* The plugins by whose answer a node is closed: to all, or to such pods; and the
 * one that knows no time. Looked up once for many nodes.
 */
struct closers {
    plugin_set to_all, to_pod, volumes;
};
struct closers closers_of(const struct shortage *shortage);

/* Such pods may come to the node, by its name, selectors and taints. */
bool start_estimate_is_open(const struct closers *closers,
                            const struct shortage *shortage,
                            const struct diagnosis *diagnosis,
                            const struct node_view *node);
