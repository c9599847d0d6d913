/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_share.h - how many CPUs from which NUMA nodes, when they are to share
 *
 * distribute-cpus-across-numa: the fewest NUMA nodes that can each give the
 * same number; what does not divide goes where it leaves the free CPUs of all
 * NUMA nodes most alike (least standard deviation, to three digits). The
 * search is bounded; beyond the bound the best so far counts.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>

#define CPU_SHARE_MAX 64u

struct cpu_share_input {
    unsigned numas[CPU_SHARE_MAX]; /* in the order of preference */
    unsigned free[CPU_SHARE_MAX];  /* CPUs */
    unsigned count;
    unsigned wanted, group;
    unsigned n_cpus;    /* of the machine */
    unsigned n_machine; /* its NUMA nodes */
};

struct cpu_share {
    unsigned numas[CPU_SHARE_MAX];
    unsigned more[CPU_SHARE_MAX]; /* groups beyond `each` */
    unsigned count;
    unsigned each; /* CPUs */
};

/* False: they cannot share. */
bool cpu_share_find(const struct cpu_share_input *in,
                    struct cpu_share *ret_share);
