/* SPDX-License-Identifier: Apache-2.0 */
/* process_usage.h - what the descendants of some processes have taken, where no
 * cgroup counts it
 *
 * It reads /proc once for all of them. A rootless agent asks for its shepherds,
 * which are child subreapers: processes that their jobs fork and abandon stay
 * below them. Memory that processes share counts for each.
 *
 * Thread: any; takes milliseconds, so on a worker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_usage {
    pid_t ancestor; /* in; not counted itself, but what it waited for is */
    bool is_there;  /* out, as the rest */
    uint64_t cpu_user_us;
    uint64_t cpu_system_us;
    uint64_t memory_bytes; /* resident */
};

/* `root` is put in front of "/proc": "" for this machine. The list is sorted
 * by ancestor.
 */
int
process_usage_read(const char *root, struct process_usage *list, size_t count);
