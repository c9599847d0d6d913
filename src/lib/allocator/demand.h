/* SPDX-License-Identifier: Apache-2.0 */
/* demand.h - what a pod asks of a node's cores, memory and devices
 *
 * Plain data, computed once for a pod from its requests and spec.placement. A
 * pod with a whole number of CPUs and cpuPolicy "exclusive" gets cores of its
 * own; every other pod runs in the node's shared pool.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct placement;

enum numa_policy {
    NUMA_NONE,
    NUMA_BEST_EFFORT,
    NUMA_RESTRICTED,
    NUMA_SINGLE,
};

enum distribution {
    DISTRIBUTION_PACK,
    DISTRIBUTION_SCATTER, /* over NUMA nodes, and over L3 groups within each */
    DISTRIBUTION_CYCLIC,  /* over NUMA nodes */
};

enum memory_policy {
    MEMORY_BIND,
    MEMORY_PREFERRED,
    MEMORY_INTERLEAVE,
};

#define DEMAND_MAX_DEVICES   8u
#define DEMAND_MAX_HUGEPAGES 4u

struct demand_device {
    const char *type;  /* "gpu"; borrowed from the pod */
    const char *model; /* words of the model, or NULL; borrowed too */
    unsigned count;
};

struct demand_hugepages {
    uint64_t page_bytes;
    int64_t bytes;
};

struct kubelet_rules;

struct demand {
    const struct kubelet_rules *rules; /* numaStrategy: kubelet; or NULL */
    enum numa_policy numa_policy;
    enum distribution distribution;
    enum memory_policy memory_policy;
    bool is_exclusive;
    bool is_whole_node;
    bool has_far_devices;       /* devices may be on any NUMA node */
    unsigned pus;               /* exclusive PUs; 0: shared pool */
    unsigned threads_per_core;  /* 0: all threads of a core */
    unsigned cores_per_package; /* maximum; 0: no limit */
    int64_t shared_milli;
    int64_t memory_bytes;
    const char *gpu_model; /* words of the GPUs' model, or NULL; borrowed */
    struct demand_device devices[DEMAND_MAX_DEVICES];
    unsigned n_devices;
    struct demand_hugepages hugepages[DEMAND_MAX_HUGEPAGES];
    unsigned n_hugepages;
};

/* Placement may be NULL. */
void demand_init(struct demand *demand, const struct placement *placement, int64_t cpu_milli,
                 int64_t memory_bytes);

/* The same demand, and the node for itself. */
void demand_add_whole_node(struct demand *demand);

/* Adds a resource by its name: "kiln.hpc/gpu" is a device of type "gpu",
 * "hugepages-2Mi" are huge pages; other resources are not part of a demand.
 * Borrows the name.
 */
void demand_add_resource(struct demand *demand, const char *name, int64_t amount);
