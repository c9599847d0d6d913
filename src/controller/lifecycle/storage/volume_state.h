/* SPDX-License-Identifier: Apache-2.0 */
/* volume_state.h - what the files of volume_controller share
 *
 * volume_controller.c has what makes a look due, claim_sync.c what is done for
 * a claim, volume_sync.c for a volume, provision.c what a new volume looks
 * like.
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/lifecycle/storage/volume_controller.h"

struct event_recorder;
struct arena;
struct pending_calls;
struct json;
struct map;
struct object;
struct workqueue;

struct volume_controller {
    struct volume_controller_settings s;
    struct workqueue *queue; /* of claims "NS/NAME", of volumes "NAME" */
    struct map *unbound;     /* claims, by key: to be looked at when a volume
                                can be had */
    struct map *pauses;      /* claims, by key, to when they may be tried
                                again: int64_t of the monotonic clock */
    struct event_recorder *event_recorder;
};

/* Syncs one object; the API calls go through `calls`. */
void claim_sync(struct volume_controller *vc,
                struct pending_calls *calls,
                const struct object *claim);
void volume_sync(struct volume_controller *vc,
                 struct pending_calls *calls,
                 const struct object *volume);

/* The body of the volume that the node's agent is to make for the claim. */
struct json *provision_body(struct arena *arena,
                            const struct object *claim,
                            const struct object *class,
                            const struct object *node);

/* A ready node with room for a claim that waits for no pod; or NULL. */
const struct object *provision_choose(const struct volume_controller *vc,
                                      const struct object *claim,
                                      const struct object *class);
