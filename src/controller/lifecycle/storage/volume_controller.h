/* SPDX-License-Identifier: Apache-2.0 */
/* volume_controller.h - claims get volumes, and volumes know whose they are
 *
 * Binds claims that do not wait for a pod to volumes that suit them; asks a
 * node's agent, by a volume that is Pending, to make one for a claim of the
 * class kiln.hpc/node-local; keeps the phases of both; and lets go of what a
 * claim leaves, or keeps it, as the reclaim policy says.
 *
 *     claim    Pending -> Bound -> Lost (its volume is gone)
 *     volume   Pending -> Available -> Bound -> Released
 *              Pending -> Failed (the agent could not)
 *
 * Thread:  the lifecycle loop's.
 * Source:  kube-controller-manager, the persistent volume controller; and the
 *          external provisioner for what agents make.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct clock;
struct loop;
struct object_cache;
struct volume_controller;

struct volume_controller_settings {
    struct loop *loop;
    struct client *client;
    struct object_cache *cache;
    struct clock *clock;
};

/* Life. Made before the object cache and the volume cache start. */
void volume_controller_free(struct volume_controller *v);
struct volume_controller *
volume_controller_new(const struct volume_controller_settings *settings)
    OWNED_BY(volume_controller_free);
DEFINE_CLEANUP(struct volume_controller, volume_controller_free)
