/* SPDX-License-Identifier: Apache-2.0 */
/* disruption.h - keeps the status of PodDisruptionBudgets: how many of their
 * pods may be disrupted now
 *
 * Evictions and preemption obey that status. disruption_plan.h counts.
 *
 * Owns:    the queue of budgets to count again, and the pending status writes.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct clock;
struct disruption;
struct loop;
struct object_cache;

void disruption_free(struct disruption *d);
struct disruption *disruption_new(struct loop *loop, struct client *client,
                                  struct object_cache *cache, struct clock *clock)
    OWNED_BY(disruption_free);
DEFINE_CLEANUP(struct disruption, disruption_free)
