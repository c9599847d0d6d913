/* SPDX-License-Identifier: Apache-2.0 */
/* yard.h - nodes and pods without a daemon: the real cache, profile, node
 * finder and reservation, for benches of placement
 *
 * Owns:  everything that it returns, except the pods.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct node_view;
struct pod_view;
struct yard;

struct yard_shape { /* of every node */
    /* NUMA nodes; cores per NUMA node */
    unsigned packages, numa, cores, threads;
    unsigned gib; /* per NUMA node */
    unsigned cores_per_l3;
    bool has_gpus; /* one per NUMA node */
};

struct yard_request {
    unsigned cpus, gib, gpus;
    unsigned mib; /* of memory, in addition to the GiB */
    const char *numa_policy;
};

void yard_free(struct yard *y);
struct yard *yard_new(const struct yard_shape *shape, unsigned nodes) OWNED_BY(yard_free);
DEFINE_CLEANUP(struct yard, yard_free)

struct pod_view *yard_pod(struct yard *y, const struct yard_request *request);

/* Chooses a node, assumes and reserves; NULL when the pod fits nowhere. The pod
 * must be kept until it is removed.
 */
struct node_view *yard_place(struct yard *y, struct pod_view *pod);
void yard_remove(struct yard *y, const struct pod_view *pod);

/* Runs only filter and score of NumaFit, on every node; returns how many fit.
 */
unsigned yard_look(struct yard *y, struct pod_view *pod);
unsigned yard_refusals(const struct yard *y);
