/* SPDX-License-Identifier: Apache-2.0 */
/* quota_controller.h - what the objects of a namespace take of its
 * ResourceQuotas
 *
 * Admission charges what is made; this keeps count of what is there, so that
 * what goes is given back.
 *
 * Owns:    informers of what quotas limit and the object cache has not.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct loop;
struct quota_controller;
struct object_cache;

/* Life. Made before object_cache_start. */
void quota_controller_free(struct quota_controller *q);
struct quota_controller *quota_controller_new(struct loop *loop,
                                              struct client *client,
                                              struct object_cache *cache)
    OWNED_BY(quota_controller_free);
DEFINE_CLEANUP(struct quota_controller, quota_controller_free)
