/* SPDX-License-Identifier: Apache-2.0 */
/* device_manager.h - devices as the kubelet's device manager hands them out
 *
 * Devices stand in the order in which equal ones are taken. A set of devices
 * is their places.
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
    unsigned resource; /* the caller's number */
    uint64_t nodes;    /* that it is near; 0: unknown */
};

struct device_manager {
    struct device_slot seats[DEVICE_MANAGER_MAX];
    unsigned count;
    struct bitset used;
    const uint16_t *numa_ids;
    unsigned n_numa;
};

/* Hints for so many; reusable ones are this pod's. */
void device_manager_hints(const struct device_manager *b,
                          unsigned resource,
                          unsigned wanted,
                          const struct bitset *reusable,
                          struct numa_hints *ret_hints);

/* False: there are not so many; nothing was taken then. */
bool device_manager_allocate(struct device_manager *b,
                             unsigned resource,
                             unsigned wanted,
                             const struct numa_hint *affinity,
                             const struct bitset *reusable,
                             struct bitset *ret_devices);
