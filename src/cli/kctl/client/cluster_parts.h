/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_parts.h - the topology of the cluster: its parts by the levels that are
 * configured, and which nodes each has
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct arena;
struct error;
struct kctl;

struct cluster_part {
    unsigned level; /* 0: the widest */
    const char *value;
    const char **nodes;
    size_t n_nodes;
    const char **inner; /* values of the next level that its nodes have; none for a leaf */
    size_t n_inner;
};

struct cluster_parts {
    const char **keys; /* of the levels */
    unsigned n_levels;
    struct cluster_part *items; /* level by level, by value */
    size_t count;
};

int cluster_parts_fetch(struct kctl *kctl, struct arena *arena, struct cluster_parts *ret,
                        struct error *err);

bool cluster_part_has(const struct cluster_part *part, const char *node);
