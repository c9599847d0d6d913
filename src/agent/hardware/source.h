/* SPDX-License-Identifier: Apache-2.0 */
/* source.h - loads hwloc's picture of this machine or of a given one */
#pragma once

#include <hwloc.h>
#include <stdbool.h>

struct error;

/* `given` as in struct hardware_wish. Destroy what is returned with
 * hwloc_topology_destroy.
 */
int source_load(const char *given,
                bool with_devices,
                hwloc_topology_t *ret_machine,
                struct error *err);
