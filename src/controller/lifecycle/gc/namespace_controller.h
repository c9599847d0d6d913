/* SPDX-License-Identifier: Apache-2.0 */
/* namespace_controller.h - the loop that empties terminating namespaces
 *
 * It deletes the objects of a terminating namespace, and removes the
 * namespace's own finalizer when the last pod and the last Job are gone.
 *
 * Thread: the lifecycle loop's.
 * Source: upstream's namespace controller.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct namespace_controller;
struct loop;
struct object_cache;

void namespace_controller_free(struct namespace_controller *controller);
struct namespace_controller *namespace_controller_new(struct loop *loop, struct client *client,
                                                      struct object_cache *cache)
    OWNED_BY(namespace_controller_free);
DEFINE_CLEANUP(struct namespace_controller, namespace_controller_free)
