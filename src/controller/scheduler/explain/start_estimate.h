/* SPDX-License-Identifier: Apache-2.0 */
/* start_estimate.h - when and where a pod could start at the earliest, by what
 * the nodes have and the known ends of running pods
 *
 * The ending pods are removed from their nodes in the order of their ends, and
 * the profile's own filters are run on the node itself within a journal, as preemption does.
 * Pods that wait before this one can only make its start later.
 *
 * The work is bounded (ESTIMATE_ENDS, ESTIMATE_TRIALS, ESTIMATE_US), however
 * many nodes and pods there are. When a bound is reached, the estimate says
 * until when the pod cannot start. If no pod with a time limit makes room when
 * it ends, the ends of pods without a limit are assumed, on some of the nodes,
 * and the time is marked (is_assumed).
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

#define ESTIMATE_ENDS   4096u /* ends of pods that are visited */
#define ESTIMATE_TRIALS 128u  /* times that filters check a node */
#define ESTIMATE_US     2000  /* for both, on the monotonic clock */

/* The best chance that a node has to run the pod; the best last. */
enum start_chance {
    START_NEVER,   /* too small, or not requested */
    START_BLOCKED, /* down, cordoned, or tainted */
    START_LATER,   /* other pods have its room */
    START_NOW,
};

struct start_estimate {
    enum start_chance chance;       /* the best of all nodes */
    const struct node_view *node;   /* the nearest of them; NULL: no nodes */
    int64_t from_us;                /* later: enough has ended; 0: not known */
    bool is_assumed;                /* from_us: by assumed ends */
    int64_t not_before_us;          /* later: no room found until then; or 0 */
    uint32_t counts[START_NOW + 1]; /* of nodes */
    uint32_t ends, trials;          /* how many were visited and made */
};

/* For a pod that fits on no node now. */
void start_estimate_make(struct start_estimate *ret, const struct shortage *shortage,
                         const struct diagnosis *diagnosis, const struct cache *cache,
                         struct clock *clock);

/* The plugins whose refusal means that a node is closed: to all pods, or to
 * pods like this one; and the plugin that does not know of later times. They
 * are looked up once for many nodes.
 */
struct closers {
    plugin_set to_all, to_pod, volumes;
};
struct closers start_estimate_closers(const struct shortage *shortage);

/* Whether that node can ever run the pod, as far as it is known without a trial. */
bool start_estimate_may_ever(const struct closers *closers, const struct shortage *shortage,
                             const struct diagnosis *diagnosis, const struct node_view *node);

/* Whether pods like this one may use the node, by its name, selectors and
 * taints.
 */
bool start_estimate_is_open(const struct closers *closers, const struct shortage *shortage,
                            const struct diagnosis *diagnosis, const struct node_view *node);
