/* SPDX-License-Identifier: Apache-2.0 */
/* volume_controller.h - binds claims and volumes to each other
 *
 * The loop binds claims that do not wait for a pod to matching volumes. For a
 * claim of a class with the provisioner kiln.hpc/node-local it creates a
 * Pending volume, which asks a node's agent to make the directory. It keeps the
 * phases of claims and volumes, and deletes or keeps a released volume by its
 * reclaim policy.
 *
 *     claim    Pending -> Bound -> Lost (its volume was deleted)
 *     volume   Pending -> Available -> Bound -> Released
 *              Pending -> Failed (the agent could not make the directory)
 *
 * Thread:  the lifecycle loop's.
 * Source:  kube-controller-manager, the persistent volume controller; and the
 *          external provisioner for volumes that agents make.
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

/* Life. The loop is created before object_cache_start. */
void volume_controller_free(struct volume_controller *v);
struct volume_controller *volume_controller_new(const struct volume_controller_settings *settings)
    OWNED_BY(volume_controller_free);
DEFINE_CLEANUP(struct volume_controller, volume_controller_free)
