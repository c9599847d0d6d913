/* SPDX-License-Identifier: Apache-2.0 */
/* pod_status.c - how a pod went */
#include "lib/api/pod.h"
#include "lib/api/rows.h"

/* clang-format off */
static const struct field container_state_running_fields[] = {
    OPAQUE(TIME, "startedAt", ALWAYS),
};
static OPAQUE_RECORD(container_state_running,
       "io.k8s.api.core.v1.ContainerStateRunning");

static const struct field container_state_terminated_fields[] = {
    OPAQUE(INT, "exitCode", ALWAYS | REQUIRED),
    OPAQUE(STRING, "reason", 0),
    OPAQUE(TIME, "startedAt", ALWAYS),
    OPAQUE(TIME, "finishedAt", ALWAYS),
    OPAQUE(STRING, "containerID", 0),
    OPAQUE(STRING, "message", 0),
    OPAQUE(INT, "signal", 0),
};
static OPAQUE_RECORD(container_state_terminated,
       "io.k8s.api.core.v1.ContainerStateTerminated");

static const struct field container_state_waiting_fields[] = {
    OPAQUE(STRING, "message", 0),
    OPAQUE(STRING, "reason", 0),
};
static OPAQUE_RECORD(container_state_waiting,
       "io.k8s.api.core.v1.ContainerStateWaiting");

static const struct field container_state_fields[] = {
    OPAQUE_OBJECT("running", container_state_running, 0),
    OPAQUE_OBJECT("terminated", container_state_terminated, 0),
    OPAQUE_OBJECT("waiting", container_state_waiting, 0),
};
static OPAQUE_RECORD(container_state, "io.k8s.api.core.v1.ContainerState");

static const struct field linux_container_user_fields[] = {
    OPAQUE(INT64, "gid", ALWAYS | REQUIRED),
    OPAQUE(INT64, "uid", ALWAYS | REQUIRED),
    OPAQUE_LIST(INT64, "supplementalGroups", 0),
};
static OPAQUE_RECORD(linux_container_user,
       "io.k8s.api.core.v1.LinuxContainerUser");

static const struct field container_user_fields[] = {
    OPAQUE_OBJECT("linux", linux_container_user, 0),
};
static OPAQUE_RECORD(container_user, "io.k8s.api.core.v1.ContainerUser");

static const struct field resource_health_fields[] = {
    OPAQUE(STRING, "resourceID", ALWAYS | REQUIRED),
    OPAQUE(STRING, "health", 0),
};
static OPAQUE_RECORD(resource_health, "io.k8s.api.core.v1.ResourceHealth");

static const struct field resource_status_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED),
    OPAQUE_OBJECTS("resources", resource_health, 0, APPLY_BY_KEY("resourceID")),
};
static OPAQUE_RECORD(resource_status, "io.k8s.api.core.v1.ResourceStatus");

static const struct field volume_mount_status_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED),
    OPAQUE(STRING, "mountPath", ALWAYS | REQUIRED),
    OPAQUE(BOOL, "readOnly", 0),
    OPAQUE(STRING, "recursiveReadOnly", KEPT),
};
static OPAQUE_RECORD(volume_mount_status,
       "io.k8s.api.core.v1.VolumeMountStatus");

static const struct field container_status_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED),
    OPAQUE_OBJECT("state", container_state, ALWAYS),
    OPAQUE_OBJECT("lastState", container_state, ALWAYS),
    OPAQUE(BOOL, "ready", ALWAYS | REQUIRED),
    OPAQUE(INT, "restartCount", ALWAYS | REQUIRED),
    OPAQUE(STRING, "image", ALWAYS | REQUIRED),
    OPAQUE(STRING, "imageID", ALWAYS | REQUIRED),
    OPAQUE(STRING, "containerID", 0),
    OPAQUE_MAP(QUANTITY, "allocatedResources", 0),
    OPAQUE_OBJECTS("allocatedResourcesStatus", resource_status, 0,
        BY_KEY("name")),
    OPAQUE_OBJECT("resources", resources, 0),
    OPAQUE(BOOL, "started", KEPT),
    OPAQUE_OBJECT("user", container_user, 0),
    OPAQUE_OBJECTS("volumeMounts", volume_mount_status, 0, BY_KEY("mountPath")),
};
static OPAQUE_RECORD(container_status, "io.k8s.api.core.v1.ContainerStatus");

static const struct field host_ip_fields[] = {
    OPAQUE(STRING, "ip", ALWAYS | REQUIRED),
};
static OPAQUE_RECORD(host_ip, "io.k8s.api.core.v1.HostIP");

static const struct field pod_ip_fields[] = {
    OPAQUE(STRING, "ip", ALWAYS | REQUIRED),
};
static OPAQUE_RECORD(pod_ip, "io.k8s.api.core.v1.PodIP");

static const struct field pod_condition_fields[] = {
    STRING("type", pod_condition, type, ALWAYS | REQUIRED,
        OFTEN("PodScheduled", "Ready", "Initialized", "ContainersReady")),
    STRING("status", pod_condition, status, ALWAYS | REQUIRED,
        OFTEN("True", "False", "Unknown")),
    TIME("lastProbeTime", pod_condition, last_probe_at_us, ALWAYS),
    TIME("lastTransitionTime", pod_condition, last_transition_at_us, ALWAYS),
    STRING("reason", pod_condition, reason, 0,
        OFTEN("Unschedulable", "SchedulingGated")),
    STRING("message", pod_condition, message, 0),
};
static RECORD(pod_condition, pod_condition, "io.k8s.api.core.v1.PodCondition");

static const struct field pod_resource_claim_status_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED),
    OPAQUE(STRING, "resourceClaimName", KEPT),
};
static OPAQUE_RECORD(pod_resource_claim_status,
       "io.k8s.api.core.v1.PodResourceClaimStatus");

static const struct field pod_status_fields[] = {
    STRING("phase", pod_status, phase, 0,
        ONE_OF("Failed", "Pending", "Running", "Succeeded", "Unknown"),
        HELP("Pending, Running, Succeeded, Failed or Unknown.")),
    OBJECTS("conditions", pod_status, conditions, pod_condition, 0,
        BY_KEY("type"), HELP("What is true of the pod, and since when.")),
    OPAQUE(STRING, "hostIP", 0),
    STRING("nominatedNodeName", pod_status, nominated_node_name, 0,
        HELP("The node where others are being moved out of its way.")),
    OPAQUE(STRING, "podIP", 0),
    OPAQUE_OBJECTS("podIPs", pod_ip, 0, BY_KEY("ip")),
    TIME("startTime", pod_status, start_at_us, KEPT,
        HELP("When the agent took the pod.")),
    OBJECTS("containerStatuses", pod_status, container_statuses,
        container_status, TREE),
    STRING("qosClass", pod_status, qos_class, 0,
        ONE_OF("BestEffort", "Burstable", "Guaranteed")),
    OPAQUE_OBJECTS("ephemeralContainerStatuses", container_status, 0),
    OPAQUE_OBJECTS("hostIPs", host_ip, 0, PATCH_BY_KEY("ip")),
    OPAQUE_OBJECTS("initContainerStatuses", container_status, 0),
    STRING("message", pod_status, message, 0,
        HELP("A sentence on why it is so.")),
    STRING("reason", pod_status, reason, 0, HELP("One word on why it is so.")),
    OPAQUE(STRING, "resize", 0),
    OPAQUE_OBJECTS("resourceClaimStatuses", pod_resource_claim_status,
        RETAIN_KEYS, BY_KEY("name")),
    OBJECT("allocation", pod_status, allocation, allocation, OPTIONAL | KILN,
        HELP("The exact cores, memory nodes and devices, set by the binding.")),
    OBJECT("observed", pod_status, observed, observed, OPTIONAL | KILN,
        HELP("What the agent found the process to have.")),
    OBJECT("usage", pod_status, usage, pod_usage, OPTIONAL | KILN,
        HELP("What the process used, so far or in all.")),
};
RECORD(pod_status, pod_status, "io.k8s.api.core.v1.PodStatus");
/* clang-format on */
