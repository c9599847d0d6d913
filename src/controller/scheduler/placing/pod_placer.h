/* SPDX-License-Identifier: Apache-2.0 */
/* pod_placer.h - one attempt to place one pod: find a node, assume, take back
 *
 * Owns:       the count of attempts. Everything else is borrowed.
 * Called by:  scheduler.c and cycle_result.c for pods, group_placer for each member.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/verdict.h"
#include "lib/base/macro.h"

struct assignment;
struct cache;
struct cycle_trace;
struct diagnosis;
struct handle;
struct node_finder;
struct node_view;
struct pod_placer;
struct pod_view;
struct profile;
struct queue;
struct scheduler_metrics;
struct snapshot;
struct yields;

/* All of these are borrowed. The handle has the clock, the probe, the nominator and the
 * randomness.
 */
struct pod_placer_parts {
    struct handle *handle;
    struct queue *queue;
    struct cache *cache;
    struct snapshot *snapshot;
    struct node_finder *node_finder;
    struct yields *yields;
    struct scheduler_metrics *metrics; /* or NULL */
    struct cycle_trace *trace;         /* of the current cycle */
    uint64_t seed;
    bool has_same_ties; /* all pods draw the same of equally good nodes */
    bool is_sharing;    /* equal pods share answers */
};

/* Life */
void pod_placer_free(struct pod_placer *p);
struct pod_placer *pod_placer_new(const struct pod_placer_parts *parts) OWNED_BY(pod_placer_free);

/* Around each search for a node. Begin returns when it began. */
int64_t pod_placer_begin(struct pod_placer *p);
void pod_placer_end(struct pod_placer *p, const struct assignment *a);
void pod_placer_end_cycle(struct pod_placer *p, const struct profile *profile, const char *key);
uint64_t pod_placer_attempts(const struct pod_placer *p);

/* The best node for the pod; NULL: none fits, and the node finder knows why. Note
 * rejectors: then records the plugins that rejected the pod, which decide what may
 * activate it.
 */
struct node_view *pod_placer_find_node(struct pod_placer *p, struct assignment *a);
void pod_placer_note_rejectors(const struct pod_placer *p, struct assignment *a,
                               const struct diagnosis *d);

/* Puts the pod on the node for all later cycles. Displace: takes it back, except in the
 * cache.
 */
struct answer pod_placer_assume(struct pod_placer *p, struct assignment *a, struct node_view *node);
void pod_placer_displace(struct pod_placer *p, struct assignment *a);

/* The pod is no longer nominated, because it has taken that node, or no node (NULL). */
void pod_placer_end_nomination(struct pod_placer *p, const struct pod_view *pod, const char *taken);

/* Reports an event to the pods that may use the room that was kept for it. */
void pod_placer_flush_nominations(struct pod_placer *p);
