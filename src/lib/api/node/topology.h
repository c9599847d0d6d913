/* SPDX-License-Identifier: Apache-2.0 */
/* topology.h - the hardware of one node: packages, NUMA nodes, caches, cores
 *
 * The agent fills a topology from hwloc, the API carries it as
 * Node.status.topology, the scheduler allocates on it and kctl draws it. PUs
 * (hardware threads) and NUMA nodes are always identified by the operating
 * system's index; cores, L3 groups, packages and devices by their place in the
 * arrays here. Nodes with the same hardware share one topology.
 *
 * Thread:    any; plain data.
 * Invariant: every PU in `pus` is in exactly one core, package and NUMA node.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bitset.h"
#include "lib/base/macro.h"

#define TOPOLOGY_MAX_NUMA 64u
#define TOPOLOGY_NONE     UINT16_MAX
#define TOPOLOGY_VERSION  1 /* of the wire form */

struct topology_pu { /* by OS index; meaningful only for members of `pus` */
    uint16_t core;
    uint16_t l2;   /* TOPOLOGY_NONE: no such cache */
    uint16_t l3;   /* likewise */
    uint16_t numa; /* place in `numa`, not the OS index */
    uint16_t package;
    uint16_t kind; /* hwloc's CPU kind: 0: most efficient, or all equal */
};

struct topology_hugepages {
    uint64_t page_bytes;
    uint64_t count;
};

/* The kind of memory of a NUMA node. Plain: DRAM, or the kind is unknown. */
enum topology_memory {
    TOPOLOGY_MEMORY_PLAIN,
    TOPOLOGY_MEMORY_HBM,
    TOPOLOGY_MEMORY_NVM,
    TOPOLOGY_MEMORY_CXL,
    TOPOLOGY_MEMORY_SPM,
};

struct topology_numa {
    unsigned os_index;
    enum topology_memory kind;
    uint64_t memory_bytes; /* usable for jobs, without the reserved part */
    struct bitset pus;     /* empty for a memory-only node */
    uint16_t package;      /* TOPOLOGY_NONE: it spans several packages */
    struct topology_hugepages hugepages[4];
    unsigned n_hugepages;
};

struct topology_group { /* a package, die, cluster, cache or core */
    struct bitset pus;
};

struct topology_device {
    char *name;    /* "gpu0" */
    char *type;    /* "gpu", "nic", "nvme", ... */
    char *path;    /* "/dev/nvidia0", or NULL */
    char *model;   /* or NULL */
    uint16_t numa; /* place in `numa`; TOPOLOGY_NONE: unknown */
    /* PCI vendor; 0: unknown, as in every topology that comes from the API */
    uint16_t pci_vendor;
};

struct topology {
    struct bitset pus;      /* online, allowed to the agent, not reserved */
    struct bitset reserved; /* kept for the system */
    struct bitset isolated; /* by isolcpus; in `pus` only if offered */
    struct bitset offline;
    struct topology_pu *pu; /* n_pu entries, by OS index */
    unsigned n_pu;          /* the highest OS index plus 1 */
    struct topology_numa *numa;
    unsigned n_numa;
    struct topology_group *packages;
    unsigned n_packages;
    struct topology_group *dies; /* none: every package is one die */
    unsigned n_dies;
    struct topology_group *clusters; /* cores that are closer together */
    unsigned n_clusters;
    struct topology_group *l3;
    unsigned n_l3;
    struct topology_group *l2;
    unsigned n_l2;
    struct topology_group *cores;
    unsigned n_cores;
    struct topology_device *devices;
    unsigned n_devices;
    uint16_t *distances; /* n_numa * n_numa, row from, column to; or NULL */
    bool is_virtual;     /* configured, not discovered: no binding */
};

void topology_free(struct topology *t);
struct topology *topology_new(void) OWNED_BY(topology_free);
DEFINE_CLEANUP(struct topology, topology_free)

/* "HBM"; "" for plain memory. Find returns plain for unknown names. */
const char *topology_memory_name(enum topology_memory kind);
enum topology_memory topology_memory_find(const char *name);

/* The JSON form is compact: a 2-socket node with 256 PUs stays under 4 KiB.
 *
 *   {"version":1, "cpus":"0-255", "reserved":"0", "isolated":"2-3",
 *    "offline":"7", "virtual":true,
 *    "packages":["0-127","128-255"], "dies":[...], "clusters":[...],
 *    "l3":["0-15",...], "l2":["0-3",...],    "l2":"cores": one for each core
 *    "cores":["0,128",...],     absent: every PU is a core of its own
 *    "kinds":[{"cpus":"0-7","kind":1}],
 *    "numaNodes":[{"node":0,"cpus":"0-63","memory":"64Gi",
 *                  "distances":[10,20],"hugepages":{"2Mi":"512"}},
 *                 {"node":2,"kind":"HBM","package":0,"memory":"16Gi",...}],
 *    "devices":[{"name":"gpu0","type":"gpu","path":"/dev/nvidia0",
 *                "model":"...","node":0}]}
 *
 * Additions that readers can ignore do not raise the version. A version above
 * TOPOLOGY_VERSION is refused; a missing one means 1. Decode checks the
 * invariant above; -EINVAL with the reason.
 */
struct arena;
struct error;
struct json;
struct json *topology_encode(const struct topology *t, struct arena *arena);
int topology_decode(const struct json *object, struct topology **ret_topology, struct error *err);
