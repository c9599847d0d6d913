/* SPDX-License-Identifier: Apache-2.0 */
/* storage_protection.h - claims and volumes that are deleted go when nobody
 * uses them any more: a claim with its last pod, a volume when it is not bound
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct loop;
struct object_cache;
struct storage_protection;

/* Life. Made before the object cache and the volume cache start. */
void storage_protection_free(struct storage_protection *g);
struct storage_protection *storage_protection_new(struct loop *loop,
                                                  struct client *client,
                                                  struct object_cache *cache)
    OWNED_BY(storage_protection_free);
DEFINE_CLEANUP(struct storage_protection, storage_protection_free)
