/* SPDX-License-Identifier: Apache-2.0 */
/* memory_check.h - whether libnuma sees the NUMA nodes that hwloc reported
 *
 * The two read different files: hwloc sysfs or its own plugins, libnuma the
 * kernel's node masks. Where the firmware, the kernel command line or a
 * container hides something, the two may differ, and then cores and memory
 * would be placed by a wrong topology.
 *
 * Thread: any; blocks while /sys is read. Pure when `facts` is given.
 */
#pragma once

#include <stdint.h>

struct strbuf;
struct topology;

/* The machine as libnuma sees it. */
struct memory_facts {
    unsigned n;                      /* NUMA nodes below */
    unsigned ids[64];                /* their numbers in Linux */
    uint64_t bytes[64];              /* total memory, huge pages included */
    unsigned char distances[64][64]; /* by index in ids; 10: local, 0: unknown */
};

/* Reads the facts. Errors: -ENOSYS, the kernel has no NUMA support. */
int memory_facts_read(struct memory_facts *ret_facts);

/* Appends a clause for each disagreement about the topology's NUMA nodes and
 * returns their number. NUMA nodes that only libnuma sees are no disagreement,
 * because the topology leaves out nodes that jobs cannot use, such as memory of
 * GPUs. Neither is a difference of less than a sixteenth of a NUMA node's
 * memory, because the kernel reserves some at different times. The topology's
 * sizes are without `reserved_bytes`, which were taken from all nodes in
 * proportion to size.
 */
unsigned memory_check(const struct topology *topology, uint64_t reserved_bytes,
                      const struct memory_facts *facts, struct strbuf *words);
