/* SPDX-License-Identifier: Apache-2.0 */
/* machine_load.h - what this machine has spent and holds just now, jobs and all else
 *
 * Thread: any; a few reads of /proc.
 */
#pragma once

#include <stdint.h>

struct error;

struct machine_load {
    uint64_t cpu_us;       /* since the kernel started, all CPUs together */
    uint64_t memory_bytes; /* working set: without files not used of late */
};

/* `root` is put in front of every path: "" for this machine. */
int machine_load_read(const char *root,
                      struct machine_load *ret_load,
                      struct error *err);
