/* SPDX-License-Identifier: Apache-2.0 */
/* hardware.h - discovers what a node has to offer
 *
 * From the machine itself or from a given description (for tests: an hwloc
 * synthetic string or XML file), as the API's topology. Called at start and
 * to look again; compare two with difference.h. Takes 1 to 2 ms, ten times
 * that with devices: at start, or on a worker.
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
    /* NULL for this machine; a path (it has a '/' or ends in ".xml") to an
     * XML export; or a synthetic string. A given topology is_virtual.
     */
    const char *given;
    const char *root; /* in front of what is read of /sys; NULL: nothing */
    struct bitset reserved; /* CPUs kept for the system */
    bool offers_isolated;   /* CPUs that isolcpus keeps the kernel from using */
    uint64_t reserved_memory_bytes; /* taken from all NUMA nodes, by size */
    bool with_devices;
    bool whole_machine;          /* also what the agent itself is kept off */
    const char *const *patterns; /* configured devices, see device_files.h */
    size_t n_patterns;
};

/* Leaves out CPUs that are offline, isolated (unless they are offered) or that
 * the agent may not use (cpuset, affinity), and GPU memory that the kernel
 * shows as NUMA nodes. Refuses a description that cannot be read, more than
 * 1,024 PUs or 64 NUMA nodes, reserved CPUs that are not there, and a
 * reservation that leaves nothing.
 */
int hardware_discover(const struct hardware_request *request,
                      struct topology **ret_topology,
                      struct error *err);
