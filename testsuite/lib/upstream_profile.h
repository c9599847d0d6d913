/* SPDX-License-Identifier: Apache-2.0 */
/* upstream_profile.h - the default profile of kube-scheduler 1.32, with its
 * weights
 */
#pragma once

#include "controller/scheduler/framework/profile.h"

extern const struct plugin balanced_allocation_plugin;
extern const struct plugin default_binder_plugin;
extern const struct plugin image_locality_plugin;
extern const struct plugin interpod_affinity_plugin;
extern const struct plugin node_affinity_plugin;
extern const struct plugin node_name_plugin;
extern const struct plugin node_ports_plugin;
extern const struct plugin node_unschedulable_plugin;
extern const struct plugin preemption_plugin;
extern const struct plugin priority_sort_plugin;
extern const struct plugin resources_fit_plugin;
extern const struct plugin scheduling_gates_plugin;
extern const struct plugin taint_toleration_plugin;
extern const struct plugin topology_spread_plugin;
extern const struct plugin volume_binding_plugin;
extern const struct plugin volume_limits_plugin;
extern const struct plugin volume_restrictions_plugin;
extern const struct plugin volume_zone_plugin;

static const struct profile_plugin upstream_profile[] = {
    {.plugin = &scheduling_gates_plugin},
    {.plugin = &priority_sort_plugin},
    {.plugin = &node_unschedulable_plugin},
    {.plugin = &node_name_plugin},
    {.plugin = &taint_toleration_plugin, .weight = 3},
    {.plugin = &node_affinity_plugin, .weight = 2},
    {.plugin = &node_ports_plugin},
    {.plugin = &resources_fit_plugin, .weight = 1},
    {.plugin = &volume_restrictions_plugin},
    {.plugin = &volume_limits_plugin},
    {.plugin = &volume_binding_plugin},
    {.plugin = &volume_zone_plugin},
    {.plugin = &topology_spread_plugin, .weight = 2},
    {.plugin = &interpod_affinity_plugin, .weight = 2},
    {.plugin = &preemption_plugin},
    {.plugin = &balanced_allocation_plugin, .weight = 1},
    {.plugin = &image_locality_plugin, .weight = 1},
    {.plugin = &default_binder_plugin},
};
