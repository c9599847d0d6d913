/* SPDX-License-Identifier: Apache-2.0 */
/* devices.h - GPUs, network cards and NVMe disks, and the NUMA node of each
 *
 * A GPU is a PCI display controller that can compute (it has a render node, an
 * NVIDIA device file or a device of a GPU runtime), not the console's. GPUs are
 * named gpu0, gpu1, ... in PCI order; other devices keep the system's name.
 *
 * Thread: one at a time for each topology; for workers.
 */
#pragma once

#include <hwloc.h>

struct topology;

/* Call it after layout_fill. */
void devices_fill(hwloc_topology_t machine, struct topology *t);
