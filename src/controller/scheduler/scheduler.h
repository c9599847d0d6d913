/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler.h - gives every waiting pod a node, and exact cores on it
 *
 * A library: it reaches the API through the client it is given, tells time by
 * the clock and breaks ties by the seed. Nothing in it blocks. The caller runs
 * scheduler_work while there is work and scheduler_tick a few times a second
 * (scheduler_loop.h does, on a loop).
 *
 * Owns:     queue, cache, profiles and all that hangs on them.
 * Thread:   its client's.
 * See:      informers.h, which tells it what happens in the cluster.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/scheduler/report/scheduler_counts.h"
#include "lib/base/macro.h"

struct arena;
struct client;
struct clock;
struct extender_transport;
struct error;
struct extenders;
struct feature_gates;
struct json;
struct metric_registry;
struct object;
struct pod_view;
struct profile_settings;
struct scheduler;

struct scheduler_settings {
    struct client *client;
    struct clock *clock;
    uint64_t seed;
    const char *component; /* in events; NULL: "default-scheduler" */

    /* By schedulerName; none: Kiln's own for "default-scheduler". Handles are
     * filled in.
     */
    const struct profile_settings *profiles;
    unsigned n_profiles;

    int64_t initial_backoff_us; /* 0: upstream's */
    int64_t max_backoff_us;
    int64_t max_unschedulable_us;
    int64_t assume_expire_us; /* 0: never */

    /* Schedules every pod by itself, as upstream does: for comparing. */
    bool without_sharing;

    /* Nobody asks when those who wait start (start_forecast.h). */
    bool without_forecast;
    const struct feature_gates *features; /* NULL: as they are by default */

    struct metric_registry *metrics; /* or NULL */

    /* The extenders and the way to reach them, borrowed; NULL where there are
     * none.
     */
    const struct extenders *extenders;
    struct extender_transport *extender_transport;

    /* Says which pods are placed together, all or none: how many, this one
     * included, and the name of their group in its namespace (valid until the
     * next call). Fewer than two: the pod is placed by itself. It is asked when
     * a pod comes or changes. NULL: every pod is placed by itself.
     */
    unsigned (*group_of)(const struct object *pod,
                         const char **ret_name,
                         void *context);

    /* Called when there is work and there was none before. May be NULL. */
    void (*ready)(void *context);
    void *context;
};

/* Life */
void scheduler_free(struct scheduler *s);
int scheduler_new(const struct scheduler_settings *settings,
                  struct scheduler **ret_scheduler,
                  struct error *err);
DEFINE_CLEANUP(struct scheduler, scheduler_free)

/* Work: up to so many cycles; true while pods are left to try. Tick: what
 * time alone brings (backoff, timeouts, events to be written).
 */
bool scheduler_work(struct scheduler *s, unsigned cycles);
void scheduler_tick(struct scheduler *s);

/* Before the start the scheduler only learns of the cluster and writes nothing,
 * because another controller may lead. Start: this controller leads, and every
 * informer has synced; pods that were bound without an allocation are given
 * one. A controller that no longer leads frees the scheduler, which drops what
 * is under way.
 */
void scheduler_start(struct scheduler *s);

/* When the first pod leaves backoff, on the monotonic clock; INT64_MAX: none
 * will.
 */
int64_t scheduler_next_us(const struct scheduler *s);

/* Tell the scheduler of changes in the cluster, one call for each. The old
 * object is NULL when one was added, the new one when it was deleted. Plugins
 * may look up objects of further kinds.
 */
void scheduler_pod_changed(struct scheduler *s,
                           const struct object *old_object,
                           const struct object *new_object);
void scheduler_node_changed(struct scheduler *s,
                            const struct object *old_object,
                            const struct object *new_object);
void scheduler_object_changed(struct scheduler *s,
                              const struct object *old_object,
                              const struct object *new_object);

/* Priority classes and partitions: known at once; who waits hears of it at the next tick, so that
 * many changes of one are one event.
 */
void scheduler_class_changed(struct scheduler *s,
                             const struct object *old_object,
                             const struct object *new_object);
void scheduler_partition_changed(struct scheduler *s,
                                 const struct object *old_object,
                                 const struct object *new_object);

/* Reservations of nodes, likewise. */
void scheduler_reservation_changed(struct scheduler *s,
                                   const struct object *old_object,
                                   const struct object *new_object);

/* Claims, volumes and classes of storage. */
void scheduler_storage_changed(struct scheduler *s,
                               const struct object *old_object,
                               const struct object *new_object);

/* Look */
struct scheduler_counts scheduler_count(const struct scheduler *s);

/* Explains why a pod waits, what it lacks on the nodes that come nearest, and
 * when it could start; in JSON, as doc/api.md describes it. A hypothetical pod
 * need not be in the queue. Of a Job: for the first of its pods that wait, and
 * how many these are; no state when none does. Nothing in the scheduler changes.
 */
struct json *scheduler_explain(struct scheduler *s,
                               const struct object *object,
                               bool is_hypothetical,
                               struct arena *arena);

/* Queue and cache to the log, and how they differ from the API (debugger.h). */
void scheduler_debug(struct scheduler *s);
