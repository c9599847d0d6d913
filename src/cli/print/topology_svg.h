/* SPDX-License-Identifier: Apache-2.0 */
/* topology_svg.h - draws the topology of a node and its tenants as SVG
 *
 * Each core is a rectangle inside its L3 cache, NUMA node and package, with one
 * field for each hardware thread: in its tenant's colour, striped when it is
 * kept idle for a tenant, white when it is free. Devices are drawn below their
 * NUMA node, in the colour of their tenant.
 *
 * Thread: any.
 */
#pragma once

#include <stddef.h>

struct topology_tenant;
struct strbuf;
struct topology;

void topology_svg_print(const struct topology *topology, const char *title,
                        const struct topology_tenant *tenants, size_t n_tenants,
                        struct strbuf *out);
