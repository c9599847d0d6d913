/* SPDX-License-Identifier: Apache-2.0 */
/* queued_pod.h - a pod in the scheduling queue, and its history there
 *
 * Visible to QueueSort plugins, which order pods by it. Only the queue changes
 * it.
 *
 * Thread: the scheduler's.
 * Source: kube-scheduler, framework.QueuedPodInfo.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/scheduler/framework/verdict.h"
#include "lib/base/list.h"

#define PASSED_OVER UINT64_MAX

struct queued_group;
struct profile;
struct rank_kind;
struct signature_group;
struct pod_view;

enum queue_state {
    QUEUE_ACTIVE,
    QUEUE_BACKOFF,
    QUEUE_UNSCHEDULABLE, /* until an event may help */
    QUEUE_GATED,         /* a PreEnqueue plugin rejects it */
    QUEUE_IN_FLIGHT,     /* popped; not yet failed, not bound */
    QUEUE_IN_GROUP       /* of a pod group, and not its leader */
};

/* An element of the list of in-flight pods and of the events since they were
 * popped (in_flight.h).
 */
struct in_flight_mark {
    struct list link;
    bool is_event;
};

/* A pod's place in the order when it was last tried (pod_ranks.h). Pods of one
 * kind have the same key; the lowest key goes first.
 */
struct queue_rank {
    struct rank_kind *kind; /* NULL: it has no rank */
    uint32_t number;        /* of the kind; 0: none */
    bool is_guarded;        /* it has waited too long */
    double key;
};

struct queued_pod {
    struct pod_view *pod;
    struct pod_view *newer; /* a newer version, while in flight; or NULL */
    char *key;              /* "namespace/name" */
    struct profile *profile;
    bool is_deleted;       /* while it was in flight */
    bool is_woken_by_pods; /* active only because pods left room */
    bool is_ordered;       /* it is in the queue's order (queue_order.h) */
    enum queue_state state;
    unsigned attempts;
    unsigned n_errors; /* attempts that failed otherwise than for lack of a node */
    uint32_t gate_reason;
    int64_t queued_at_us;     /* orders pods of one priority */
    int64_t failed_at_us;     /* backoff counts from here */
    int64_t backoff_end_us;   /* while in backoff */
    int64_t first_at_us;      /* when it first became active; 0: not yet */
    plugin_set unschedulable; /* plugins that rejected it */
    plugin_set pending;       /* plugins that answered PENDING */
    /* Its start by start_forecast.h; 0: not known. The number of the forecast is
     * 0 if there was none with this pod yet.
     */
    int64_t forecast_us, by_limits_us;
    uint64_t forecast;
    bool is_start_assumed;
    /* It is not considered for a reservation before the event of this number;
     * PASSED_OVER: before it is tried again; 0: it is considered
     */
    uint64_t passed_over;
    plugin_set counted; /* plugins for which profile.rejected counts it */
    /* The event (late_rooms.h) whose free room made it active; 0: another
     * reason
     */
    uint64_t woken_for;
    struct queue_rank rank;
    uint64_t order;     /* number of its arrival; breaks ties */
    size_t place;       /* index in a heap */
    struct list link;   /* unschedulable or gated: the longest first */
    struct list of_job; /* pods of its Job (waiting_jobs.h) */
    struct in_flight_mark mark;
    /* Equal unschedulable pods: it is one of them, or was activated from them
     */
    struct signature_group *group;
    struct queued_group *queued_group; /* placed together with it; NULL: none */
    uint32_t member_place;             /* index in queued_group */
    /* In the first pod of a Job: how many of the Job's pods are queued */
    uint32_t n_of_job;
};
