/* SPDX-License-Identifier: Apache-2.0 */
/* volume_state.h - declarations shared by the files of volume_controller
 *
 * volume_controller.c queues claims and volumes when something changes,
 * claim_sync.c reconciles a claim and volume_sync.c a volume.
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/lifecycle/storage/volume_controller.h"

struct event_recorder;
struct pending_calls;
struct map;
struct object;
struct workqueue;

struct volume_controller {
    struct volume_controller_settings s;
    struct workqueue *queue; /* keys: claims "NS/NAME", volumes "NAME" */
    struct map *unbound;     /* claims, by key: queued when a volume becomes
                              * available */
    struct map *pauses;      /* claims, by key, to an int64_t: monotonic time
                              * of the next try to provision */
    struct event_recorder *event_recorder;
};

/* Syncs one object; the API calls go through `calls`. */
void claim_sync(struct volume_controller *vc, struct pending_calls *calls,
                const struct object *claim);
void volume_sync(struct volume_controller *vc, struct pending_calls *calls,
                 const struct object *volume);
