/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_layout.h - the CPUs of a machine by core, L3 group, NUMA node, socket
 *
 * The kubelet's name for it is CPU topology. The units of a level are sorted by
 * id, so that breaking a tie by place breaks it by id.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stdint.h>

#include "lib/base/bitset.h"
#include "lib/base/macro.h"

enum cpu_level {
    LEVEL_CORE,
    LEVEL_UNCORE,
    LEVEL_NUMA,
    LEVEL_SOCKET,
    LEVEL_COUNT,
};

struct cpu_location {
    uint16_t cpu;
    uint16_t unit[LEVEL_COUNT]; /* ids; a core's id is its lowest CPU */
};

struct cpu_units {
    unsigned count;
    uint16_t *ids;
    struct bitset *cpus;
};

struct cpu_layout {
    struct bitset cpus;
    unsigned n_cpus;
    unsigned n_sockets; /* as reported; at least those with CPUs */
    struct cpu_units levels[LEVEL_COUNT];
    uint16_t *place[LEVEL_COUNT]; /* place of each CPU's unit */
};

void cpu_layout_free(struct cpu_layout *l);
struct cpu_layout *cpu_layout_new(const struct cpu_location *seats, unsigned count,
                                  unsigned n_sockets) OWNED_BY(cpu_layout_free);
DEFINE_CLEANUP(struct cpu_layout, cpu_layout_free)

/* CPUs per unit of the level, rounded down as in the kubelet; at least 1. */
unsigned cpu_layout_per(const struct cpu_layout *l, enum cpu_level level);

/* The CPUs of the NUMA nodes with these ids. */
void cpu_layout_of_nodes(const struct cpu_layout *l, uint64_t nodes, struct bitset *ret_cpus);

/* All CPUs of the units that contain at least one of these CPUs. */
void cpu_layout_widen(const struct cpu_layout *l, enum cpu_level level, const struct bitset *cpus,
                      struct bitset *ret_cpus);

unsigned cpu_layout_count_units(const struct cpu_layout *l, enum cpu_level level,
                                const struct bitset *cpus);
