/* SPDX-License-Identifier: Apache-2.0 */
/* step_distribution.h - how --distribution wants tasks to go over nodes, then over the
 * sockets of a node, then over the cores of a socket
 *
 * Thread:  any; plain data.
 * Source:  srun(1) of Slurm 22.05.
 */
#pragma once

#include <stdbool.h>

struct error;

enum step_order {
    STEP_ORDER_DEFAULT, /* "*", or nothing: block */
    STEP_ORDER_BLOCK,
    STEP_ORDER_CYCLIC,
    STEP_ORDER_FCYCLIC, /* not over nodes */
    STEP_ORDER_PLANE,   /* only over nodes */
};

struct step_distribution {
    enum step_order nodes, sockets, cores;
    unsigned plane; /* tasks */
    bool packs;     /* ",Pack": as few nodes as the tasks need */
    bool spreads;   /* ",NoPack": the same number on each node */
};

/* "block:cyclic", "plane=4", "*:block,NoPack"; NULL: the default. -EINVAL: no such
 * distribution; -ENOTSUP: arbitrary, which needs a list of nodes for each task.
 */
int step_distribution_parse(const char *text, struct step_distribution *ret_distribution,
                            struct error *err);
