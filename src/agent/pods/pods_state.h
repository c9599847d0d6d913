/* SPDX-License-Identifier: Apache-2.0 */
/* pods_state.h - the private struct of the pods of a node
 *
 * Called by: pods.c and pod_arrivals.c only.
 * Thread:    the loop's.
 */
#pragma once

#include "agent/pods/pods.h"

struct blobs;
struct end_records;
struct error;
struct group_nodes;
struct informer;
struct map;
struct pod_mounts;
struct pod_run;
struct shared_pool;
struct timer;

struct pods {
    const struct agent_context *agent;
    struct blobs *blobs;
    struct group_nodes *group_nodes;
    struct pod_mounts *pod_mounts;
    struct shared_pool *shared_pool;
    struct informer *informer;
    struct map *runs; /* by uid of the pod */
    unsigned n_launched;
    /* uids of pods that are over here, until the watch, which may lag behind,
     * has shown their end
     */
    struct map *over;
    struct map *forgotten; /* uids of pods that the API has forgotten */
    /* uids of pods that were orphans until the API has had them again: nobody else has
     * to count what they hold
     */
    struct map *known_again;
    struct end_records *ends;
    struct map *dropped;         /* uids of finished pods that a list lacks */
    struct timer *arrival_timer; /* checks the runs that wait for their cores */
    void (*left)(void *context);
    void *context;
};

/* The pod as the watch knows it, which may be older than this agent's reports;
 * NULL when the watch does not know the pod, or knows another pod of the same
 * name.
 */
const struct object *pods_find_known(const struct pods *p, const struct object *pod);

/* Arrivals (pod_arrivals.c). pods_find_overlap returns the run whose cores or
 * devices the pod's allocation overlaps; runs that wait for their cores hold
 * none yet. pods_check_arrivals, a timer's callback, checks the waiting runs
 * again. pods_has_lent: another pod runs, or is about to, on cores of this one.
 */
bool pods_has_lent(const struct pod_run *run, void *pods);
const struct pod_run *pods_find_overlap(const struct pods *p, const struct object *pod,
                                        struct error *err);
void pods_check_arrivals(void *pods);

/* A new run of the pod. */
struct pod_run *pods_add_run(struct pods *pods, const struct object *pod);

/* The watch has the pod of a run (pod_arrivals.c), or a pod without one: if that has
 * ended here before, its end is reported again, and the result is true.
 */
void pods_note_known(struct pods *pods, struct pod_run *run);
bool pods_repeat_end(struct pods *pods, const struct object *pod);
