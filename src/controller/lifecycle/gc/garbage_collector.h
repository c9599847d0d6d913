/* SPDX-License-Identifier: Apache-2.0 */
/* garbage_collector.h - deletes or releases the dependents of deleted objects
 *
 * Background: an object whose owners are all gone is deleted. Foreground and
 * Orphan are finalizers of the owner: before the owner is removed, its
 * dependents are deleted, or their references to it are removed.
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct garbage_collector;
struct loop;
struct object_cache;

/* Life. The collector is created before object_cache_start. */
void garbage_collector_free(struct garbage_collector *c);
struct garbage_collector *garbage_collector_new(struct loop *loop, struct client *client,
                                                struct object_cache *cache)
    OWNED_BY(garbage_collector_free);
DEFINE_CLEANUP(struct garbage_collector, garbage_collector_free)
