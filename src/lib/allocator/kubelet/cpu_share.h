/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_share.h - how many CPUs each NUMA node gives when they share a request
 *
 * The rule of distribute-cpus-across-numa: the fewest NUMA nodes that can each
 * give the same number. A remainder goes where it leaves the free CPUs of all
 * NUMA nodes most even (least standard deviation, to three digits). The search
 * is bounded; at the bound the best result so far counts.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>

#define CPU_SHARE_MAX 64u

struct cpu_share_input {
    unsigned numas[CPU_SHARE_MAX]; /* in order of preference */
    unsigned free[CPU_SHARE_MAX];  /* CPUs */
    unsigned count;
    unsigned wanted, group;
    unsigned n_cpus;    /* CPUs of the machine */
    unsigned n_machine; /* NUMA nodes of the machine */
};

struct cpu_share {
    unsigned numas[CPU_SHARE_MAX];
    unsigned more[CPU_SHARE_MAX]; /* groups beyond `each` */
    unsigned count;
    unsigned each; /* CPUs */
};

/* False: the NUMA nodes cannot share the request. */
bool cpu_share_find(const struct cpu_share_input *in, struct cpu_share *ret_share);
