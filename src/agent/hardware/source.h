/* SPDX-License-Identifier: Apache-2.0 */
/* source.h - loads hwloc's topology of this machine or of a given one
 *
 * Thread: any; for workers.
 */
#pragma once

#include <hwloc.h>

struct error;
struct hardware_request;

/* The caller destroys the result with hwloc_topology_destroy. */
int source_load(const struct hardware_request *request, hwloc_topology_t *ret_machine,
                struct error *err);
