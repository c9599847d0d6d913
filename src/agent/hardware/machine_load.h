/* SPDX-License-Identifier: Apache-2.0 */
/* machine_load.h - the CPU time and the memory that this machine uses now, by
 * jobs and everything else
 *
 * Thread: any; a few reads of /proc.
 */
#pragma once

#include <stdint.h>

struct error;

struct machine_load {
    uint64_t cpu_us;       /* since the kernel started, all CPUs together */
    uint64_t memory_bytes; /* working set: without inactive file pages */
};

/* `root` is the prefix of every path: "" for this machine. */
int machine_load_read(const char *root, struct machine_load *ret_load, struct error *err);
