/* SPDX-License-Identifier: Apache-2.0 */
/* group_placer_state.h - the internals of a group placer, for its own files
 *
 * Called by:  group_places.c (where in the topology), group_room.c (room, switches and
 *             ranks) and group_preemption.c (who ends for the group). No other file.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdint.h>

#include "controller/scheduler/placing/group_placer.h"

struct domain_need;
struct map;

struct group_placer {
    struct group_placer_parts parts;
    struct node_view **domain_nodes; /* those of one level; for group_places.c */
    struct map *switch_waits;        /* key of a pod to its struct switch_wait */
    int64_t next_switch_us;          /* when the first of them is over */
};

/* Whether there is room for all that the group wants, by CPUs alone (group_room.c). */
bool group_placer_has_room(const struct group_placer *placer, const struct assignment_group *g);

/* False: the group must be in one domain and none has enough free CPUs (group_places.c). */
bool group_placer_may_find_domain(struct group_placer *placer, const struct pod_view *pod,
                                  const struct domain_need *need, unsigned wanted);

/* How many leaves of the topology the nodes may have as long as the group waits for
 * that, and how many they have (group_room.c).
 */
unsigned group_placer_most_switches(const struct group_placer *placer, const struct pod_view *pod);
unsigned group_placer_count_switches(const struct group_placer *placer,
                                     const struct assignment_group *g);
