/* SPDX-License-Identifier: Apache-2.0 */
/* free_room.h - whether free room on a node may help a pod that waits
 *
 * Owns:       answers about nodes, by the shape of the pods.
 * Called by:  the queue, by its policy (queue_policy.h).
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct cache;
struct free_room;
struct handle;
struct planner;
struct pod_groups;
struct queued_pod;
struct snapshot;
struct string_ids;

/* All of these are borrowed. */
struct free_room_settings {
    struct handle *handle;
    struct planner *planner;
    struct cache *cache;
    struct snapshot *snapshot;
    struct string_ids *signatures;
    const struct pod_groups *pod_groups;
    bool is_sharing; /* equal pods share answers */
};

/* Life */
void free_room_free(struct free_room *f);
struct free_room *free_room_new(const struct free_room_settings *settings) OWNED_BY(free_room_free);

/* A turn begins: the nodes and the reservations may be others than before. While it lasts,
 * no node changes.
 */
void free_room_begin_turn(struct free_room *f);

/* Whether the node may have enough room for the pod, or for one member of its group, now or
 * after a preemption there.
 */
bool free_room_has(struct free_room *f, const struct queued_pod *queued, const char *node_name);

/* Whether the free room on the node is reserved for others. */
bool free_room_is_kept_off(struct free_room *f, const struct queued_pod *queued,
                           const char *node_name);
