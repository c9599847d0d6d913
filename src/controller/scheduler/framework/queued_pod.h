/* SPDX-License-Identifier: Apache-2.0 */
/* queued_pod.h - a pod in the scheduling queue, and its history there
 *
 * Open to QueueSort plugins, which order by it; the queue alone changes it.
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

struct pod_group;
struct profile;
struct rank_kind;
struct signature_group;
struct pod_view;

enum queue_state {
    QUEUE_ACTIVE,
    QUEUE_BACKOFF,
    QUEUE_UNSCHEDULABLE, /* unschedulable: until something helps */
    QUEUE_GATED,         /* a PreEnqueue plugin keeps it out */
    QUEUE_IN_FLIGHT,     /* popped, and neither failed nor done */
    QUEUE_IN_GROUP       /* another of its pod group stands for it */
};

/* A place in the list of what happened while pods are in flight: a pod's own,
 * or an event's.
 */
struct in_flight_mark {
    struct list link;
    bool is_event;
};

/* A pod's place in the order when it was last tried (pod_ranks.h): pods of one
 * kind have the same key, and the lowest goes first.
 */
struct queue_rank {
    struct rank_kind *kind; /* NULL: it is in no order */
    uint32_t number;        /* of the kind; 0: none */
    bool is_guarded;        /* it has waited too long */
    double key;
};

struct queued_pod {
    struct pod_view *pod;
    struct pod_view *newer; /* what it became while in flight; or NULL */
    char *key;              /* "namespace/name" */
    struct profile *profile;
    bool is_deleted;       /* while it was in flight */
    bool is_woken_by_pods; /* active for what pods have left, nothing else */
    bool is_ordered;       /* among those that compete (queue_order.h) */
    enum queue_state state;
    unsigned attempts;
    uint32_t gate_reason;
    int64_t queued_at_us;     /* what orders pods of one priority */
    int64_t failed_at_us;     /* what backoff counts from */
    int64_t backoff_end_us;   /* while in backoff */
    int64_t first_at_us;      /* when it first became active; 0: not yet */
    plugin_set unschedulable; /* who rejected it */
    plugin_set pending;       /* who waits for something */
    int64_t earliest_us;  /* told when it failed last: when there is room, if
                               * nobody were before it; 0: nobody knows */
    int64_t forecast_us;  /* start_forecast.h: when it starts, by that */
    uint64_t forecast;    /* forecast, the number of it; 0: none */
    uint64_t passed_over; /* without a reservation, until that event; or
                               * PASSED_OVER: it has one; 0: it may get one */
    plugin_set counted;   /* in its profile, as having rejected it */
    uint64_t woken_for; /* room, by that event (late_rooms.h); 0: by another */
    struct queue_rank rank;
    uint64_t order;     /* of arrival, when all else is equal */
    size_t place;       /* in a heap */
    struct list link;   /* sleeping or gated: the longest first */
    struct list of_job; /* with the others of its Job (waiting_jobs.h) */
    struct in_flight_mark mark;
    struct signature_group
        *group; /* of equal pods: asleep in it, or woken from it */
    struct pod_group *pod_group; /* it is placed with; NULL: by itself */
    uint32_t member_place;       /* in it */
    uint32_t
        n_of_job; /* of the first that came of its Job: how many they are */
};
