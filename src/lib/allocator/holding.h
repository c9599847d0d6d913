/* SPDX-License-Identifier: Apache-2.0 */
/* holding.h - what a pod holds of its node, small enough to keep for each
 *
 * Made from a grant when the scheduler chooses, or from status.allocation
 * when it learns of a pod that is bound already; given to an occupancy and
 * taken back from it in the same amounts.
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
    uint16_t numa; /* place in the topology */
    uint16_t page; /* place of the huge page's size, or HOLDING_PLAIN */
    int64_t bytes;
};

struct holding {
    int64_t shared_milli;
    int64_t charged_milli; /* CPUs used and withheld, for accounting */
    uint16_t n_cores;
    uint16_t n_devices;
    uint16_t n_memory;
    bool is_shared; /* runs in the shared pool */
    uint16_t *cores;
    uint16_t *devices;
    struct holding_memory *memory;
};

void holding_free(struct holding *holding);
DEFINE_CLEANUP(struct holding, holding_free)

/* Room for these many, all zero. */
struct holding *holding_new(unsigned n_cores,
                            unsigned n_devices,
                            unsigned n_memory) OWNED_BY(holding_free);

/* The same without cores and share of the CPUs. */
struct holding *holding_dup_without_cores(const struct holding *holding)
    OWNED_BY(holding_free);

bool holding_equals(const struct holding *a, const struct holding *b);

/* The same PUs, devices and bytes on the topology that a node has now; what it
 * does not have is left out (all of it where `to` is NULL: there is none).
 */
struct holding *holding_translate(const struct holding *holding,
                                  const struct topology_index *from,
                                  const struct topology_index *to)
    OWNED_BY(holding_free);

/* From the wire. Cores and devices that the topology does not have (offline, or
 * gone) are left out and named in `err` with -ENXIO: the holding is made all
 * the same. -EINVAL: a list cannot be read, no holding.
 */
int holding_of_allocation(const struct topology_index *topology_index,
                          const struct allocation *allocation,
                          struct holding **ret_holding,
                          struct error *err);
