/* SPDX-License-Identifier: Apache-2.0 */
/* observation.h - where the processes of a pod are found to be
 *
 * As the kernel shows them in /proc: the CPUs and NUMA nodes that they may
 * use, and how much of their memory lies where. Memory is their own, private
 * or shared; files that they have mapped lie where somebody read them first.
 * Up to 1 GiB it is counted by the kernel (numa_maps), which holds up the job
 * for the time of the count; of more, up to a million pages are asked for one
 * by one (page_nodes.h), and stand for the rest. Where neither can be had, the
 * cgroup's statistics say it (memory.numa_stat), which count mapped files, too.
 * Of many processes the first 256 are looked at.
 *
 * Take blocks: on a worker. Judge is pure.
 *
 * Thread: any; taking one blocks, so on a worker.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/bitset.h"

struct strbuf;

struct observation {
    unsigned processes;
    struct bitset cpus;         /* of all of them together */
    struct bitset memory_nodes; /* likewise */
    bool has_memory;            /* the next two are known */
    uint64_t bytes;
    uint64_t bytes_elsewhere; /* not on the NUMA nodes of the allocation */
    bool has_strayed;         /* its first process is not in its cgroup */
};

struct observation_request {
    const char *proc;           /* "/proc" */
    const char *cgroup;         /* cgroup_format's text; NULL: there is none */
    pid_t main;                 /* the pod's first process, 0: unknown */
    int64_t main_start;         /* ticks, as live_record.h has it */
    struct bitset memory_nodes; /* of the allocation; empty: none is given */
};

/* False when no process is there any more. */
bool observation_take(const struct observation_request *request,
                      struct observation *ret_seen);

/* The placement that an observation is compared with: no CPUs or no NUMA nodes
 * is no demand. A pod that merely prefers its NUMA nodes has none here.
 */
struct placement_expectation {
    struct bitset cpus;
    struct bitset memory_nodes;
};

/* Whether all is as it should be; what is not is appended as a clause: "may
 * run on CPUs 4-7, which are not its own".
 */
bool observation_check(const struct observation *seen,
                       const struct placement_expectation *expected,
                       struct strbuf *words);

/* How much of the memory is where it should be, rounded down, so that 100 is
 * all of it; -1 where that is not known.
 */
int observation_percent(const struct observation *seen);
