/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_manager.h - exclusive CPUs as the kubelet's static CPU manager policy
 * gives them
 *
 * Owns:       nothing; borrows the layout.
 * Thread:     one at a time.
 * Invariant:  the shared pool holds all CPUs that no container owns. Reserved
 *             CPUs are in it unless reservation is strict, and are never
 *             allocated to a container.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bitset.h"

struct cpu_layout;
struct numa_hint;
struct numa_hints;

struct cpu_options {
    bool full_pcpus_only;
    bool distribute_across_numa;
    bool distribute_across_cores;
    bool align_by_socket;
    bool strict_reservation;
    bool align_by_uncore;
};

struct cpu_manager {
    const struct cpu_layout *layout;
    struct cpu_options options;
    struct bitset reserved;
    struct bitset shared;
};

enum cpu_answer {
    CPU_OK,
    CPU_NOT_ENOUGH,
    CPU_SMT_NOT_MULTIPLE, /* full-pcpus-only: not a number of whole cores */
    CPU_SMT_NOT_ENOUGH,   /* full-pcpus-only: too few free whole cores */
};

/* False: the kubelet has no such option. */
bool cpu_options_add(struct cpu_options *options, const char *name);

/* All CPUs are free at first. */
void cpu_manager_init(struct cpu_manager *m, const struct cpu_layout *layout,
                      const struct cpu_options *options, const struct bitset *reserved);

/* CPUs that may be allocated now. */
void cpu_manager_available(const struct cpu_manager *m, struct bitset *ret_cpus);

/* Hints for `wanted` CPUs. Every hint includes the nodes of `reusable`, whose
 * CPUs may be allocated again.
 */
void cpu_manager_hints(const struct cpu_manager *m, const struct bitset *available,
                       const struct bitset *reusable, unsigned wanted,
                       struct numa_hints *ret_hints);

/* Takes the CPUs out of the shared pool. The affinity may have is_any. */
enum cpu_answer cpu_manager_allocate(struct cpu_manager *m, unsigned wanted,
                                     const struct numa_hint *affinity,
                                     const struct bitset *reusable, struct bitset *ret_cpus);
