/* SPDX-License-Identifier: Apache-2.0 */
/* racks.h - regular machines for tests of the kubelet's rules */
#pragma once

#include "lib/allocator/kubelet/cpu_layout.h"
#include "lib/base/alloc.h"

/* Cores are numbered throughout the machine; second threads come after all
 * first threads. Every NUMA node is an L3 group.
 */
static inline struct cpu_layout *
rack_layout(unsigned sockets, unsigned numas, unsigned cores, unsigned threads)
{
    unsigned n = numas * cores, at = 0;
    struct cpu_location *seats = xnew_array(struct cpu_location, n * threads);
    struct cpu_layout *l;

    for (unsigned t = 0; t < threads; t++)
        for (unsigned c = 0; c < n; c++)
            seats[at++] = (struct cpu_location){
                .cpu = (uint16_t)(t * n + c),
                .unit = {[LEVEL_CORE] = (uint16_t)c,
                         [LEVEL_UNCORE] = (uint16_t)(c / cores),
                         [LEVEL_NUMA] = (uint16_t)(c / cores),
                         [LEVEL_SOCKET] = (uint16_t)(c * sockets / n)},
            };
    l = cpu_layout_new(seats, at, sockets);
    free(seats);
    return l;
}
