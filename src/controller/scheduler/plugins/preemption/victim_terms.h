/* SPDX-License-Identifier: Apache-2.0 */
/* victim_terms.h - what becomes of a pod that makes room, and how long it has
 *
 * Kiln's own. The mode is that of its priority class, if that has one, else that of
 * its partition on that node; the grace is the partition's.
 *
 * Thread: the scheduler's.
 */
#pragma once

#include <stdint.h>

#include "lib/api/policy/partition.h"

struct node_view;
struct pod_view;
struct profile;

struct victim_terms {
    enum partition_preemption mode;
    int64_t grace_s; /* 0: its own */
};

/* `profile` is the preemptor's: classes have modes where it has the plugin
 * Partition, which upstream's has not. Without a node, or where objects cannot be
 * looked up, the terms are those of a pod without partition and class. Suspend is
 * Off where it does not help: the victim or the preemptor has no cores of its own,
 * or the victim cannot be made to stand still; one that ends already needs not.
 */
struct victim_terms victim_terms_find(const struct profile *profile,
                                      const struct node_view *node,
                                      const struct pod_view *victim,
                                      const struct pod_view *preemptor);
