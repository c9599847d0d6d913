/* SPDX-License-Identifier: Apache-2.0 */
/* storage_protection.h - keeps deleted claims and volumes while they are in
 * use: a claim until its last pod has ended, a volume while it is bound
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct loop;
struct object_cache;
struct storage_protection;

/* Life. The loop is created before object_cache_start. */
void storage_protection_free(struct storage_protection *p);
struct storage_protection *storage_protection_new(struct loop *loop, struct client *client,
                                                  struct object_cache *cache)
    OWNED_BY(storage_protection_free);
DEFINE_CLEANUP(struct storage_protection, storage_protection_free)
