/* SPDX-License-Identifier: Apache-2.0 */
/* hardware.h - discovers the resources of a node
 *
 * Reads the machine itself or a given description (for tests: an hwloc
 * synthetic string or XML file), and returns the API's topology. Called at the
 * start, and later to find changes; difference.h compares two topologies. Takes
 * 1 to 2 ms, ten times that with devices.
 *
 * Thread: any; takes milliseconds, so at the start or on a worker.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bitset.h"

struct error;
struct topology;

struct hardware_request {
    /* NULL for this machine; a path (it has a '/' or ends in ".xml") of an XML
     * export; or a synthetic string. A given topology is_virtual.
     */
    const char *given;
    const char *root;       /* prefix of paths in /sys; NULL: none */
    struct bitset reserved; /* CPUs kept for the system */
    bool offers_isolated;   /* offer CPUs that isolcpus isolates */
    /* taken from all NUMA nodes in proportion to size */
    uint64_t reserved_memory_bytes;
    bool with_devices;
    bool whole_machine;          /* also CPUs that the agent itself may not use */
    const char *const *patterns; /* configured devices, see device_files.h */
    size_t n_patterns;
};

/* Leaves out CPUs that are offline, isolated (unless they are offered) or that
 * the agent may not use (cpuset, affinity), and GPU memory that the kernel
 * shows as NUMA nodes. Refuses a description that cannot be read, more than
 * 1,024 PUs or 64 NUMA nodes, reserved CPUs that do not exist, and a
 * reservation that leaves no CPU or memory.
 */
int hardware_discover(const struct hardware_request *request, struct topology **ret_topology,
                      struct error *err);
