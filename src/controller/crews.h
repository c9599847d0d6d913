/* SPDX-License-Identifier: Apache-2.0 */
/* crews.h - the rooms of the controller that have a thread of their own: the
 * scheduler and the lifecycle loops
 *
 * See: crew.h.
 */
#pragma once

struct apiserver;
struct controller_settings;
struct crew;
struct metric_registry;

struct crew *crews_start_scheduler(struct apiserver *api,
                                   struct metric_registry *metrics);
struct crew *crews_start_lifecycle(struct apiserver *api,
                                   const struct controller_settings *settings);
