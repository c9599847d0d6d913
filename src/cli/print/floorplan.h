/* SPDX-License-Identifier: Apache-2.0 */
/* floorplan.h - a node's packages, NUMA nodes, caches, cores and devices, and
 * who has which, as an SVG picture
 *
 * A rectangle for every core, inside its L3 cache, NUMA node and package, one
 * field of it for each hardware thread: a colour for the tenant that has it,
 * stripes of it for a thread kept idle, white free. Devices
 * hang below their NUMA node, in the colour of their tenant.
 */
#pragma once

#include <stddef.h>

struct picture_tenant;
struct strbuf;
struct topology;

void floorplan_print(const struct topology *topology,
                     const char *title,
                     const struct picture_tenant *tenants,
                     size_t n_tenants,
                     struct strbuf *out);
