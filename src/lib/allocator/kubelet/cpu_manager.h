/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_manager.h - exclusive CPUs as the kubelet's static CPU manager policy
 * gives them
 *
 * Owns:       nothing; borrows the layout.
 * Thread:     one at a time.
 * Invariant:  the shared pool holds what no container has; reserved CPUs are
 *             in it unless reservation is strict, and are never given away.
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
    CPU_SMT_NOT_MULTIPLE, /* full-pcpus-only: not whole cores */
    CPU_SMT_NOT_ENOUGH,   /* full-pcpus-only: too few whole cores */
};

/* False: no such option. */
bool cpu_options_add(struct cpu_options *options, const char *name);

/* Everything free. */
void cpu_manager_init(struct cpu_manager *m,
                      const struct cpu_layout *layout,
                      const struct cpu_options *options,
                      const struct bitset *reserved);

/* CPUs that may be given away now. */
void cpu_manager_available(const struct cpu_manager *m,
                           struct bitset *ret_cpus);

/* Hints for so many CPUs; all of them cover `reusable`, which may be given too.
 */
void cpu_manager_hints(const struct cpu_manager *m,
                       const struct bitset *available,
                       const struct bitset *reusable,
                       unsigned wanted,
                       struct numa_hints *ret_hints);

/* Affinity may be any; changes the shared pool. */
enum cpu_answer cpu_manager_allocate(struct cpu_manager *m,
                                     unsigned wanted,
                                     const struct numa_hint *affinity,
                                     const struct bitset *reusable,
                                     struct bitset *ret_cpus);

/* The CPUs that the policy keeps for the system when it is told how many. */
bool cpu_manager_reserve(const struct cpu_layout *layout,
                         const struct cpu_options *options,
                         unsigned wanted,
                         struct bitset *ret_cpus);
