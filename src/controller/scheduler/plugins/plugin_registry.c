/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/plugins/plugin_registry.h"

#include <string.h>

#include "lib/api/object/meta.h"
#include "lib/json/json.h"

/* All plugins, one on each line: NAME stands for the struct NAME_plugin. */
#define PLUGINS               \
    KNOW(backfill)            \
    KNOW(balanced_allocation) \
    KNOW(default_binder)      \
    KNOW(exclusive_user)      \
    KNOW(image_locality)      \
    KNOW(interpod_affinity)   \
    KNOW(node_affinity)       \
    KNOW(node_name)           \
    KNOW(node_partition)      \
    KNOW(node_ports)          \
    KNOW(node_unschedulable)  \
    KNOW(numa_fit)            \
    KNOW(owner)               \
    KNOW(predicted_order)     \
    KNOW(preemption)          \
    KNOW(priority_sort)       \
    KNOW(reservation)         \
    KNOW(reserved_nodes)      \
    KNOW(resources_fit)       \
    KNOW(scheduling_gates)    \
    KNOW(submission_order)    \
    KNOW(taint_toleration)    \
    KNOW(topology_spread)     \
    KNOW(volume_binding)      \
    KNOW(volume_limits)       \
    KNOW(volume_restrictions) \
    KNOW(volume_zone)

#define KNOW(name) extern const struct plugin name##_plugin;
PLUGINS
#undef KNOW

#define KNOW(name) &name##_plugin,
const struct plugin *const plugin_list[] = {PLUGINS};
#undef KNOW
const unsigned plugin_count = ARRAY_SIZE(plugin_list);

/* {"repels": "owner"}: existing pods' terms affect only their owner's pods. */
static struct json repels_owner = {
    .type = JSON_STRING,
    .count = sizeof(REPELS_OWNER) - 1,
    .text = REPELS_OWNER,
};
static struct json_member interpod_members[] = {{"repels", &repels_owner}};
static const struct json interpod_args = {
    .type = JSON_OBJECT,
    .count = ARRAY_SIZE(interpod_members),
    .members = interpod_members,
};

/* In the order in which they run at every point. */
const struct profile_plugin default_profile[] = {
    {.plugin = &scheduling_gates_plugin},
    {.plugin = &predicted_order_plugin},
    {.plugin = &owner_plugin},
    {.plugin = &node_partition_plugin},
    {.plugin = &exclusive_user_plugin},
    {.plugin = &reservation_plugin},
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
    {.plugin = &interpod_affinity_plugin, .weight = 2, .args = &interpod_args},
    {.plugin = &reserved_nodes_plugin},
    {.plugin = &backfill_plugin},
    {.plugin = &preemption_plugin},
    {.plugin = &balanced_allocation_plugin, .weight = 1},
    {.plugin = &image_locality_plugin, .weight = 1},
    {.plugin = &default_binder_plugin},
};
const unsigned n_default_profile = ARRAY_SIZE(default_profile);

const struct plugin *
plugin_find(const char *name)
{
    for (unsigned i = 0; i < plugin_count; i++)
        if (strcmp(plugin_list[i]->name, name) == 0)
            return plugin_list[i];
    return NULL;
}
