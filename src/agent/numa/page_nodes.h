/* SPDX-License-Identifier: Apache-2.0 */
/* page_nodes.h - on which NUMA nodes the memory of a process is
 *
 * Asks the kernel for the NUMA node of single pages (move_pages(2) without a
 * destination, through libnuma). Each call locks the process's memory map for
 * some microseconds, while /proc/PID/numa_maps walks all page tables of the
 * process and blocks its page faults meanwhile.
 *
 * Thread: any worker; both functions block.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct bitset;
struct error;

struct page_count {
    uint64_t asked;     /* pages whose NUMA node was asked for */
    uint64_t found;     /* pages of these that are in memory */
    uint64_t elsewhere; /* pages of `found` on nodes outside `right` */
};

/* Adds the pages of a process's private and shared memory (not of mapped
 * files). If there are more than `most` pages, only every n-th is asked for, so
 * that at most `most` are. `proc` is where /proc is mounted. Errors: -ENOENT
 * the process is gone, -EPERM, -ENOSYS without move_pages.
 */
int page_nodes_count(const char *proc, pid_t pid, const struct bitset *right, uint64_t most,
                     struct page_count *count);

/* Moves the pages that are on other NUMA nodes to `nodes`. Pages that cannot
 * be moved stay. Errors: -ESRCH the process is gone, -EPERM, -ENOSYS.
 */
int page_nodes_move(pid_t pid, const struct bitset *nodes, struct error *err);
