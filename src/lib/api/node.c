/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/node.h"

#include <string.h>

#include "lib/api/kind.h"
#include "lib/api/node_rules.h"
#include "lib/api/object.h"
#include "lib/api/rows.h"

/* clang-format off */
static const struct field taint_fields[] = {
    STRING("key", taint, key, ALWAYS | REQUIRED,
        HELP("The name of the taint.")),
    STRING("value", taint, value, 0,
        HELP("What it is about, if more is to be said.")),
    STRING("effect", taint, effect, ALWAYS | REQUIRED,
        ONE_OF("NoExecute", "NoSchedule", "PreferNoSchedule"),
        HELP("Whether it keeps new pods away, rather does so, or also ends "
             "running ones.")),
    TIME("timeAdded", taint, added_at_us, KEPT),
};
static RECORD(taint, taint, "io.k8s.api.core.v1.Taint");

static const struct field config_map_node_config_source_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED),
    OPAQUE(STRING, "kubeletConfigKey", ALWAYS | REQUIRED),
    OPAQUE(STRING, "namespace", ALWAYS | REQUIRED),
    OPAQUE(STRING, "resourceVersion", 0),
    OPAQUE(STRING, "uid", 0),
};
static OPAQUE_RECORD(config_map_node_config_source,
       "io.k8s.api.core.v1.ConfigMapNodeConfigSource");

static const struct field node_config_source_fields[] = {
    OPAQUE_OBJECT("configMap", config_map_node_config_source, 0),
};
static OPAQUE_RECORD(node_config_source, "io.k8s.api.core.v1.NodeConfigSource");

static const struct field node_spec_fields[] = {
    OPAQUE(STRING, "podCIDR", 0),
    OPAQUE_LIST(STRING, "podCIDRs", 0, SET),
    BOOL("unschedulable", node_spec, unschedulable, 0,
        HELP("Cordoned: no new pods.")),
    OBJECTS("taints", node_spec, taints, taint, 0,
        HELP("What pods must tolerate to run here.")),
    OPAQUE_OBJECT("configSource", node_config_source, 0),
    OPAQUE(STRING, "externalID", 0),
    OPAQUE(STRING, "providerID", 0),
};
static RECORD(node_spec, node_spec, "io.k8s.api.core.v1.NodeSpec");

static const struct field attached_volume_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED),
    OPAQUE(STRING, "devicePath", ALWAYS | REQUIRED),
};
static OPAQUE_RECORD(attached_volume, "io.k8s.api.core.v1.AttachedVolume");

static const struct field node_address_fields[] = {
    STRING("type", node_address, type, ALWAYS | REQUIRED),
    STRING("address", node_address, address, ALWAYS | REQUIRED),
};
static RECORD(node_address, node_address, "io.k8s.api.core.v1.NodeAddress");

static const struct field node_condition_fields[] = {
    STRING("type", node_condition, type, ALWAYS | REQUIRED),
    STRING("status", node_condition, status, ALWAYS | REQUIRED),
    TIME("lastHeartbeatTime", node_condition, last_heartbeat_at_us, ALWAYS),
    TIME("lastTransitionTime", node_condition, last_transition_at_us, ALWAYS),
    STRING("reason", node_condition, reason, 0),
    STRING("message", node_condition, message, 0),
};
static RECORD(node_condition, node_condition,
       "io.k8s.api.core.v1.NodeCondition");

static const struct field node_config_status_fields[] = {
    OPAQUE_OBJECT("active", node_config_source, 0),
    OPAQUE_OBJECT("assigned", node_config_source, 0),
    OPAQUE(STRING, "error", 0),
    OPAQUE_OBJECT("lastKnownGood", node_config_source, 0),
};
static OPAQUE_RECORD(node_config_status, "io.k8s.api.core.v1.NodeConfigStatus");

static const struct field daemon_endpoint_fields[] = {
    OPAQUE(INT, "Port", ALWAYS | REQUIRED),
};
static OPAQUE_RECORD(daemon_endpoint, "io.k8s.api.core.v1.DaemonEndpoint");

static const struct field node_daemon_endpoints_fields[] = {
    OPAQUE_OBJECT("kubeletEndpoint", daemon_endpoint, ALWAYS),
};
static OPAQUE_RECORD(node_daemon_endpoints,
       "io.k8s.api.core.v1.NodeDaemonEndpoints");

static const struct field node_features_fields[] = {
    OPAQUE(BOOL, "supplementalGroupsPolicy", KEPT),
};
static OPAQUE_RECORD(node_features, "io.k8s.api.core.v1.NodeFeatures");

static const struct field node_runtime_handler_features_fields[] = {
    OPAQUE(BOOL, "recursiveReadOnlyMounts", KEPT),
    OPAQUE(BOOL, "userNamespaces", KEPT),
};
static OPAQUE_RECORD(node_runtime_handler_features,
       "io.k8s.api.core.v1.NodeRuntimeHandlerFeatures");

static const struct field node_runtime_handler_fields[] = {
    OPAQUE(STRING, "name", 0),
    OPAQUE_OBJECT("features", node_runtime_handler_features, 0),
};
static OPAQUE_RECORD(node_runtime_handler,
       "io.k8s.api.core.v1.NodeRuntimeHandler");

static const struct field node_info_fields[] = {
    STRING("machineID", node_info, machine_id, ALWAYS | REQUIRED),
    OPAQUE(STRING, "systemUUID", ALWAYS | REQUIRED),
    STRING("bootID", node_info, boot_id, ALWAYS | REQUIRED),
    STRING("kernelVersion", node_info, kernel_version, ALWAYS | REQUIRED),
    STRING("osImage", node_info, os_image, ALWAYS | REQUIRED),
    STRING("containerRuntimeVersion", node_info, container_runtime,
           ALWAYS | REQUIRED),
    STRING("kubeletVersion", node_info, agent_version, ALWAYS | REQUIRED),
    OPAQUE(STRING, "kubeProxyVersion", ALWAYS | REQUIRED),
    OPAQUE(STRING, "operatingSystem", ALWAYS | REQUIRED),
    STRING("architecture", node_info, architecture, ALWAYS | REQUIRED),
};
static RECORD(node_info, node_info, "io.k8s.api.core.v1.NodeSystemInfo");

static const struct field node_image_fields[] = {
    LIST(STRING, "names", node_image, names, 0),
    INT64("sizeBytes", node_image, size_bytes, 0),
};
static RECORD(node_image, node_image, "io.k8s.api.core.v1.ContainerImage");

static const struct field remnant_fields[] = {
    STRING("namespace", remnant, namespace, ALWAYS | REQUIRED),
    STRING("name", remnant, name, ALWAYS | REQUIRED),
    TIME("leftAt", remnant, left_at_us, 0,
        HELP("When the pod was deleted by force.")),
    MAP(QUANTITY, "requests", remnant, requests, 0,
        HELP("What it asked for.")),
    OBJECT("allocation", remnant, allocation, allocation, OPTIONAL,
        HELP("What it holds until its process is gone.")),
};
static RECORD(remnant, remnant, "hpc.kiln.v1.Remnant");

static const struct field node_scratch_fields[] = {
    STRING("path", node_scratch, path, ALWAYS | REQUIRED,
        HELP("The directory that volumes are made in.")),
    QUANTITY("capacity", node_scratch, capacity, ALWAYS | REQUIRED,
        HELP("How large all volumes together may be.")),
    STRING("quota", node_scratch, quota, 0, ONE_OF("none", "project"),
        HELP("Whether the file system keeps a volume to its size.")),
};
static RECORD(node_scratch, node_scratch, "hpc.kiln.v1.Scratch");

static const struct field node_status_fields[] = {
    MAP(QUANTITY, "capacity", node_status, capacity, 0,
        HELP("What the machine has.")),
    MAP(QUANTITY, "allocatable", node_status, allocatable, 0,
        HELP("What of it pods may use.")),
    OPAQUE(STRING, "phase", 0, ONE_OF("Pending", "Running", "Terminated")),
    OBJECTS("conditions", node_status, conditions, node_condition, 0,
        BY_KEY("type"), HELP("What is true of the node, and since when.")),
    OBJECTS("addresses", node_status, addresses, node_address, 0,
        BY_KEY("type")),
    OPAQUE_OBJECT("daemonEndpoints", node_daemon_endpoints, ALWAYS),
    OBJECT("nodeInfo", node_status, info, node_info, ALWAYS,
        HELP("Kernel, boot, system and agent version.")),
    OBJECTS("images", node_status, images, node_image, 0),
    OPAQUE_LIST(STRING, "volumesInUse", 0),
    OPAQUE_OBJECT("config", node_config_status, 0),
    OPAQUE_OBJECT("features", node_features, 0),
    OPAQUE_OBJECTS("runtimeHandlers", node_runtime_handler, 0),
    OPAQUE_OBJECTS("volumesAttached", attached_volume, 0),
    ANY("topology", node_status, topology, KILN,
        HELP("Packages, NUMA nodes, caches, cores and devices.")),
    MAP_ROW(OBJECT, "remnants", AT(node_status, remnants), KILN,
        .of = &remnant_record, .merge = MERGE_BY_KEY,
        HELP("Pods deleted by force, by uid, whose processes may run yet: "
             "what they hold is not free.")),
    OBJECT("scratch", node_status, scratch, node_scratch, OPTIONAL | KILN,
        HELP("Where and how much storage volumes can be made of here.")),
};
static RECORD(node_status, node_status, "io.k8s.api.core.v1.NodeStatus");

static const struct field node_fields[] = {
    TYPE_META,
    METADATA(node),
    OBJECT("spec", node, spec, node_spec, ALWAYS),
    OBJECT("status", node, status, node_status, ALWAYS),
};
RECORD(node, node, "io.k8s.api.core.v1.Node");
/* clang-format on */

const struct node *
node_of(const struct object *object)
{
    return object->view;
}

const struct node_condition *
node_find_condition(const struct node *node, const char *type)
{
    for (unsigned i = 0; i < node->status.conditions.count; i++)
        if (strcmp(node->status.conditions.items[i].type, type) == 0)
            return &node->status.conditions.items[i];
    return NULL;
}

bool
node_is_ready(const struct node *node)
{
    const struct node_condition *ready = node_find_condition(node, "Ready");

    return ready != NULL && strcmp(ready->status, "True") == 0;
}

static const char *
select_unschedulable(const struct object *object, char buffer[64])
{
    (void)buffer;
    return node_of(object)->spec.unschedulable ? "true" : "false";
}

static const struct selectable_field selectable[] = {
    {"spec.unschedulable", select_unschedulable},
};

const struct kind node_kind = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .name = "Node",
    .list_name = "NodeList",
    .plural = "nodes",
    .singular = "node",
    .short_names = (const char *const[]){"no", NULL},
    .flags = KIND_HAS_STATUS | KIND_UNCONDITIONAL_UPDATE,
    .record = &node_record,
    .set_defaults = node_set_defaults,
    .prepare = node_prepare,
    .validate = node_validate,
    .validate_status = node_validate,
    .selectable = selectable,
    .n_selectable = ARRAY_SIZE(selectable),
};

const struct remnant *
node_find_remnant(const struct node *node, const char *pod_uid)
{
    for (unsigned i = 0; i < node->status.remnants.count; i++)
        if (strcmp(node->status.remnants.items[i].key, pod_uid) == 0)
            return &node->status.remnants.items[i].value;
    return NULL;
}

bool
node_is_fenced(const struct node *node)
{
    for (unsigned i = 0; i < node->spec.taints.count; i++)
        if (strcmp(node->spec.taints.items[i].key, TAINT_OUT_OF_SERVICE) == 0)
            return true;
    return false;
}

int64_t
node_scratch_bytes(const struct node *node)
{
    const struct node_scratch *s = node->status.scratch;

    return s != NULL ? quantity_text_value(s->capacity) : 0;
}
