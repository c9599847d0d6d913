/* SPDX-License-Identifier: Apache-2.0 */
/* observation.h - the CPUs and NUMA nodes that the processes of a pod really
 * use
 *
 * Read from /proc: the CPUs and NUMA nodes that the processes may use, and how
 * much of their memory is on which node. Memory is their own, private or
 * shared; mapped files are ignored, because the process that first reads a file
 * decides where the file's pages are. Up to 1 GiB the kernel counts it
 * (numa_maps), which stops the job for the time of the count. Of more memory,
 * up to a million pages are sampled one by one (page_nodes.h). If neither is
 * possible, the cgroup's statistics are used (memory.numa_stat), which include
 * mapped files. Of many processes only the first 256 are observed.
 *
 * Thread: any; observation_take blocks, so on a worker; observation_check is
 *         pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/bitset.h"

struct strbuf;

struct observation {
    unsigned processes;
    struct bitset cpus;         /* of all processes together */
    struct bitset memory_nodes; /* likewise */
    bool has_memory;            /* the next two are known */
    uint64_t bytes;
    uint64_t bytes_elsewhere; /* not on the NUMA nodes of the allocation */
    bool has_strayed;         /* the main process is not in the pod's cgroup */
};

struct observation_request {
    const char *proc;           /* "/proc" */
    const char *cgroup;         /* cgroup_format's text, or NULL */
    pid_t main;                 /* the pod's first process, 0: unknown */
    int64_t main_start;         /* ticks, as live_record.h has it */
    struct bitset memory_nodes; /* of the allocation; empty: none */
};

/* False when no process exists any more. */
bool observation_take(const struct observation_request *request, struct observation *ret_seen);

/* The placement that an observation is compared with. Empty CPUs or NUMA nodes
 * are not compared; a pod that only prefers its NUMA nodes has none here.
 */
struct placement_expectation {
    struct bitset cpus;
    struct bitset memory_nodes;
};

/* Whether the observation matches; each deviation is appended as a clause: "may
 * run on CPUs 4-7, which are not its own".
 */
bool observation_check(const struct observation *seen, const struct placement_expectation *expected,
                       struct strbuf *words);

/* The share of the memory on expected NUMA nodes, rounded down so that 100
 * means all of it; -1 if unknown.
 */
int observation_percent(const struct observation *seen);
