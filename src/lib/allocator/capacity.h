/* SPDX-License-Identifier: Apache-2.0 */
/* capacity.h - what a machine holds when nothing runs on it
 *
 * What does not fit there never fits, and no pod need be ended for it.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>

struct demand;
struct topology_index;

/* CPUs that the demand could use of one NUMA node, by place. */
unsigned capacity_usable(const struct topology_index *s,
                         unsigned numa,
                         const struct demand *demand);

/* Whether the whole machine has all that it asks for, wherever it is; and
 * whether it has the devices.
 */
bool capacity_fits(const struct topology_index *s, const struct demand *demand);
bool capacity_has_devices(const struct topology_index *s,
                          const struct demand *demand);
