/* SPDX-License-Identifier: Apache-2.0 */
/* component_threads.h - the components of the controller with a thread of their
 * own: the scheduler and the lifecycle component
 *
 * Each works while it holds its lease. `is_failing` is true while a held lease
 * cannot be renewed, `is_paused` while the scheduler shall start nothing; both
 * and the topology outlive the thread.
 *
 * Thread:  new and free on the main one.
 * See:     component_thread.h, election.h.
 */
#pragma once

#include <stdatomic.h>

struct apiserver;
struct controller_settings;
struct component_thread;
struct metric_registry;
struct store;
struct topology_levels;

struct component_thread *
component_threads_start_scheduler(struct apiserver *api, const struct controller_settings *settings,
                                  struct metric_registry *metrics, atomic_bool *is_failing,
                                  const atomic_bool *is_paused, struct topology_levels *topology);

/* Logs the scheduler's state and how it differs from the API. Does nothing when
 * `scheduler` is NULL.
 */
void component_threads_debug_scheduler(struct component_thread *scheduler);
struct component_thread *
component_threads_start_lifecycle(struct apiserver *api, const struct store *store,
                                  const struct controller_settings *settings,
                                  struct metric_registry *metrics, atomic_bool *is_failing);
