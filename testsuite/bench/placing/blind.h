/* SPDX-License-Identifier: Apache-2.0 */
/* blind.h - placement that considers only how many cores, how much memory and
 * how many GPUs a node has free
 *
 * On the node, cores and GPUs are taken from the lowest number up, memory where
 * the cores are. At most 64 cores and 8 GPUs per node.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct blind;

struct blind_job {
    unsigned cores, gib, gpus;
};

struct blind_place {
    unsigned node;
    uint64_t cores;
    uint8_t gpus;
};

void blind_free(struct blind *b);
struct blind *blind_new(unsigned numa, unsigned cores, unsigned gib, unsigned nodes)
    OWNED_BY(blind_free);

/* Returns the number of NUMA nodes with its cores and GPUs; 0: no node has
 * enough free.
 */
unsigned blind_put(struct blind *b, const struct blind_job *job, bool spreads,
                   struct blind_place *ret_place);
void blind_take_away(struct blind *b, const struct blind_job *job, const struct blind_place *place);
