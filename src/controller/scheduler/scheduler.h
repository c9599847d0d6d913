/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler.h - gives every waiting pod a node, and exact cores on it
 *
 * A library: it reaches the API through the client it is given, tells time by
 * the clock and breaks ties by the seed. Nothing in it waits; whoever runs it
 * calls scheduler_work while there is some and scheduler_tick a few times a
 * second (scheduler_loop.h does, on a loop).
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

struct client;
struct clock;
struct extender_transport;
struct error;
struct extenders;
struct feature_gates;
struct metric_registry;
struct object;
struct pod_view;
struct profile_settings;
struct scheduler;
struct strbuf;

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

    /* Every pod alone, as upstream does it: for comparing. */
    bool without_sharing;
    const struct feature_gates *features; /* NULL: as they are by default */

    struct metric_registry *metrics; /* or NULL */

    /* Other programs that have a say, borrowed, and the way to them; NULL
     * where there are none.
     */
    const struct extenders *extenders;
    struct extender_transport *extender_transport;

    /* There is work: called when there was none. May be NULL. */
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

/* Before the start it only learns and writes nothing, as behoves one that does
 * not lead. Start: it leads, and all there was is known; pods that were bound
 * without an allocation are given one. Who leads no longer frees it: what it
 * has in hand ends there, and another learns anew.
 */
void scheduler_start(struct scheduler *s);

/* When the first pod leaves backoff, on the monotonic clock; INT64_MAX: none
 * will.
 */
int64_t scheduler_next_us(const struct scheduler *s);

/* What happens in the cluster: one call a change, `old` NULL when it came,
 * `new` NULL when it went. Objects of further kinds may matter to plugins.
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

/* Claims, volumes and classes of storage. */
void scheduler_storage_changed(struct scheduler *s,
                               const struct object *old_object,
                               const struct object *new_object);

/* Look */
struct scheduler_counts scheduler_count(const struct scheduler *s);

/* Why a waiting pod is not running, in words; what it lacks on the nodes that
 * come closest. -ENOENT: it does not wait here.
 */
int scheduler_explain(struct scheduler *s,
                      const char *namespace,
                      const char *name,
                      struct strbuf *out);

/* Queue and cache to the log, and how they differ from the API (debugger.h). */
void scheduler_debug(struct scheduler *s);
