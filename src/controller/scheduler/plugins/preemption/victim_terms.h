/* SPDX-License-Identifier: Apache-2.0 */
/* victim_terms.h - what happens to a preempted pod, and how much time it gets
 *
 * Kiln's own. The mode is that of its priority class, if that has one, else
 * that of its partition on that node; the grace period is the partition's.
 *
 * Thread: the scheduler's.
 */
#pragma once

#include <stdint.h>

#include "lib/api/policy/partition.h"

/* The plugin that upstream's profile lacks. */
#define PARTITION_PLUGIN "Partition"

struct node_view;
struct pod_view;
struct profile;

struct victim_terms {
    enum partition_preemption mode;
    int64_t grace_s; /* 0: its own grace period */
};

/* `profile` is the preemptor's. Priority classes have modes only if it has the
 * plugin Partition, which upstream's profile lacks. Without a node, or where
 * objects cannot be looked up, the terms are those of a pod without partition
 * and class. Suspend becomes Off where it does not help: the victim or the
 * preemptor has no cores of its own, or the victim cannot be frozen or is one
 * pod of a gang, whose others would wait for it in vain. A victim
 * that is already terminating need not be suspended.
 */
struct victim_terms victim_terms_find(const struct profile *profile, const struct node_view *node,
                                      const struct pod_view *victim,
                                      const struct pod_view *preemptor);
