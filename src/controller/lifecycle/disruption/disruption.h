/* SPDX-License-Identifier: Apache-2.0 */
/* disruption.h - keeps the status of PodDisruptionBudgets: how many of their
 * pods may be missing now
 *
 * Evictions and preemption go by it. disruption_plan.h counts.
 *
 * Owns:    the budgets that want a look.
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
struct disruption *disruption_new(struct loop *loop,
                                  struct client *client,
                                  struct object_cache *cache,
                                  struct clock *clock)
    OWNED_BY(disruption_free);
DEFINE_CLEANUP(struct disruption, disruption_free)
