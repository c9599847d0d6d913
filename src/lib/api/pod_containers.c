/* SPDX-License-Identifier: Apache-2.0 */
/* pod_containers.c - what a pod runs */
#include "lib/api/pod.h"
#include "lib/api/rows.h"

/* clang-format off */
static const struct field config_map_env_source_fields[] = {
    OPAQUE(STRING, "name", 0),
    OPAQUE(BOOL, "optional", KEPT),
};
static OPAQUE_RECORD(config_map_env_source,
       "io.k8s.api.core.v1.ConfigMapEnvSource");

static const struct field config_map_key_selector_fields[] = {
    OPAQUE(STRING, "name", 0),
    OPAQUE(STRING, "key", ALWAYS | REQUIRED),
    OPAQUE(BOOL, "optional", KEPT),
};
static OPAQUE_RECORD(config_map_key_selector,
       "io.k8s.api.core.v1.ConfigMapKeySelector", ATOMIC);

static const struct field secret_env_source_fields[] = {
    OPAQUE(STRING, "name", 0),
    OPAQUE(BOOL, "optional", KEPT),
};
static OPAQUE_RECORD(secret_env_source, "io.k8s.api.core.v1.SecretEnvSource");

static const struct field secret_key_selector_fields[] = {
    OPAQUE(STRING, "name", 0),
    OPAQUE(STRING, "key", ALWAYS | REQUIRED),
    OPAQUE(BOOL, "optional", KEPT),
};
static OPAQUE_RECORD(secret_key_selector,
       "io.k8s.api.core.v1.SecretKeySelector", ATOMIC);

static const struct field env_from_source_fields[] = {
    OPAQUE_OBJECT("configMapRef", config_map_env_source, 0),
    OPAQUE(STRING, "prefix", 0),
    OPAQUE_OBJECT("secretRef", secret_env_source, 0),
};
static OPAQUE_RECORD(env_from_source, "io.k8s.api.core.v1.EnvFromSource");

static const struct field env_var_source_fields[] = {
    OPAQUE_OBJECT("configMapKeyRef", config_map_key_selector, 0),
    OPAQUE_OBJECT("fieldRef", object_field_selector, 0),
    OPAQUE_OBJECT("resourceFieldRef", resource_field_selector, 0),
    OPAQUE_OBJECT("secretKeyRef", secret_key_selector, 0),
};
static OPAQUE_RECORD(env_var_source, "io.k8s.api.core.v1.EnvVarSource");

static const struct field env_variable_fields[] = {
    STRING("name", env_variable, name, ALWAYS | REQUIRED),
    STRING("value", env_variable, value, 0),
    OPAQUE_OBJECT("valueFrom", env_var_source, 0),
};
static RECORD(env_variable, env_variable, "io.k8s.api.core.v1.EnvVar");

static const struct field container_port_fields[] = {
    STRING("name", container_port, name, 0),
    INT("hostPort", container_port, host_port, 0),
    INT("containerPort", container_port, container_port, ALWAYS | REQUIRED),
    STRING("protocol", container_port, protocol, 0,
        ONE_OF("SCTP", "TCP", "UDP"), AS_ABSENT("TCP")),
    STRING("hostIP", container_port, host_ip, 0),
};
static RECORD(container_port, container_port,
       "io.k8s.api.core.v1.ContainerPort");

static const struct field container_resize_policy_fields[] = {
    OPAQUE(STRING, "resourceName", ALWAYS | REQUIRED),
    OPAQUE(STRING, "restartPolicy", ALWAYS | REQUIRED),
};
static OPAQUE_RECORD(container_resize_policy,
       "io.k8s.api.core.v1.ContainerResizePolicy");

static const struct field resource_claim_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED),
    OPAQUE(STRING, "request", 0),
};
static OPAQUE_RECORD(resource_claim, "io.k8s.api.core.v1.ResourceClaim");

static const struct field resources_fields[] = {
    MAP(QUANTITY, "limits", resources, limits, 0, OFTEN("cpu", "memory"),
        HELP("What cannot be exceeded.")),
    MAP(QUANTITY, "requests", resources, requests, 0, OFTEN("cpu", "memory"),
        HELP("What is set aside: cpu counts hardware threads.")),
    OPAQUE_OBJECTS("claims", resource_claim, 0, APPLY_BY_KEY("name")),
};
RECORD(resources, resources, "io.k8s.api.core.v1.ResourceRequirements");

static const struct field volume_device_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED),
    OPAQUE(STRING, "devicePath", ALWAYS | REQUIRED),
};
static OPAQUE_RECORD(volume_device, "io.k8s.api.core.v1.VolumeDevice");

static const struct field volume_mount_fields[] = {
    STRING("name", volume_mount, name, ALWAYS | REQUIRED),
    STRING("mountPath", volume_mount, mount_path, ALWAYS | REQUIRED),
    OPAQUE(STRING, "mountPropagation", KEPT,
        ONE_OF("Bidirectional", "HostToContainer", "None")),
    BOOL("readOnly", volume_mount, read_only, 0),
    OPAQUE(STRING, "recursiveReadOnly", KEPT),
    OPAQUE(STRING, "subPath", 0),
    OPAQUE(STRING, "subPathExpr", 0),
};
static RECORD(volume_mount, volume_mount, "io.k8s.api.core.v1.VolumeMount");

static const struct field container_fields[] = {
    STRING("name", container, name, ALWAYS | REQUIRED, OFTEN("main"),
        HELP("Unique in the pod.")),
    STRING("image", container, image, 0, OFTEN("host"),
        HELP("Only \"host\" runs: processes see the node itself.")),
    LIST(STRING, "command", container, command, 0,
        HELP("The program and its first arguments.")),
    LIST(STRING, "args", container, args, 0,
        HELP("Arguments, of the command or of the job script.")),
    OBJECTS("ports", container, ports, container_port, 0,
        BY_KEYS("containerPort,protocol", "containerPort")),
    OBJECTS("env", container, env, env_variable, 0, BY_KEY("name"),
        HELP("Environment variables, over those of the job.")),
    OBJECT("resources", container, resources, resources, ALWAYS,
        HELP("What the process needs and the most it may use.")),
    STRING("restartPolicy", container, restart_policy, KEPT),
    OBJECTS("volumeMounts", container, volume_mounts, volume_mount, 0,
        BY_KEY("mountPath")),
    OPAQUE(STRING, "terminationMessagePath", 0),
    OPAQUE(STRING, "terminationMessagePolicy", 0,
        ONE_OF("FallbackToLogsOnError", "File")),
    OPAQUE(STRING, "imagePullPolicy", 0,
        ONE_OF("Always", "IfNotPresent", "Never")),
    OPAQUE_OBJECT("securityContext", security_context_container, 0),
    OPAQUE_OBJECTS("envFrom", env_from_source, 0),
    OPAQUE_OBJECT("lifecycle", lifecycle, 0),
    OPAQUE_OBJECT("livenessProbe", probe, 0),
    OPAQUE_OBJECT("readinessProbe", probe, 0),
    OPAQUE_OBJECTS("resizePolicy", container_resize_policy, 0),
    OPAQUE_OBJECT("startupProbe", probe, 0),
    OPAQUE(BOOL, "stdin", 0),
    OPAQUE(BOOL, "stdinOnce", 0),
    OPAQUE(BOOL, "tty", 0),
    OPAQUE_OBJECTS("volumeDevices", volume_device, 0, BY_KEY("devicePath")),
    STRING("workingDir", container, working_dir, 0,
        HELP("The directory in which the process starts.")),
};
RECORD(container, container, "io.k8s.api.core.v1.Container");

static const struct field ephemeral_container_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED),
    OPAQUE_LIST(STRING, "args", 0),
    OPAQUE_LIST(STRING, "command", 0),
    OPAQUE_OBJECTS("env", env_variable, 0, BY_KEY("name")),
    OPAQUE_OBJECTS("envFrom", env_from_source, 0),
    OPAQUE(STRING, "image", 0),
    OPAQUE(STRING, "imagePullPolicy", 0,
        ONE_OF("Always", "IfNotPresent", "Never")),
    OPAQUE_OBJECT("lifecycle", lifecycle, 0),
    OPAQUE_OBJECT("livenessProbe", probe, 0),
    OPAQUE_OBJECTS("ports", container_port, 0,
        BY_KEYS("containerPort,protocol", "containerPort")),
    OPAQUE_OBJECT("readinessProbe", probe, 0),
    OPAQUE_OBJECTS("resizePolicy", container_resize_policy, 0),
    OPAQUE_OBJECT("resources", resources, ALWAYS),
    OPAQUE(STRING, "restartPolicy", KEPT),
    OPAQUE_OBJECT("securityContext", security_context_container, 0),
    OPAQUE_OBJECT("startupProbe", probe, 0),
    OPAQUE(BOOL, "stdin", 0),
    OPAQUE(BOOL, "stdinOnce", 0),
    OPAQUE(STRING, "targetContainerName", 0),
    OPAQUE(STRING, "terminationMessagePath", 0),
    OPAQUE(STRING, "terminationMessagePolicy", 0,
        ONE_OF("FallbackToLogsOnError", "File")),
    OPAQUE(BOOL, "tty", 0),
    OPAQUE_OBJECTS("volumeDevices", volume_device, 0, BY_KEY("devicePath")),
    OPAQUE_OBJECTS("volumeMounts", volume_mount, 0, BY_KEY("mountPath")),
    OPAQUE(STRING, "workingDir", 0),
};
OPAQUE_RECORD(ephemeral_container, "io.k8s.api.core.v1.EphemeralContainer");
/* clang-format on */
