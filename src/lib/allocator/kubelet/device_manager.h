/* SPDX-License-Identifier: Apache-2.0 */
/* device_manager.h - devices as the kubelet's device manager allocates them
 *
 * Equal devices are allocated in the order of the array. A set of devices is a
 * set of places in it.
 *
 * Thread:  one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bitset.h"

struct numa_hint;
struct numa_hints;

#define DEVICE_MANAGER_MAX 256u

struct device_slot {
    unsigned resource; /* number given by the caller */
    uint64_t nodes;    /* NUMA nodes near the device; 0: unknown */
};

struct device_manager {
    struct device_slot seats[DEVICE_MANAGER_MAX];
    unsigned count;
    struct bitset used;
    const uint16_t *numa_ids;
    unsigned n_numa;
};

/* Hints for `wanted` devices. Reusable devices are those that the pod's init
 * containers used.
 */
void device_manager_hints(const struct device_manager *b, unsigned resource, unsigned wanted,
                          const struct bitset *reusable, struct numa_hints *ret_hints);

/* False: there are too few devices, and none was taken. */
bool device_manager_allocate(struct device_manager *b, unsigned resource, unsigned wanted,
                             const struct numa_hint *affinity, const struct bitset *reusable,
                             struct bitset *ret_devices);
