/* SPDX-License-Identifier: Apache-2.0 */
/* capacity.h - what a machine holds when nothing runs on it
 *
 * A demand that exceeds the empty machine never fits, so no pod needs to be
 * preempted for it.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>

struct demand;
struct topology_index;

/* CPUs of one NUMA node, given by its place, that the demand could use. */
unsigned capacity_usable(const struct topology_index *ti, unsigned numa,
                         const struct demand *demand);

/* Whether the whole machine has everything that the demand asks for, on
 * whatever NUMA nodes; and whether it has the devices.
 */
bool capacity_fits(const struct topology_index *ti, const struct demand *demand);
bool capacity_has_devices(const struct topology_index *ti, const struct demand *demand);
