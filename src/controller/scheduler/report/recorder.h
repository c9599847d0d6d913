/* SPDX-License-Identifier: Apache-2.0 */
/* recorder.h - what users read of their pods: Events, and the condition
 * PodScheduled
 *
 * Writes are best effort and few. The messages on one pod for one reason are
 * one Event with a count, and only the last message is written. The number of
 * writes under way is bounded, and so is their rate. A pod that is placed or
 * gone before its turn needs no write.
 *
 * Owns:     what is still to be written.
 * Thread:   the scheduler's.
 * Source:   client-go tools/record (aggregation), kube-scheduler
 *           handleSchedulingFailure (the condition).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct clock;
struct dispatch_kind;
struct dispatcher;
struct pod_cause;
struct pod_view;
struct recorder;

struct recorder_settings {
    struct dispatcher *dispatcher;
    struct clock *clock;
    const char *component;      /* "default-scheduler" */
    unsigned writes_per_second; /* 0: 500 */
    bool is_off;                /* nothing is recorded */
};

/* The kinds of calls that the recorder queues in the dispatcher. */
extern const struct dispatch_kind recorder_status_kind;
extern const struct dispatch_kind recorder_event_kind;

/* Life. Free cancels the calls under way. */
void recorder_free(struct recorder *r);
struct recorder *recorder_new(const struct recorder_settings *settings) OWNED_BY(recorder_free);
DEFINE_CLEANUP(struct recorder, recorder_free)

/* The following is written about a pod. */

/* Records an event FailedScheduling, and PodScheduled=False with the reason
 * ("Unschedulable", "SchedulerError").
 */
void recorder_failed(struct recorder *r, const struct pod_view *pod, const char *reason,
                     const char *message);

/* Records the condition without the event ("SchedulingGated"). */
void recorder_condition(struct recorder *r, const struct pod_view *pod, const char *reason,
                        const char *message);

/* Records an event of any kind, which is written once. */
void recorder_event(struct recorder *r, const struct pod_view *pod, const char *type,
                    const char *reason, const char *message);

/* Sets status.nominatedNodeName; "" clears it. */
void recorder_nominate(struct recorder *r, const struct pod_view *pod, const char *node_name);

/* Why the pod waits, for people (status.cause). */
#define CAUSE_FROM_SAME (-1)

/* Sets the cause. It is written in one patch with the condition that the same failure changes.
 * `from_us` is CAUSE_FROM_SAME if the time was not computed.
 */
void recorder_set_cause(struct recorder *r, const struct pod_view *pod,
                        const struct pod_cause *cause);

/* The reservation of a pod with a cause has moved; node NULL: the pod no longer has a
 * reservation.
 */
void recorder_set_plan(struct recorder *r, const struct pod_view *pod, const char *node_name);

/* A pod with a cause starts at another time. */
void recorder_set_start(struct recorder *r, const struct pod_view *pod, int64_t from_us,
                        bool is_assumed);

/* Gives `other`, which fails for the same reason, the condition and the cause of `pod`, without
 * an event, the time and the reserved node.
 */
void recorder_copy(struct recorder *r, const struct pod_view *pod, const struct pod_view *other);

/* The pod is bound or gone: nothing more is written about its failures. */
void recorder_forget(struct recorder *r, const struct pod_view *pod);

/* Writes what may be written now; to be called a few times a second. True: more
 * is left.
 */
bool recorder_flush(struct recorder *r);

/* The last message about the pod's failure, and its cause, or NULL. */
const char *recorder_message(const struct recorder *r, const struct pod_view *pod);
const struct pod_cause *recorder_cause(const struct recorder *r, const struct pod_view *pod);
