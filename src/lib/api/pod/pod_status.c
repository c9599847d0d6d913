/* SPDX-License-Identifier: Apache-2.0 */
/* pod_status.c - field tables of the pod status */
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_records.h"
#include "lib/api/value/rows.h"

/* clang-format off */
static const struct field container_state_running_fields[] = {
    OPAQUE(TIME, "startedAt", ALWAYS,
        HELP("Since when.")),
};
static OPAQUE_RECORD(container_state_running,
       "io.k8s.api.core.v1.ContainerStateRunning",
       MESSAGE("startedAt"),
       HELP("Set while it runs."));

static const struct field container_state_terminated_fields[] = {
    OPAQUE(INT, "exitCode", ALWAYS | REQUIRED,
        HELP("The exit code; 128 plus the signal if it was killed.")),
    OPAQUE(STRING, "reason", 0,
        HELP("Reason in one word, for programs.")),
    OPAQUE(TIME, "startedAt", ALWAYS,
        HELP("When it began.")),
    OPAQUE(TIME, "finishedAt", ALWAYS,
        HELP("When it ended.")),
    OPAQUE(STRING, "containerID", 0,
        HELP("Its id.")),
    OPAQUE(STRING, "message", 0,
        HELP("Explanation, for people.")),
    OPAQUE(INT, "signal", 0,
        HELP("The signal that killed it.")),
};
static OPAQUE_RECORD(container_state_terminated,
       "io.k8s.api.core.v1.ContainerStateTerminated",
       MESSAGE("exitCode signal reason message startedAt finishedAt "
               "containerID"),
       HELP("Set when it has ended."));

static const struct field container_state_waiting_fields[] = {
    OPAQUE(STRING, "message", 0,
        HELP("Explanation, for people.")),
    OPAQUE(STRING, "reason", 0,
        HELP("Reason in one word, for programs.")),
};
static OPAQUE_RECORD(container_state_waiting,
       "io.k8s.api.core.v1.ContainerStateWaiting",
       MESSAGE("reason message"),
       HELP("Set while it has not started."));

static const struct field container_state_fields[] = {
    OPAQUE_OBJECT("running", container_state_running, 0,
        HELP("Set while it runs.")),
    OPAQUE_OBJECT("terminated", container_state_terminated, 0,
        HELP("Set when it has ended.")),
    OPAQUE_OBJECT("waiting", container_state_waiting, 0,
        HELP("Set while it has not started.")),
};
static OPAQUE_RECORD(container_state, "io.k8s.api.core.v1.ContainerState",
       MESSAGE("waiting running terminated"),
       HELP("The state of a container: one of these."));

static const struct field linux_container_user_fields[] = {
    OPAQUE(INT64, "gid", ALWAYS | REQUIRED,
        HELP("Its group.")),
    OPAQUE(INT64, "uid", ALWAYS | REQUIRED,
        HELP("Its user.")),
    OPAQUE_LIST(INT64, "supplementalGroups", 0,
        HELP("Further groups.")),
};
static OPAQUE_RECORD(linux_container_user,
       "io.k8s.api.core.v1.LinuxContainerUser",
       MESSAGE("uid gid supplementalGroups"),
       HELP("The identity of the process."));

static const struct field container_user_fields[] = {
    OPAQUE_OBJECT("linux", linux_container_user, 0,
        HELP("On Linux.")),
};
static OPAQUE_RECORD(container_user, "io.k8s.api.core.v1.ContainerUser",
       MESSAGE("linux"),
       HELP("The identity of the process."));

static const struct field resource_health_fields[] = {
    OPAQUE(STRING, "resourceID", ALWAYS | REQUIRED,
        HELP("The device.")),
    OPAQUE(STRING, "health", 0,
        HELP("Healthy, Unhealthy or Unknown.")),
};
static OPAQUE_RECORD(resource_health, "io.k8s.api.core.v1.ResourceHealth",
       MESSAGE("resourceID health"),
       HELP("The health of a device."));

static const struct field resource_status_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED,
        HELP("The resource.")),
    OPAQUE_OBJECTS("resources", resource_health, 0, APPLY_BY_KEY("resourceID"),
        HELP("Its devices.")),
};
static OPAQUE_RECORD(resource_status, "io.k8s.api.core.v1.ResourceStatus",
       MESSAGE("name resources"),
       HELP("The health of devices."));

static const struct field volume_mount_status_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED,
        HELP("The name of the volume in the pod.")),
    OPAQUE(STRING, "mountPath", ALWAYS | REQUIRED,
        HELP("Where.")),
    OPAQUE(BOOL, "readOnly", 0,
        HELP("Mounted read-only.")),
    OPAQUE(STRING, "recursiveReadOnly", KEPT,
        HELP("Disabled, IfPossible or Enabled.")),
};
static OPAQUE_RECORD(volume_mount_status,
       "io.k8s.api.core.v1.VolumeMountStatus",
       MESSAGE("name mountPath readOnly recursiveReadOnly"),
       HELP("Where a volume appears."));

static const struct field container_status_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED,
        HELP("Its name.")),
    OPAQUE_OBJECT("state", container_state, ALWAYS,
        HELP("The current state.")),
    OPAQUE_OBJECT("lastState", container_state, ALWAYS,
        HELP("The previous state.")),
    OPAQUE(BOOL, "ready", ALWAYS | REQUIRED,
        HELP("Whether it is ready.")),
    OPAQUE(INT, "restartCount", ALWAYS | REQUIRED,
        HELP("How often it was started again; always 0.")),
    OPAQUE(STRING, "image", ALWAYS | REQUIRED,
        HELP("The image.")),
    OPAQUE(STRING, "imageID", ALWAYS | REQUIRED,
        HELP("The image id; not used.")),
    OPAQUE(STRING, "containerID", 0,
        HELP("Its id.")),
    OPAQUE_MAP(QUANTITY, "allocatedResources", 0,
        HELP("The resources that the node allocated to it.")),
    OPAQUE_OBJECTS("allocatedResourcesStatus", resource_status, 0,
        BY_KEY("name"),
        HELP("The health of its devices.")),
    OPAQUE_OBJECT("resources", resources, 0,
        HELP("Its current resources.")),
    OPAQUE(BOOL, "started", KEPT,
        HELP("Whether it has started.")),
    OPAQUE_OBJECT("user", container_user, 0,
        HELP("The identity of the process.")),
    OPAQUE_OBJECTS("volumeMounts", volume_mount_status, 0, BY_KEY("mountPath"),
        HELP("Where volumes appear.")),
};
static OPAQUE_RECORD(container_status, "io.k8s.api.core.v1.ContainerStatus",
       MESSAGE("name state lastState ready restartCount image imageID "
               "containerID started allocatedResources resources "
               "volumeMounts user allocatedResourcesStatus"),
       HELP("The status of a container."));

static const struct field host_ip_fields[] = {
    OPAQUE(STRING, "ip", ALWAYS | REQUIRED,
        HELP("The address.")),
};
static OPAQUE_RECORD(host_ip, "io.k8s.api.core.v1.HostIP",
       MESSAGE("ip"),
       HELP("An address of the node."));

static const struct field pod_ip_fields[] = {
    OPAQUE(STRING, "ip", ALWAYS | REQUIRED,
        HELP("The address.")),
};
static OPAQUE_RECORD(pod_ip, "io.k8s.api.core.v1.PodIP",
       MESSAGE("ip"),
       HELP("An address of the pod."));

static const struct field pod_condition_fields[] = {
    STRING("type", pod_condition, type, ALWAYS | REQUIRED,
        OFTEN("PodScheduled", "Ready", "Initialized", "ContainersReady"),
        HELP("PodScheduled, Initialized, Ready, DisruptionTarget or the "
             "like.")),
    STRING("status", pod_condition, status, ALWAYS | REQUIRED,
        OFTEN("True", "False", "Unknown"),
        HELP("True, False or Unknown.")),
    TIME("lastProbeTime", pod_condition, last_probe_at_us, ALWAYS,
        HELP("When it was last checked.")),
    TIME("lastTransitionTime", pod_condition, last_transition_at_us, ALWAYS,
        HELP("When the status last changed.")),
    STRING("reason", pod_condition, reason, 0,
        OFTEN("Unschedulable", "SchedulingGated"),
        HELP("Reason in one word, for programs.")),
    STRING("message", pod_condition, message, 0,
        HELP("Explanation, for people.")),
};
static RECORD(pod_condition, pod_condition, "io.k8s.api.core.v1.PodCondition",
       MESSAGE("type status lastProbeTime lastTransitionTime reason message"),
       HELP("A condition of a pod."));

static const struct field pod_resource_claim_status_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED,
        HELP("Its name in the pod.")),
    OPAQUE(STRING, "resourceClaimName", KEPT,
        HELP("The claim.")),
};
static OPAQUE_RECORD(pod_resource_claim_status,
       "io.k8s.api.core.v1.PodResourceClaimStatus",
       MESSAGE("name resourceClaimName"),
       HELP("A claim that was made for a pod."));

static const struct field pod_status_fields[] = {
    STRING("phase", pod_status, phase, 0,
        ONE_OF("Failed", "Pending", "Running", "Succeeded", "Unknown"),
        HELP("Pending, Running, Succeeded, Failed or Unknown.")),
    OBJECTS("conditions", pod_status, conditions, pod_condition, 0,
        BY_KEY("type"), HELP("The conditions of the pod.")),
    OPAQUE(STRING, "hostIP", 0,
        HELP("The address of its node.")),
    STRING("nominatedNodeName", pod_status, nominated_node_name, 0,
        HELP("The node where other pods are being preempted for it.")),
    OPAQUE(STRING, "podIP", 0,
        HELP("Its address; that of its node.")),
    OPAQUE_OBJECTS("podIPs", pod_ip, 0, BY_KEY("ip"),
        HELP("Its addresses.")),
    TIME("startTime", pod_status, start_at_us, KEPT,
        HELP("When the agent accepted the pod.")),
    OBJECTS("containerStatuses", pod_status, container_statuses,
        container_status, TREE,
        HELP("The status of its container.")),
    STRING("qosClass", pod_status, qos_class, 0,
        ONE_OF("BestEffort", "Burstable", "Guaranteed"),
        HELP("Guaranteed, Burstable or BestEffort, by its requests and "
             "limits.")),
    OPAQUE_OBJECTS("ephemeralContainerStatuses", container_status, 0,
        HELP("Not used.")),
    OPAQUE_OBJECTS("hostIPs", host_ip, 0, PATCH_BY_KEY("ip"),
        HELP("Addresses of its node.")),
    OPAQUE_OBJECTS("initContainerStatuses", container_status, 0,
        HELP("Not used.")),
    STRING("message", pod_status, message, 0,
        HELP("Explanation, for people.")),
    STRING("reason", pod_status, reason, 0, HELP("Reason in one word, for "
                                                 "programs.")),
    OPAQUE(STRING, "resize", 0,
        HELP("The state of a change of resources.")),
    OPAQUE_OBJECTS("resourceClaimStatuses", pod_resource_claim_status,
        RETAIN_KEYS, BY_KEY("name"),
        HELP("Claims that were made for it.")),
    OBJECT("allocation", pod_status, allocation, allocation, OPTIONAL | KILN,
        HELP("The exact cores, memory nodes and devices, set by the binding.")),
    OBJECT("observed", pod_status, observed, observed, OPTIONAL | KILN,
        HELP("What the agent observed of the process.")),
    OBJECT("usage", pod_status, usage, pod_usage, OPTIONAL | KILN,
        HELP("The resources that were used, so far or in total.")),
    OBJECT("cause", pod_status, cause, pod_cause, OPTIONAL | KILN,
        HELP("The main reason why it waits or was ended.")),
    INT64("frozenMicroseconds", pod_status, frozen_us, KILN,
        HELP("How long it was suspended before (kctl suspend); this is not "
             "counted against its time limit.")),
    OBJECT("ending", pod_status, ending, pod_ending, OPTIONAL | KILN,
        HELP("Its agent ends it, and it has not ended yet: it is over its time limit.")),
};
RECORD(pod_status, pod_status, "io.k8s.api.core.v1.PodStatus",
       MESSAGE("phase conditions message reason hostIP podIP startTime "
               "containerStatuses qosClass initContainerStatuses "
               "nominatedNodeName podIPs ephemeralContainerStatuses resize "
               "resourceClaimStatuses hostIPs"),
       HELP("The status of a pod."));
/* clang-format on */
