/* SPDX-License-Identifier: Apache-2.0 */
/* step_topology.h - which CPUs share cores, sockets and NUMA nodes, from /sys
 *
 * Only what a binding needs, and only of the CPUs of the step.
 *
 * Thread:  the program's only one.
 */
#pragma once

struct arena;
struct bitset;
struct topology;

/* NULL: /sys does not say. `sys`: "/sys/devices/system/cpu", or a test's. */
const struct topology *step_topology_read(struct arena *arena, const char *sys,
                                          const struct bitset *cpus);
