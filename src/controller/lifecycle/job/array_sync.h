/* SPDX-License-Identifier: Apache-2.0 */
/* array_sync.h - the parts of a sync that only arrays have: reading the states
 * of elements, recording their ends, and withdrawing pods
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
    struct workqueue *queue; /* keys of jobs to be synced */
    struct job_memories *memories;
    struct dependencies *dependencies;
    struct event_recorder *event_recorder;
    bool holds_never_satisfied;
};

/* Life. Everything in the settings must outlive it. */
void array_sync_free(struct array_sync *sync);
struct array_sync *array_sync_new(const struct array_sync_settings *settings)
    OWNED_BY(array_sync_free);
void array_sync_hold_never_satisfied(struct array_sync *sync, bool holds);

/* In the order of a sync; each does nothing if the Job is not an array. */

/* Returns false if the states of the elements are not read yet; the job is queued again when
 * they are.
 */
bool array_sync_knows_elements(struct array_sync *sync, struct job_memory *memory,
                               const struct object *job);

/* Before the plan, ends elements whose dependency on an element of another array is never
 * met, unless the array waits as a whole. Returns after how many microseconds to sync again;
 * 0: when something changes.
 */
int64_t array_sync_see_gate(struct array_sync *sync, struct job_memory *memory,
                            const struct object *job);

/* Withdraws pods that are held, cancelled or too many. */
void array_sync_visit_pods(struct array_sync *sync, struct job_sync *calls,
                           struct job_pod_counts *counts, int64_t n_withdraw);

/* Records ended pods after a short delay, or at once when nothing else is left to do. */
void array_sync_settle(struct array_sync *sync, const char *key, struct job_memory *memory,
                       const struct object *job);
