/* SPDX-License-Identifier: Apache-2.0 */
/* process_usage.h - what the descendants of some processes use, where no cgroup
 * counts it
 *
 * One call reads /proc once for all ancestors. A rootless agent passes its
 * shepherds, which are child subreapers: processes that their jobs fork and
 * abandon stay below them. Memory that processes share counts for each.
 *
 * Thread: any; takes milliseconds, so on a worker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_usage {
    pid_t ancestor; /* in; only its waited-for children count, not it */
    bool is_there;  /* out, like the members below */
    uint64_t cpu_user_us;
    uint64_t cpu_system_us;
    uint64_t memory_bytes; /* resident */
};

/* `root` is put in front of "/proc": "" for this machine. The list is sorted
 * by ancestor.
 */
int process_usage_read(const char *root, struct process_usage *list, size_t count);
