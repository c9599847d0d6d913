/* SPDX-License-Identifier: Apache-2.0 */
/* quota_controller.h - how much of its ResourceQuotas a namespace uses
 *
 * Admission charges created objects to the quotas; this loop counts the
 * existing objects, so that the share of deleted ones is given back.
 *
 * Owns:    informers of kinds that quotas limit and the object cache lacks.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct loop;
struct quota_controller;
struct object_cache;

/* Life. The controller is created before object_cache_start. */
void quota_controller_free(struct quota_controller *q);
struct quota_controller *quota_controller_new(struct loop *loop, struct client *client,
                                              struct object_cache *cache)
    OWNED_BY(quota_controller_free);
DEFINE_CLEANUP(struct quota_controller, quota_controller_free)
