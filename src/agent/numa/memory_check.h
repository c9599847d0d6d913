/* SPDX-License-Identifier: Apache-2.0 */
/* memory_check.h - whether libnuma sees the NUMA nodes that hwloc reported
 *
 * The two read different files: hwloc sysfs or its own plugins, libnuma the
 * kernel's node masks. A node whose firmware, kernel command line or container
 * hides something shows different pictures, and then cores and memory would be
 * placed by a wrong one.
 *
 * Thread: any; blocks while /sys is read. Pure when `facts` is given.
 */
#pragma once

#include <stdint.h>

struct strbuf;
struct topology;

/* The machine as libnuma sees it. */
struct memory_facts {
    unsigned n;         /* NUMA nodes below */
    unsigned ids[64];   /* their numbers in Linux */
    uint64_t bytes[64]; /* memory in all, huge pages included */
    unsigned char distances[64]
                           [64]; /* by place in ids; 10: local, 0: unknown */
};

/* Reads them. Errors: -ENOSYS, the kernel has no NUMA support. */
int memory_facts_read(struct memory_facts *ret_facts);

/* Appends a clause for each disagreement about the topology's NUMA nodes and
 * returns how many there are. NUMA nodes that only libnuma sees are none of
 * them: the topology leaves out what jobs cannot use, such as memory of GPUs.
 * Nor is a difference of less than a sixteenth of a NUMA node's memory: the
 * kernel sets some aside at different times. The topology's sizes are without
 * `reserved_bytes`, which were taken from all by size.
 */
unsigned memory_check(const struct topology *topology,
                      uint64_t reserved_bytes,
                      const struct memory_facts *facts,
                      struct strbuf *words);
