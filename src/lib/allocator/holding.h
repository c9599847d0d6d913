/* SPDX-License-Identifier: Apache-2.0 */
/* holding.h - what a pod holds of its node, small enough to keep for each pod
 *
 * It is made from a grant when the scheduler chooses, or from status.allocation when the
 * scheduler learns of a pod that is already bound. An occupancy takes and releases the same
 * amounts.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct allocation;
struct error;
struct topology_index;

#define HOLDING_PLAIN UINT16_MAX

struct holding_memory {
    uint16_t numa; /* place of the NUMA node in the topology */
    uint16_t page; /* place of the page size, or HOLDING_PLAIN */
    int64_t bytes;
};

struct holding {
    int64_t shared_milli;
    int64_t charged_milli; /* CPUs used and withheld, for accounting */
    uint16_t n_cores;
    uint16_t n_devices;
    uint16_t n_memory;
    bool is_shared; /* the pod runs in the shared pool */
    uint16_t *cores;
    uint16_t *devices;
    struct holding_memory *memory;
};

void holding_free(struct holding *holding);
DEFINE_CLEANUP(struct holding, holding_free)

/* A holding with room for these counts, all zero. */
struct holding *holding_new(unsigned n_cores, unsigned n_devices, unsigned n_memory)
    OWNED_BY(holding_free);

/* A copy without the cores and without the share of the CPUs. */
struct holding *holding_dup_without_cores(const struct holding *holding) OWNED_BY(holding_free);

bool holding_equals(const struct holding *a, const struct holding *b);

/* The same PUs, devices and bytes on the topology that a node has now. Parts
 * that the new topology lacks are left out; all of them if `to` is NULL (the
 * node has no topology).
 */
struct holding *holding_translate(const struct holding *holding, const struct topology_index *from,
                                  const struct topology_index *to) OWNED_BY(holding_free);

/* Reads an allocation from the API. Cores and devices that the topology does
 * not have (offline or removed) are left out and counted in `err` with -ENXIO;
 * the holding is made nevertheless. -EINVAL: a list cannot be parsed; no
 * holding.
 */
int holding_of_allocation(const struct topology_index *topology_index,
                          const struct allocation *allocation, struct holding **ret_holding,
                          struct error *err);
