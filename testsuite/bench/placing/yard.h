/* SPDX-License-Identifier: Apache-2.0 */
/* yard.h - nodes and pods without a daemon: the real cache, profile and
 * node finder, and the real reservation, for benches of placement
 *
 * Owns:  everything it hands out, but the pods.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct node_view;
struct pod_view;
struct yard;

struct yard_shape {                          /* of every node */
    unsigned packages, numa, cores, threads; /* NUMA nodes, cores of each */
    unsigned gib;                            /* of each NUMA node */
    unsigned cores_per_l3;
    bool has_gpus; /* one on each NUMA node */
};

struct yard_request {
    unsigned cpus, gib, gpus;
    unsigned mib; /* of memory, beyond the GiB */
    const char *numa_policy;
};

void yard_free(struct yard *y);
struct yard *yard_new(const struct yard_shape *shape, unsigned nodes)
    OWNED_BY(yard_free);
DEFINE_CLEANUP(struct yard, yard_free)

struct pod_view *yard_pod(struct yard *y, const struct yard_request *request);

/* Chooses, assumes and reserves: NULL when it fits nowhere. The pod must be
 * kept until it is removed.
 */
struct node_view *yard_place(struct yard *y, struct pod_view *pod);
void yard_remove(struct yard *y, const struct pod_view *pod);

/* Filter and score of NumaFit alone, on every node: how many fit. */
unsigned yard_look(struct yard *y, struct pod_view *pod);
unsigned yard_refusals(const struct yard *y);
