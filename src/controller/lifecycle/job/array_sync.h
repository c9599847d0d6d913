/* SPDX-License-Identifier: Apache-2.0 */
/* array_sync.h - what a sync of an array does that one of another Job does not:
 * its elements are read, their ends noted, and pods taken back
 *
 * Owns:    nothing but itself.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct array_sync;
struct client;
struct clock;
struct dependencies;
struct event_recorder;
struct job_memories;
struct job_memory;
struct job_pod_counts;
struct job_sync;
struct object;
struct object_cache;
struct workqueue;

struct array_sync_settings {
    struct client *client;
    struct object_cache *cache;
    struct clock *clock;
    struct workqueue *queue; /* of the jobs that are to be looked at */
    struct job_memories *memories;
    struct dependencies *dependencies;
    struct event_recorder *event_recorder;
    bool holds_never_satisfied;
};

/* Life. All that the settings name outlives it. */
void array_sync_free(struct array_sync *sync);
struct array_sync *array_sync_new(const struct array_sync_settings *settings)
    OWNED_BY(array_sync_free);
void array_sync_hold_never_satisfied(struct array_sync *sync, bool holds);

/* In the order of a sync; of a Job that is no array each does nothing.
 *
 * Knows: false, it is not known yet how the elements stand; the job is looked at
 * again when it is. See gate: elements that wait in vain for those of others end
 * before the plan; none does while the array waits as a whole. Returns after
 * how many microseconds to look again; 0: when something changes. Look: pods that
 * are held, cancelled or too many are taken back. Settle: ended pods wait a
 * little, unless nothing else is left to do.
 */
bool array_sync_knows_elements(struct array_sync *sync,
                               struct job_memory *memory,
                               const struct object *job);
int64_t array_sync_see_gate(struct array_sync *sync,
                            struct job_memory *memory,
                            const struct object *job);
void array_sync_look_at_pods(struct array_sync *sync,
                             struct job_sync *calls,
                             struct job_pod_counts *counts,
                             int64_t n_withdraw);
void array_sync_settle(struct array_sync *sync,
                       const char *key,
                       struct job_memory *memory,
                       const struct object *job);
