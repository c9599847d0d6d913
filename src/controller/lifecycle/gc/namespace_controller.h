/* SPDX-License-Identifier: Apache-2.0 */
/* namespace_controller.h - the loop that removes what nobody owns any more
 *
 * Pods whose controlling Job is gone (background propagation) are deleted; the
 * finalizers `orphan` and `foregroundDeletion` of Jobs are worked off; what a
 * terminating namespace holds is deleted, and then its own finalizer lifted.
 *
 * Thread: the lifecycle loop's.
 * See:    upstream's garbage collector and namespace controller, of whose
 *         rules these are the part for the kinds that Kiln's own loops make.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct namespace_controller;
struct loop;
struct object_cache;

void namespace_controller_free(struct namespace_controller *controller);
struct namespace_controller *
namespace_controller_new(struct loop *loop,
                         struct client *client,
                         struct object_cache *cache)
    OWNED_BY(namespace_controller_free);
DEFINE_CLEANUP(struct namespace_controller, namespace_controller_free)
