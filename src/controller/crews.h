/* SPDX-License-Identifier: Apache-2.0 */
/* crews.h - the rooms of the controller that have a thread of their own: the
 * scheduler and the lifecycle loops
 *
 * Each works while it holds its lease; `is_failing` tells of one that it holds
 * and cannot renew, and outlives the crew.
 *
 * See: crew.h, election.h.
 */
#pragma once

#include <stdatomic.h>

struct apiserver;
struct controller_settings;
struct crew;
struct metric_registry;
struct store;

struct crew *crews_start_scheduler(struct apiserver *api,
                                   const struct controller_settings *settings,
                                   struct metric_registry *metrics,
                                   atomic_bool *is_failing);

/* What the scheduler has in hand, and how that differs from the API, to the
 * log. NULL: there is none.
 */
void crews_debug_scheduler(struct crew *scheduler);
struct crew *crews_start_lifecycle(struct apiserver *api,
                                   const struct store *store,
                                   const struct controller_settings *settings,
                                   struct metric_registry *metrics,
                                   atomic_bool *is_failing);
