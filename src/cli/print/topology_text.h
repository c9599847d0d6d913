/* SPDX-License-Identifier: Apache-2.0 */
/* topology_text.h - draws a node as text: its packages, NUMA nodes, caches and
 * cores, and the tenant of each
 *
 *   package 0
 *     NUMA node 0   64Gi   4 of 8 cores free
 *       L3  AA AA BB B- .. .. .. ..
 *
 * A group of characters is a core, a character one of its hardware threads: the
 * letter of its tenant, '-' if it is kept idle for the tenant of its sibling,
 * '.' if free. CPUs that jobs cannot have are in no core. A device has the
 * letter of its tenant before its name, or '.'.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bitset.h"

struct strbuf;
struct topology;

struct topology_tenant {
    struct bitset cpus;
    struct bitset withheld;
    const char *label;     /* for topology_svg.h; or NULL */
    const int64_t *memory; /* bytes, by index of NUMA node; or NULL */
    const char *const *devices;
    size_t n_devices;
};

/* The index of the tenant that has the device, or n_tenants. */
size_t topology_tenant_of_device(const struct topology_tenant *tenants, size_t n_tenants,
                                 const char *device);

/* The bytes that tenants have of the NUMA node with that index. */
int64_t topology_tenants_memory(const struct topology_tenant *tenants, size_t n_tenants,
                                unsigned numa);

/* The mark of the i-th tenant: A to Z, a to z, 0 to 9, then '*'. */
char topology_tenant_mark(size_t tenant);

void topology_text_print(const struct topology *topology, const struct topology_tenant *tenants,
                         size_t n_tenants, bool has_colours, struct strbuf *out);
