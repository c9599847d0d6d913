/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler.h - gives every waiting pod a node, and exact cores on it
 *
 * A library: it reaches the API through the client, reads the time from the
 * clock and breaks ties by the seed that it is given. It never blocks. The
 * caller runs scheduler_work while there is work and scheduler_tick a few times
 * a second (scheduler_loop.h does both on a loop).
 *
 * Owns:     the queue, the cache, the profiles and all that they own.
 * Thread:   its client's.
 * See:      informers.h, which reports what happens in the cluster.
 */
#pragma once

#include <stdatomic.h>
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
struct group_terms;
struct json;
struct kind;
struct metric_registry;
struct object;
struct order_memory;
struct pod;
struct profile_settings;
struct strbuf;
struct scheduler;
struct topology_levels;

struct scheduler_settings {
    struct client *client;
    struct clock *clock;
    uint64_t seed;
    const char *component; /* in events; NULL: "default-scheduler" */

    /* By schedulerName; none: Kiln's own profile for "default-scheduler". The
     * scheduler fills in the handles.
     */
    const struct profile_settings *profiles;
    unsigned n_profiles;

    int64_t initial_backoff_us; /* 0: upstream's */
    int64_t max_backoff_us;
    int64_t max_unschedulable_us;
    int64_t assume_expire_us; /* 0: never */

    /* All pods draw the same of several equally good nodes, for tests that
     * compare schedulers which try equal pods in different orders.
     */
    bool has_same_ties;

    /* Schedules every pod by itself, as upstream does, for comparisons. */
    bool without_sharing;

    /* Makes no forecast of starts (start_forecast.h), for callers that need
     * none.
     */
    bool without_forecast;

    /* This scheduler simulates the future of another one (start_simulation.h).
     * It reports nothing to users and administrators, and borrows what the
     * other one has learned of run times; NULL: nothing.
     */
    bool is_simulation;
    const struct order_memory *memory;

    /* Runs `work` on another thread and then `done` on the scheduler's, for
     * simulations; NULL: they run on the scheduler's thread.
     */
    void (*run_aside)(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *context);
    void *aside_context;
    const struct feature_gates *features; /* NULL: the defaults */

    struct metric_registry *metrics; /* or NULL */

    /* The extenders and the transport to reach them, both borrowed; NULL: there
     * are no extenders.
     */
    const struct extenders *extenders;
    struct extender_transport *extender_transport;

    /* Returns the terms of the pod's group (queue/queued_group.h); the name is
     * valid until the next call. The scheduler asks when a pod is added or
     * changes. NULL: those of its PodGroup.
     */
    void (*group_of)(const struct object *pod, struct group_terms *ret_terms, void *context);

    /* The levels of the topology, which may change; borrowed. NULL: none. */
    struct topology_levels *topology;

    /* Whether the pod's owner may not start it (handle.h). Any thread. NULL: all
     * owners may.
     */
    bool (*refuse)(const struct pod *pod, const struct kind *kind, const char *name,
                   struct strbuf *why, void *context);
    void *refuse_context;

    /* True: the scheduler gives no pod a node. Another thread sets it, and a tick
     * notices that it is false again. NULL: never.
     */
    const atomic_bool *is_paused;

    /* Called when there is work and there was none before. May be NULL. */
    void (*ready)(void *context);
    void *context;
};

/* Life */
void scheduler_free(struct scheduler *s);
int scheduler_new(const struct scheduler_settings *settings, struct scheduler **ret_scheduler,
                  struct error *err);
DEFINE_CLEANUP(struct scheduler, scheduler_free)

/* Runs up to that many cycles. Returns whether pods are left to try. */
bool scheduler_work(struct scheduler *s, unsigned cycles);

/* Does what depends on time alone (backoff, timeouts, events to be written). */
void scheduler_tick(struct scheduler *s);

/* Before the start the scheduler only learns of the cluster and writes nothing,
 * because another controller may be the leader. Start: this controller is the
 * leader, and every informer has synced; the scheduler gives an allocation to
 * pods that were bound without one. A controller that is no longer the leader
 * frees the scheduler, which drops the work in progress.
 */
void scheduler_start(struct scheduler *s);

/* When the first pod leaves backoff, on the monotonic clock; INT64_MAX: no pod
 * is in backoff.
 */
int64_t scheduler_next_us(const struct scheduler *s);

/* Report changes in the cluster to the scheduler, one call for each. The old
 * object is NULL when an object was added, and the new one when it was deleted.
 * Objects of further kinds are kept for plugins to look up.
 */
void scheduler_pod_changed(struct scheduler *s, const struct object *old_object,
                           const struct object *new_object);
void scheduler_node_changed(struct scheduler *s, const struct object *old_object,
                            const struct object *new_object);
void scheduler_object_changed(struct scheduler *s, const struct object *old_object,
                              const struct object *new_object);

/* Priority classes and partitions. A change takes effect at once, but waiting
 * pods are notified at the next tick, so that many changes of one object are
 * one event.
 */
void scheduler_class_changed(struct scheduler *s, const struct object *old_object,
                             const struct object *new_object);
void scheduler_partition_changed(struct scheduler *s, const struct object *old_object,
                                 const struct object *new_object);

/* PodGroups. The waiting pods that name one are told before the next cycle. */
void scheduler_pod_group_changed(struct scheduler *s, const struct object *old_object,
                                 const struct object *new_object);

/* For simulations: so many pods of the group of that pod have ended well. */
void scheduler_members_ended(struct scheduler *s, const struct object *pod, unsigned count);

/* Reservations of nodes, with the same delay. */
void scheduler_reservation_changed(struct scheduler *s, const struct object *old_object,
                                   const struct object *new_object);

/* Claims, volumes and storage classes. */
void scheduler_storage_changed(struct scheduler *s, const struct object *old_object,
                               const struct object *new_object);

struct scheduler_counts scheduler_count(const struct scheduler *s);

/* Explains why a pod waits, what it lacks on the nearest nodes, and when it
 * could start, in JSON as doc/api.md describes it. A hypothetical pod need not
 * be in the queue. The answer for a Job is that for the first of its waiting
 * pods, with the number of them; it has no state if no pod waits. Nothing in
 * the scheduler changes.
 */
struct json *scheduler_explain(struct scheduler *s, const struct object *object,
                               bool is_hypothetical, struct arena *arena);

/* Logs the queue and the cache, and how they differ from the API (debugger.h).
 */
void scheduler_debug(struct scheduler *s);
