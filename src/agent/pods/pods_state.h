/* SPDX-License-Identifier: Apache-2.0 */
/* pods_state.h - the insides of the pods of a node, for their own files
 *
 * Called by: pods.c and pod_arrivals.c. Nobody else.
 * Thread:    the loop's.
 */
#pragma once

#include "agent/pods/pods.h"

struct blobs;
struct error;
struct informer;
struct map;
struct pod_mounts;
struct pod_run;
struct shared_pool;
struct timer;

struct pods {
    const struct agent_context *agent;
    struct blobs *blobs;
    struct pod_mounts *pod_mounts;
    struct shared_pool *shared_pool;
    struct informer *informer;
    struct map *runs; /* by uid of the pod */
    unsigned n_launched;
    struct map *over;      /* uids of pods that are over here, until the watch,
                             which may lag behind, has shown that */
    struct map *forgotten; /* uids of pods that the API has forgotten */
    struct map *dropped;   /* and of those that are over here, by a list */
    struct timer
        *arrival_timer; /* looks after those that wait for their cores */
    void (*left)(void *context);
    void *context;
};

/* The pod as the watch has it, which may lag behind our own reports; NULL
 * when it does not know it, or knows another of the same name.
 */
const struct object *pods_find_known(const struct pods *p,
                                     const struct object *pod);

/* Arrivals (pod_arrivals.c). Find: the one here whose cores or devices the pod's
 * allocation overlaps; one that waits for its cores has none yet. Check: those
 * that wait, once more; a timer's callback. Has lent: another runs, or is about
 * to, on cores of this one.
 */
bool pods_has_lent(const struct pod_run *run, void *pods);
const struct pod_run *pods_find_overlap(const struct pods *p,
                                        const struct object *pod,
                                        struct error *err);
void pods_check_arrivals(void *pods);
