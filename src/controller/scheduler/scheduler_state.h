/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_state.h - the insides of a scheduler, for its own files
 *
 * Called by:  scheduler.c (the cycle), changes.c (what happens in the
 *             cluster), host.c (what plugins may use), explanation.c. Nobody
 *             else.
 */
#pragma once

#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/scheduler.h"
#include "controller/scheduler/steps.h"
#include "lib/base/random.h"

struct adoption;
struct assignments;
struct cache;
struct chooser;
struct debugger;
struct evictions;
struct map;
struct meters;
struct names;
struct queue;
struct recorder;
struct volume_calls;

struct scheduler {
    struct scheduler_settings settings;
    struct random_source random;
    struct names *resources;
    struct names *reasons;
    struct names *signatures;
    struct handle handle;
    struct profile **profiles;
    unsigned n_profiles;
    struct queue *queue;
    struct cache *cache;
    struct snapshot snapshot;
    struct chooser *chooser;
    struct assignments *assignments;
    struct recorder *recorder;
    struct adoption *adoption;
    struct evictions *evictions;
    struct volume_calls *volume_calls;
    struct meters *meters;
    struct debugger *debugger;
    struct steps steps;  /* of the cycle under way */
    struct map *objects; /* of further kinds: name of kind to a map by key */
    bool is_synced;
    int64_t next_leftover_us;
    uint64_t attempts, scheduled, unschedulable, errors;
    uint64_t evicted; /* pods that were told to make room */
};

/* The profile that schedules the pod, or NULL: another scheduler does. */
struct profile *scheduler_profile(const struct scheduler *s,
                                  const struct object *pod);

/* "" takes the nomination back. */
void scheduler_nominate(struct scheduler *s,
                        struct pod_view *pod,
                        const char *node_name);

/* What plugins may use of it (host.c). */
void scheduler_make_handle(struct scheduler *s);
