/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/plugins/plugin_registry.h"

#include <string.h>

extern const struct plugin balanced_allocation_plugin;
extern const struct plugin default_binder_plugin;
extern const struct plugin image_locality_plugin;
extern const struct plugin interpod_affinity_plugin;
extern const struct plugin node_affinity_plugin;
extern const struct plugin node_name_plugin;
extern const struct plugin node_ports_plugin;
extern const struct plugin node_unschedulable_plugin;
extern const struct plugin numa_fit_plugin;
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

const struct plugin *const plugin_list[] = {
    &balanced_allocation_plugin,
    &default_binder_plugin,
    &image_locality_plugin,
    &interpod_affinity_plugin,
    &node_affinity_plugin,
    &node_name_plugin,
    &node_ports_plugin,
    &node_unschedulable_plugin,
    &numa_fit_plugin,
    &preemption_plugin,
    &priority_sort_plugin,
    &resources_fit_plugin,
    &scheduling_gates_plugin,
    &taint_toleration_plugin,
    &topology_spread_plugin,
    &volume_binding_plugin,
    &volume_limits_plugin,
    &volume_restrictions_plugin,
    &volume_zone_plugin,
};
const unsigned plugin_count = ARRAY_SIZE(plugin_list);

/* In the order in which they run at every point. */
const struct profile_plugin default_profile[] = {
    {.plugin = &scheduling_gates_plugin},
    {.plugin = &priority_sort_plugin},
    {.plugin = &node_unschedulable_plugin},
    {.plugin = &node_name_plugin},
    {.plugin = &taint_toleration_plugin, .weight = 3},
    {.plugin = &node_affinity_plugin, .weight = 2},
    {.plugin = &node_ports_plugin},
    {.plugin = &resources_fit_plugin, .weight = 1},
    {.plugin = &numa_fit_plugin, .weight = 10},
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
const unsigned n_default_profile = ARRAY_SIZE(default_profile);

const struct profile_plugin upstream_profile[] = {
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
const unsigned n_upstream_profile = ARRAY_SIZE(upstream_profile);

const struct plugin *
plugin_find(const char *name)
{
    for (unsigned i = 0; i < plugin_count; i++)
        if (strcmp(plugin_list[i]->name, name) == 0)
            return plugin_list[i];
    return NULL;
}
