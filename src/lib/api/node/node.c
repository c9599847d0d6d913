/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/node/node.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/node/node_rules.h"
#include "lib/api/node/node_tables.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/rights.h"
#include "lib/api/value/rows.h"

/* clang-format off */
static const struct field taint_fields[] = {
    STRING("key", taint, key, ALWAYS | REQUIRED,
        HELP("The name of the taint.")),
    STRING("value", taint, value, 0,
        HELP("The value of the taint.")),
    STRING("effect", taint, effect, ALWAYS | REQUIRED,
        ONE_OF("NoExecute", "NoSchedule", "PreferNoSchedule"),
        HELP("NoSchedule keeps new pods away, PreferNoSchedule does so if "
             "possible, NoExecute also ends running ones.")),
    TIME("timeAdded", taint, added_at_us, KEPT,
        HELP("Since when.")),
};
static RECORD(taint, taint, "io.k8s.api.core.v1.Taint",
       MESSAGE("key value effect timeAdded"),
       HELP("Keeps pods away that do not tolerate it."));

static const struct field config_map_node_config_source_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED,
        HELP("Its name.")),
    OPAQUE(STRING, "kubeletConfigKey", ALWAYS | REQUIRED,
        HELP("The key in it.")),
    OPAQUE(STRING, "namespace", ALWAYS | REQUIRED,
        HELP("The namespace it is in.")),
    OPAQUE(STRING, "resourceVersion", 0,
        HELP("The required revision.")),
    OPAQUE(STRING, "uid", 0,
        HELP("The required uid of the object.")),
};
static OPAQUE_RECORD(config_map_node_config_source,
       "io.k8s.api.core.v1.ConfigMapNodeConfigSource",
       MESSAGE("namespace name uid resourceVersion kubeletConfigKey"),
       HELP("A ConfigMap that a kubelet once took its configuration from."));

static const struct field node_config_source_fields[] = {
    OPAQUE_OBJECT("configMap", config_map_node_config_source, 0,
        HELP("A ConfigMap.")),
};
static OPAQUE_RECORD(node_config_source, "io.k8s.api.core.v1.NodeConfigSource",
       MESSAGE("2 configMap"),
       HELP("Where a kubelet once took its configuration from."));

static const struct field node_spec_fields[] = {
    OPAQUE(STRING, "podCIDR", 0,
        HELP("Addresses of its pods; not used here.")),
    OPAQUE_LIST(STRING, "podCIDRs", 0, SET,
        HELP("Addresses of its pods; not used here.")),
    BOOL("unschedulable", node_spec, unschedulable, 0,
        HELP("Cordoned: no new pods.")),
    OBJECTS("taints", node_spec, taints, taint, 0,
        HELP("What pods must tolerate to run here.")),
    OPAQUE_OBJECT("configSource", node_config_source, 0,
        HELP("No longer used.")),
    OPAQUE(STRING, "externalID", 0,
        HELP("No longer used.")),
    OPAQUE(STRING, "providerID", 0,
        HELP("Its name at the provider of the machine.")),
};
static RECORD(node_spec, node_spec, "io.k8s.api.core.v1.NodeSpec",
       MESSAGE("podCIDR externalID providerID unschedulable taints "
               "configSource podCIDRs"),
       HELP("The desired state of a node."));

static const struct field attached_volume_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED,
        HELP("Its name.")),
    OPAQUE(STRING, "devicePath", ALWAYS | REQUIRED,
        HELP("Its device.")),
};
static OPAQUE_RECORD(attached_volume, "io.k8s.api.core.v1.AttachedVolume",
       MESSAGE("name devicePath"),
       HELP("A volume that is attached to the node."));

static const struct field node_address_fields[] = {
    STRING("type", node_address, type, ALWAYS | REQUIRED,
        HELP("Hostname, InternalIP, ExternalIP or the like.")),
    STRING("address", node_address, address, ALWAYS | REQUIRED,
        HELP("The address.")),
};
static RECORD(node_address, node_address, "io.k8s.api.core.v1.NodeAddress",
       MESSAGE("type address"),
       HELP("An address of a node."));

static const struct field node_condition_fields[] = {
    STRING("type", node_condition, type, ALWAYS | REQUIRED,
        HELP("Ready, MemoryPressure or the like.")),
    STRING("status", node_condition, status, ALWAYS | REQUIRED,
        HELP("True, False or Unknown.")),
    TIME("lastHeartbeatTime", node_condition, last_heartbeat_at_us, ALWAYS,
        HELP("When the agent last reported.")),
    TIME("lastTransitionTime", node_condition, last_transition_at_us, ALWAYS,
        HELP("When the status last changed.")),
    STRING("reason", node_condition, reason, 0,
        HELP("Reason in one word, for programs.")),
    STRING("message", node_condition, message, 0,
        HELP("Explanation, for people.")),
};
static RECORD(node_condition, node_condition,
       "io.k8s.api.core.v1.NodeCondition",
       MESSAGE("type status lastHeartbeatTime lastTransitionTime reason "
               "message"),
       HELP("A condition of a node."));

static const struct field node_config_status_fields[] = {
    OPAQUE_OBJECT("active", node_config_source, 0,
        HELP("The configuration in use.")),
    OPAQUE_OBJECT("assigned", node_config_source, 0,
        HELP("The configuration to use next.")),
    OPAQUE(STRING, "error", 0,
        HELP("What is wrong with it.")),
    OPAQUE_OBJECT("lastKnownGood", node_config_source, 0,
        HELP("The configuration to use if the assigned one fails.")),
};
static OPAQUE_RECORD(node_config_status, "io.k8s.api.core.v1.NodeConfigStatus",
       MESSAGE("assigned active lastKnownGood error"),
       HELP("Which configuration a kubelet has."));

static const struct field daemon_endpoint_fields[] = {
    OPAQUE(INT, "Port", ALWAYS | REQUIRED,
        HELP("The port.")),
};
static OPAQUE_RECORD(daemon_endpoint, "io.k8s.api.core.v1.DaemonEndpoint",
       MESSAGE("Port"),
       HELP("Where a daemon listens."));

static const struct field node_daemon_endpoints_fields[] = {
    OPAQUE_OBJECT("kubeletEndpoint", daemon_endpoint, ALWAYS,
        HELP("Where the kubelet, or an agent, listens; 0: nowhere.")),
    OPAQUE(STRING, "kilnStepSocket", KILN,
        HELP("The same on the node itself: the path of a socket.")),
};
static OPAQUE_RECORD(node_daemon_endpoints,
       "io.k8s.api.core.v1.NodeDaemonEndpoints",
       MESSAGE("kubeletEndpoint"),
       HELP("Daemons of a node."));

static const struct field node_features_fields[] = {
    OPAQUE(BOOL, "supplementalGroupsPolicy", KEPT,
        HELP("Whether it supports that field.")),
};
static OPAQUE_RECORD(node_features, "io.k8s.api.core.v1.NodeFeatures",
       MESSAGE("supplementalGroupsPolicy"),
       HELP("What a node's runtime can do."));

static const struct field node_runtime_handler_features_fields[] = {
    OPAQUE(BOOL, "recursiveReadOnlyMounts", KEPT,
        HELP("Recursive read-only mounts.")),
    OPAQUE(BOOL, "userNamespaces", KEPT,
        HELP("User namespaces.")),
};
static OPAQUE_RECORD(node_runtime_handler_features,
       "io.k8s.api.core.v1.NodeRuntimeHandlerFeatures",
       MESSAGE("recursiveReadOnlyMounts userNamespaces"),
       HELP("What a runtime can do."));

static const struct field node_runtime_handler_fields[] = {
    OPAQUE(STRING, "name", 0,
        HELP("Its name.")),
    OPAQUE_OBJECT("features", node_runtime_handler_features, 0,
        HELP("What it can do.")),
};
static OPAQUE_RECORD(node_runtime_handler,
       "io.k8s.api.core.v1.NodeRuntimeHandler",
       MESSAGE("name features"),
       HELP("A runtime of the node."));

static const struct field node_info_fields[] = {
    STRING("machineID", node_info, machine_id, ALWAYS | REQUIRED,
        HELP("The id of the installation.")),
    OPAQUE(STRING, "systemUUID", ALWAYS | REQUIRED,
        HELP("The id of the hardware.")),
    STRING("bootID", node_info, boot_id, ALWAYS | REQUIRED,
        HELP("Changes with every start of the kernel.")),
    STRING("kernelVersion", node_info, kernel_version, ALWAYS | REQUIRED,
        HELP("Of the kernel.")),
    STRING("osImage", node_info, os_image, ALWAYS | REQUIRED,
        HELP("The distribution.")),
    STRING("containerRuntimeVersion", node_info, container_runtime,
           ALWAYS | REQUIRED,
        HELP("What starts processes.")),
    STRING("kubeletVersion", node_info, agent_version, ALWAYS | REQUIRED,
        HELP("Of the agent.")),
    OPAQUE(STRING, "kubeProxyVersion", ALWAYS | REQUIRED,
        HELP("Not used here.")),
    OPAQUE(STRING, "operatingSystem", ALWAYS | REQUIRED,
        HELP("linux.")),
    STRING("architecture", node_info, architecture, ALWAYS | REQUIRED,
        HELP("Such as amd64.")),
};
static RECORD(node_info, node_info, "io.k8s.api.core.v1.NodeSystemInfo",
       MESSAGE("machineID systemUUID bootID kernelVersion osImage "
               "containerRuntimeVersion kubeletVersion kubeProxyVersion "
               "operatingSystem architecture"),
       HELP("The identity and the software of the machine."));

static const struct field node_image_fields[] = {
    LIST(STRING, "names", node_image, names, 0,
        HELP("What it is called.")),
    INT64("sizeBytes", node_image, size_bytes, 0,
        HELP("How large it is.")),
};
static RECORD(node_image, node_image, "io.k8s.api.core.v1.ContainerImage",
       MESSAGE("names sizeBytes"),
       HELP("An image that is on the node."));

static const struct field remnant_fields[] = {
    STRING("namespace", remnant, namespace, ALWAYS | REQUIRED,
        HELP("Of the pod.")),
    STRING("name", remnant, name, ALWAYS | REQUIRED,
        HELP("Of the pod.")),
    TIME("leftAt", remnant, left_at_us, 0,
        HELP("When the pod was deleted by force.")),
    MAP(QUANTITY, "requests", remnant, requests, 0,
        HELP("What it asked for.")),
    OBJECT("allocation", remnant, allocation, allocation, OPTIONAL,
        HELP("What it holds until its process is gone.")),
};
static RECORD(remnant, remnant, "hpc.kiln.v1.Remnant",
       HELP("What a pod that was deleted by force still holds."));

static const struct field node_scratch_fields[] = {
    STRING("path", node_scratch, path, ALWAYS | REQUIRED,
        HELP("The directory that volumes are made in.")),
    QUANTITY("capacity", node_scratch, capacity, ALWAYS | REQUIRED,
        HELP("The maximum size of all volumes together.")),
    STRING("quota", node_scratch, quota, 0, ONE_OF("none", "project"),
        HELP("Whether the file system keeps a volume to its size.")),
};
static RECORD(node_scratch, node_scratch, "hpc.kiln.v1.Scratch",
       HELP("Scratch disk of the node for jobs."));

static const struct field node_status_fields[] = {
    MAP(QUANTITY, "capacity", node_status, capacity, 0,
        HELP("What the machine has.")),
    MAP(QUANTITY, "allocatable", node_status, allocatable, 0,
        HELP("The part of it that pods may use.")),
    OPAQUE(STRING, "phase", 0, ONE_OF("Pending", "Running", "Terminated"),
        HELP("No longer used.")),
    OBJECTS("conditions", node_status, conditions, node_condition, 0,
        BY_KEY("type"), HELP("The conditions of the node.")),
    OBJECTS("addresses", node_status, addresses, node_address, 0,
        BY_KEY("type"),
        HELP("Where it can be reached.")),
    OPAQUE_OBJECT("daemonEndpoints", node_daemon_endpoints, ALWAYS,
        HELP("Where its daemons listen.")),
    OBJECT("nodeInfo", node_status, info, node_info, ALWAYS,
        HELP("Kernel, boot, system and agent version.")),
    OBJECTS("images", node_status, images, node_image, 0,
        HELP("Images that are on it.")),
    OPAQUE_LIST(STRING, "volumesInUse", 0,
        HELP("Volumes in use.")),
    OPAQUE_OBJECT("config", node_config_status, 0,
        HELP("Which configuration it has.")),
    OPAQUE_OBJECT("features", node_features, 0,
        HELP("What its runtime can do.")),
    OPAQUE_OBJECTS("runtimeHandlers", node_runtime_handler, 0,
        HELP("Its runtimes.")),
    OPAQUE_OBJECTS("volumesAttached", attached_volume, 0,
        HELP("Volumes that are attached.")),
    ANY("topology", node_status, topology, KILN,
        HELP("The machine, in a versioned form: CPUs (reserved, isolated, "
             "offline), packages, dies, caches, cores, NUMA nodes with their "
             "memory, devices.")),
    MAP_ROW(OBJECT, "remnants", AT(node_status, remnants), KILN,
        .of = &remnant_record, .merge = MERGE_BY_KEY,
        HELP("Pods deleted by force, by uid, whose processes may still run: "
             "their resources are not free.")),
    OBJECT("scratch", node_status, scratch, node_scratch, OPTIONAL | KILN,
        HELP("Where volumes can be created here, and how much storage they "
             "can use.")),
    LIST(STRING, "agentFeatures", node_status, agent_features, KILN,
        HELP("Features of its agent that the previous release does not have.")),
};
static RECORD(node_status, node_status, "io.k8s.api.core.v1.NodeStatus",
       MESSAGE("capacity allocatable phase conditions addresses "
               "daemonEndpoints nodeInfo images volumesInUse volumesAttached "
               "config runtimeHandlers features"),
       HELP("The state of a node, and its resources."));

static const struct field node_fields[] = {
    TYPE_META,
    METADATA(node),
    OBJECT("spec", node, spec, node_spec, ALWAYS,
        HELP("Desired state.")),
    OBJECT("status", node, status, node_status, ALWAYS,
        HELP("Current state; set only by the system.")),
};
RECORD(node, node, "io.k8s.api.core.v1.Node",
       MESSAGE("metadata spec status"),
       HELP("A machine that runs pods; its agent registers it and reports "
            "its state."));
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

static const char *
name_value(const struct object *object, char buffer[64])
{
    (void)buffer;
    return object->meta->name;
}

static const char *
release_value(const struct object *object, char buffer[64])
{
    const struct node *node = node_of(object);

    (void)buffer;
    return node_has_feature(node, NODE_FEATURE_CHANGED_LIMIT)
                   && node_has_feature(node, NODE_FEATURE_FREEZE)
               ? NULL
               : NODE_FORMER;
}

static const struct kind_index indexes[] = {
    [NODE_BY_NAME] = {"metadata.name", name_value},
    [NODE_BY_RELEASE] = {NULL, release_value},
};

/* Operators cordon, drain, taint and label. A user may start a rootless agent
 * if the site allows it, which admission checks. The root user of a machine
 * enrols it before its node has a secret.
 */
/* clang-format off */
static const struct right rights[] = {
    {BY_OPERATOR, MAY_UPDATE, SUBRESOURCE_NONE, SCOPE_ALL},
    {BY_USER, MAY_CREATE, SUBRESOURCE_NONE, SCOPE_ALL},
    {BY_USER, MAY_CREATE, SUBRESOURCE_ENROL, SCOPE_ALL},
    {BY_USER, MAY_CREATE, SUBRESOURCE_MARK, SCOPE_ALL},
    {BY_AGENT, MAY_READ | MAY_CREATE, SUBRESOURCE_NONE, SCOPE_NODE},
    {BY_AGENT, MAY_READ | MAY_UPDATE, SUBRESOURCE_STATUS, SCOPE_NODE},
    {BY_AGENT, MAY_READ | MAY_WRITE, SUBRESOURCE_REQUESTS, SCOPE_NODE},
    {BY_AGENT, MAY_CREATE, SUBRESOURCE_STEPS, SCOPE_NODE},
    {BY_AGENT, MAY_CREATE, SUBRESOURCE_USAGE, SCOPE_NODE},
    {BY_AGENT, MAY_CREATE, SUBRESOURCE_MARK, SCOPE_NODE},
    {BY_ENROLLING, MAY_GET | MAY_CREATE, SUBRESOURCE_NONE, SCOPE_ALL},
    {BY_ENROLLING, MAY_CREATE, SUBRESOURCE_ENROL, SCOPE_ALL},
    {BY_ENROLLING, MAY_CREATE, SUBRESOURCE_MARK, SCOPE_ALL},
};
/* clang-format on */

static const struct kind_subresource subresources[] = {
    {SUBRESOURCE_APPROVE, MAY_CREATE | KILN_ONLY},
    {SUBRESOURCE_ENROL, MAY_CREATE | KILN_ONLY},
    {SUBRESOURCE_MARK, MAY_CREATE | KILN_ONLY},
    {SUBRESOURCE_REQUESTS, MAY_GET | MAY_CREATE | KILN_ONLY},
    {SUBRESOURCE_RESET, MAY_CREATE | KILN_ONLY},
    {SUBRESOURCE_STEPS, MAY_CREATE | KILN_ONLY},
    {SUBRESOURCE_USAGE, MAY_CREATE | KILN_ONLY},
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
    .flags = KIND_HAS_STATUS | KIND_UNCONDITIONAL_UPDATE | KIND_DELETED_TOGETHER,
    .record = &node_record,
    .set_defaults = node_set_defaults,
    .prepare = node_prepare,
    .validate = node_validate,
    .validate_status = node_validate,
    .selectable = selectable,
    .n_selectable = ARRAY_SIZE(selectable),
    .table = &node_table,
    .kiln_table = &node_kiln_table,
    .indexes = indexes,
    .n_indexes = ARRAY_SIZE(indexes),
    KIND_RIGHTS(rights),
    KIND_SUBRESOURCES(subresources),
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
node_find_owner(const struct node *node, uid_t *ret_uid)
{
    const char *text = string_map_find(&node->meta.annotations, ANNOTATION_UID);
    char *end;
    unsigned long uid;

    if (text == NULL || text[0] < '0' || text[0] > '9')
        return false;
    uid = strtoul(text, &end, 10);
    *ret_uid = (uid_t)uid;
    return *end == '\0' && uid < (uid_t)-1;
}

bool
node_is_fenced(const struct node *node)
{
    for (unsigned i = 0; i < node->spec.taints.count; i++)
        if (strcmp(node->spec.taints.items[i].key, TAINT_OUT_OF_SERVICE) == 0)
            return true;
    return false;
}

bool
node_has_feature(const struct node *node, const char *name)
{
    for (unsigned i = 0; i < node->status.agent_features.count; i++)
        if (strcmp(node->status.agent_features.items[i], name) == 0)
            return true;
    return false;
}

int64_t
node_scratch_bytes(const struct node *node)
{
    const struct node_scratch *s = node->status.scratch;

    return s != NULL ? quantity_text_value(s->capacity) : 0;
}
