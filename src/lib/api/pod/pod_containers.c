/* SPDX-License-Identifier: Apache-2.0 */
/* pod_containers.c - field tables of a pod's containers */
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_records.h"
#include "lib/api/value/rows.h"

/* clang-format off */
static const struct field config_map_env_source_fields[] = {
    OPAQUE(STRING, "name", 0,
        HELP("Its name.")),
    OPAQUE(BOOL, "optional", KEPT,
        HELP("Whether it may be missing.")),
};
static OPAQUE_RECORD(config_map_env_source,
       "io.k8s.api.core.v1.ConfigMapEnvSource",
       MESSAGE("(name) optional"),
       HELP("All of a ConfigMap, as variables."));

static const struct field config_map_key_selector_fields[] = {
    OPAQUE(STRING, "name", 0,
        HELP("Its name.")),
    OPAQUE(STRING, "key", ALWAYS | REQUIRED,
        HELP("The key.")),
    OPAQUE(BOOL, "optional", KEPT,
        HELP("Whether it may be missing.")),
};
static OPAQUE_RECORD(config_map_key_selector,
       "io.k8s.api.core.v1.ConfigMapKeySelector",
       MESSAGE("(name) key optional"),
       HELP("One entry of a ConfigMap."), ATOMIC);

static const struct field secret_env_source_fields[] = {
    OPAQUE(STRING, "name", 0,
        HELP("Its name.")),
    OPAQUE(BOOL, "optional", KEPT,
        HELP("Whether it may be missing.")),
};
static OPAQUE_RECORD(secret_env_source, "io.k8s.api.core.v1.SecretEnvSource",
       MESSAGE("(name) optional"),
       HELP("All of a secret, as variables."));

static const struct field secret_key_selector_fields[] = {
    OPAQUE(STRING, "name", 0,
        HELP("Its name.")),
    OPAQUE(STRING, "key", ALWAYS | REQUIRED,
        HELP("The key.")),
    OPAQUE(BOOL, "optional", KEPT,
        HELP("Whether it may be missing.")),
};
static OPAQUE_RECORD(secret_key_selector,
       "io.k8s.api.core.v1.SecretKeySelector",
       MESSAGE("(name) key optional"),
       HELP("One entry of a secret."), ATOMIC);

static const struct field env_from_source_fields[] = {
    OPAQUE_OBJECT("configMapRef", config_map_env_source, 0,
        HELP("A ConfigMap.")),
    OPAQUE(STRING, "prefix", 0,
        HELP("The prefix of each name.")),
    OPAQUE_OBJECT("secretRef", secret_env_source, 0,
        HELP("A secret.")),
};
static OPAQUE_RECORD(env_from_source, "io.k8s.api.core.v1.EnvFromSource",
       MESSAGE("prefix configMapRef secretRef"),
       HELP("Where variables come from."));

static const struct field env_var_source_fields[] = {
    OPAQUE_OBJECT("configMapKeyRef", config_map_key_selector, 0,
        HELP("An entry of a ConfigMap.")),
    OPAQUE_OBJECT("fieldRef", object_field_selector, 0,
        HELP("A field of the pod.")),
    OPAQUE_OBJECT("resourceFieldRef", resource_field_selector, 0,
        HELP("A resource of a container.")),
    OPAQUE_OBJECT("secretKeyRef", secret_key_selector, 0,
        HELP("An entry of a secret.")),
};
static OPAQUE_RECORD(env_var_source, "io.k8s.api.core.v1.EnvVarSource",
       MESSAGE("fieldRef resourceFieldRef configMapKeyRef secretKeyRef"),
       HELP("Where the value of a variable comes from."));

static const struct field env_variable_fields[] = {
    STRING("name", env_variable, name, ALWAYS | REQUIRED,
        HELP("Its name.")),
    STRING("value", env_variable, value, 0,
        HELP("Its value; $(NAME) stands for another one.")),
    OPAQUE_OBJECT("valueFrom", env_var_source, 0,
        HELP("Where its value comes from.")),
};
static RECORD(env_variable, env_variable, "io.k8s.api.core.v1.EnvVar",
       MESSAGE("name value valueFrom"),
       HELP("A variable of the environment."));

static const struct field container_port_fields[] = {
    STRING("name", container_port, name, 0,
        HELP("Its name, for references.")),
    INT("hostPort", container_port, host_port, 0,
        HELP("The port of the node that it uses; two pods of a node cannot "
             "use the same one.")),
    INT("containerPort", container_port, container_port, ALWAYS | REQUIRED,
        HELP("The port.")),
    STRING("protocol", container_port, protocol, 0,
        ONE_OF("SCTP", "TCP", "UDP"), AS_ABSENT("TCP"),
        HELP("TCP, UDP or SCTP.")),
    STRING("hostIP", container_port, host_ip, 0,
        HELP("The address of the node.")),
};
static RECORD(container_port, container_port,
       "io.k8s.api.core.v1.ContainerPort",
       MESSAGE("name hostPort containerPort protocol hostIP"),
       HELP("A port that a container uses."));

static const struct field container_resize_policy_fields[] = {
    OPAQUE(STRING, "resourceName", ALWAYS | REQUIRED,
        HELP("cpu or memory.")),
    OPAQUE(STRING, "restartPolicy", ALWAYS | REQUIRED,
        HELP("NotRequired or RestartContainer.")),
};
static OPAQUE_RECORD(container_resize_policy,
       "io.k8s.api.core.v1.ContainerResizePolicy",
       MESSAGE("resourceName restartPolicy"),
       HELP("What happens when a resource is changed."));

static const struct field resource_claim_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED,
        HELP("Its name in the pod.")),
    OPAQUE(STRING, "request", 0,
        HELP("Which request of it.")),
};
static OPAQUE_RECORD(resource_claim, "io.k8s.api.core.v1.ResourceClaim",
       MESSAGE("name request"),
       HELP("A claim of the pod that the container uses."));

static const struct field resources_fields[] = {
    MAP(QUANTITY, "limits", resources, limits, 0, OFTEN("cpu", "memory"),
        HELP("Upper limits.")),
    MAP(QUANTITY, "requests", resources, requests, 0, OFTEN("cpu", "memory"),
        HELP("Reserved resources: cpu counts hardware threads.")),
    OPAQUE_OBJECTS("claims", resource_claim, 0, APPLY_BY_KEY("name"),
        HELP("Claims of the pod.")),
};
RECORD(resources, resources, "io.k8s.api.core.v1.ResourceRequirements",
       MESSAGE("limits requests claims"),
       HELP("How much of the node's resources: cpu, memory, devices."));

static const struct field volume_device_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED,
        HELP("The name of the volume in the pod.")),
    OPAQUE(STRING, "devicePath", ALWAYS | REQUIRED,
        HELP("Where it appears.")),
};
static OPAQUE_RECORD(volume_device, "io.k8s.api.core.v1.VolumeDevice",
       MESSAGE("name devicePath"),
       HELP("A volume as a raw device."));

static const struct field volume_mount_fields[] = {
    STRING("name", volume_mount, name, ALWAYS | REQUIRED,
        HELP("The name of the volume in the pod.")),
    STRING("mountPath", volume_mount, mount_path, ALWAYS | REQUIRED,
        HELP("Where.")),
    OPAQUE(STRING, "mountPropagation", KEPT,
        ONE_OF("Bidirectional", "HostToContainer", "None"),
        HELP("None, HostToContainer or Bidirectional.")),
    BOOL("readOnly", volume_mount, read_only, 0,
        HELP("Mounted read-only.")),
    OPAQUE(STRING, "recursiveReadOnly", KEPT,
        HELP("Disabled, IfPossible or Enabled.")),
    OPAQUE(STRING, "subPath", 0,
        HELP("Only this directory of it.")),
    OPAQUE(STRING, "subPathExpr", 0,
        HELP("The same, with variables in it.")),
};
static RECORD(volume_mount, volume_mount, "io.k8s.api.core.v1.VolumeMount",
       MESSAGE("name readOnly mountPath subPath mountPropagation subPathExpr "
               "recursiveReadOnly"),
       HELP("Where a volume appears."));

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
        BY_KEYS("containerPort,protocol", "containerPort"),
        HELP("Ports that it uses.")),
    OBJECTS("env", container, env, env_variable, 0, BY_KEY("name"),
        HELP("Environment variables, over those of the job.")),
    OBJECT("resources", container, resources, resources, ALWAYS,
        HELP("What the process needs and the most it may use.")),
    STRING("restartPolicy", container, restart_policy, KEPT,
        HELP("Always, for init containers that keep running.")),
    OBJECTS("volumeMounts", container, volume_mounts, volume_mount, 0,
        BY_KEY("mountPath"),
        HELP("Where volumes appear.")),
    OPAQUE(STRING, "terminationMessagePath", 0,
        HELP("The file for its termination message.")),
    OPAQUE(STRING, "terminationMessagePolicy", 0,
        ONE_OF("FallbackToLogsOnError", "File"),
        HELP("File, or FallbackToLogsOnError.")),
    OPAQUE(STRING, "imagePullPolicy", 0,
        ONE_OF("Always", "IfNotPresent", "Never"),
        HELP("When the image is pulled; images are not used.")),
    OPAQUE_OBJECT("securityContext", security_context_container, 0,
        HELP("Rights of the process.")),
    OPAQUE_OBJECTS("envFrom", env_from_source, 0,
        HELP("Where more variables come from.")),
    OPAQUE_OBJECT("lifecycle", lifecycle, 0,
        HELP("What is done after its start and before its end.")),
    OPAQUE_OBJECT("livenessProbe", probe, 0,
        HELP("The liveness probe; not run.")),
    OPAQUE_OBJECT("readinessProbe", probe, 0,
        HELP("The readiness probe; not run.")),
    OPAQUE_OBJECTS("resizePolicy", container_resize_policy, 0,
        HELP("What happens when resources are changed.")),
    OPAQUE_OBJECT("startupProbe", probe, 0,
        HELP("The startup probe; not run.")),
    OPAQUE(BOOL, "stdin", 0,
        HELP("Whether its standard input is kept open.")),
    OPAQUE(BOOL, "stdinOnce", 0,
        HELP("Whether standard input is closed after the first attached "
             "client.")),
    OPAQUE(BOOL, "tty", 0,
        HELP("Whether it gets a terminal.")),
    OPAQUE_OBJECTS("volumeDevices", volume_device, 0, BY_KEY("devicePath"),
        HELP("Volumes as raw devices.")),
    STRING("workingDir", container, working_dir, 0,
        HELP("The directory in which the process starts.")),
};
RECORD(container, container, "io.k8s.api.core.v1.Container",
       MESSAGE("name image command args workingDir ports env resources "
               "volumeMounts livenessProbe readinessProbe lifecycle "
               "terminationMessagePath imagePullPolicy securityContext stdin "
               "stdinOnce tty envFrom terminationMessagePolicy volumeDevices "
               "startupProbe resizePolicy restartPolicy"),
       HELP("The program that a pod runs. In Kiln there is one, on the "
            "host."));

static const struct field ephemeral_container_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED,
        HELP("Its name.")),
    OPAQUE_LIST(STRING, "args", 0,
        HELP("Arguments of the program.")),
    OPAQUE_LIST(STRING, "command", 0,
        HELP("The program and its arguments; its exit status decides.")),
    OPAQUE_OBJECTS("env", env_variable, 0, BY_KEY("name"),
        HELP("Its environment.")),
    OPAQUE_OBJECTS("envFrom", env_from_source, 0,
        HELP("Where more variables come from.")),
    OPAQUE(STRING, "image", 0,
        HELP("The image.")),
    OPAQUE(STRING, "imagePullPolicy", 0,
        ONE_OF("Always", "IfNotPresent", "Never"),
        HELP("When the image is pulled; images are not used.")),
    OPAQUE_OBJECT("lifecycle", lifecycle, 0,
        HELP("What is done after its start and before its end.")),
    OPAQUE_OBJECT("livenessProbe", probe, 0,
        HELP("The liveness probe; not run.")),
    OPAQUE_OBJECTS("ports", container_port, 0,
        BY_KEYS("containerPort,protocol", "containerPort"),
        HELP("Ports that it uses.")),
    OPAQUE_OBJECT("readinessProbe", probe, 0,
        HELP("The readiness probe; not run.")),
    OPAQUE_OBJECTS("resizePolicy", container_resize_policy, 0,
        HELP("What happens when resources are changed.")),
    OPAQUE_OBJECT("resources", resources, ALWAYS,
        HELP("Of the node.")),
    OPAQUE(STRING, "restartPolicy", KEPT,
        HELP("Always, for init containers that keep running.")),
    OPAQUE_OBJECT("securityContext", security_context_container, 0,
        HELP("Rights of the process.")),
    OPAQUE_OBJECT("startupProbe", probe, 0,
        HELP("The startup probe; not run.")),
    OPAQUE(BOOL, "stdin", 0,
        HELP("Whether its standard input is kept open.")),
    OPAQUE(BOOL, "stdinOnce", 0,
        HELP("Whether standard input is closed after the first attached "
             "client.")),
    OPAQUE(STRING, "targetContainerName", 0,
        HELP("The container that it inspects.")),
    OPAQUE(STRING, "terminationMessagePath", 0,
        HELP("The file for its termination message.")),
    OPAQUE(STRING, "terminationMessagePolicy", 0,
        ONE_OF("FallbackToLogsOnError", "File"),
        HELP("File, or FallbackToLogsOnError.")),
    OPAQUE(BOOL, "tty", 0,
        HELP("Whether it gets a terminal.")),
    OPAQUE_OBJECTS("volumeDevices", volume_device, 0, BY_KEY("devicePath"),
        HELP("Volumes as raw devices.")),
    OPAQUE_OBJECTS("volumeMounts", volume_mount, 0, BY_KEY("mountPath"),
        HELP("Where volumes appear.")),
    OPAQUE(STRING, "workingDir", 0,
        HELP("Its working directory.")),
};
OPAQUE_RECORD(ephemeral_container, "io.k8s.api.core.v1.EphemeralContainer",
       MESSAGE("(name image command args workingDir ports env resources "
               "volumeMounts livenessProbe readinessProbe lifecycle "
               "terminationMessagePath imagePullPolicy securityContext stdin "
               "stdinOnce tty envFrom terminationMessagePolicy volumeDevices "
               "startupProbe resizePolicy restartPolicy) targetContainerName"),
       HELP("A container added to a running pod; not supported."));
/* clang-format on */
