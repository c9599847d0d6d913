/* SPDX-License-Identifier: Apache-2.0 */
/* pod_spec.c - what a pod asks for */
#include "lib/api/job.h"
#include "lib/api/pod.h"
#include "lib/api/rows.h"

/* clang-format off */
static const struct field host_alias_fields[] = {
    OPAQUE(STRING, "ip", ALWAYS | REQUIRED),
    OPAQUE_LIST(STRING, "hostnames", 0),
};
static OPAQUE_RECORD(host_alias, "io.k8s.api.core.v1.HostAlias");

static const struct field pod_dns_config_option_fields[] = {
    OPAQUE(STRING, "name", 0),
    OPAQUE(STRING, "value", KEPT),
};
static OPAQUE_RECORD(pod_dns_config_option,
       "io.k8s.api.core.v1.PodDNSConfigOption");

static const struct field pod_dns_config_fields[] = {
    OPAQUE_LIST(STRING, "nameservers", 0),
    OPAQUE_OBJECTS("options", pod_dns_config_option, 0),
    OPAQUE_LIST(STRING, "searches", 0),
};
static OPAQUE_RECORD(pod_dns_config, "io.k8s.api.core.v1.PodDNSConfig");

static const struct field pod_os_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED),
};
static OPAQUE_RECORD(pod_os, "io.k8s.api.core.v1.PodOS");

static const struct field pod_readiness_gate_fields[] = {
    OPAQUE(STRING, "conditionType", ALWAYS | REQUIRED),
};
static OPAQUE_RECORD(pod_readiness_gate, "io.k8s.api.core.v1.PodReadinessGate");

static const struct field pod_resource_claim_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED),
    OPAQUE(STRING, "resourceClaimName", KEPT),
    OPAQUE(STRING, "resourceClaimTemplateName", KEPT),
};
static OPAQUE_RECORD(pod_resource_claim, "io.k8s.api.core.v1.PodResourceClaim");

static const struct field scheduling_gate_fields[] = {
    STRING("name", scheduling_gate, name, ALWAYS | REQUIRED),
};
static RECORD(scheduling_gate, scheduling_gate,
       "io.k8s.api.core.v1.PodSchedulingGate");

static const struct field pod_spec_fields[] = {
    OBJECTS("volumes", pod_spec, volumes, pod_volume, RETAIN_KEYS,
        BY_KEY("name")),
    OBJECTS("initContainers", pod_spec, init_containers, container, 0,
        BY_KEY("name"),
        HELP("Run to completion, in order, before the containers.")),
    OBJECTS("containers", pod_spec, containers, container, ALWAYS | REQUIRED,
        BY_KEY("name"),
        HELP("The process to run. Kiln runs one container per pod.")),
    STRING("restartPolicy", pod_spec, restart_policy, 0,
        ONE_OF("Always", "Never", "OnFailure"),
        HELP("What to do when a container ends.")),
    INT64("terminationGracePeriodSeconds", pod_spec, termination_grace_seconds,
        OPTIONAL, HELP("Time between SIGTERM and SIGKILL.")),
    INT64("activeDeadlineSeconds", pod_spec, active_deadline_seconds, OPTIONAL,
        HELP("The time limit, counted from the start of the process.")),
    OPAQUE(STRING, "dnsPolicy", 0,
        ONE_OF("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")),
    BOOL("hostNetwork", pod_spec, host_network, 0),
    STRING("nodeName", pod_spec, node_name, 0,
        HELP("The node the pod runs on; set by the scheduler.")),
    ATOMIC_MAP(STRING, "nodeSelector", pod_spec, node_selector, 0,
        HELP("Labels that the node must have.")),
    OBJECT("securityContext", pod_spec, security_context, security_context_pod,
        OPTIONAL, HELP("The user and groups that the process runs as.")),
    OBJECT("affinity", pod_spec, affinity, affinity, OPTIONAL,
        HELP("Rules about which nodes, near or far from which pods.")),
    OPAQUE_OBJECTS("imagePullSecrets", local_object_reference, 0,
        BY_KEY("name")),
    STRING("schedulerName", pod_spec, scheduler_name, 0,
        OFTEN("default-scheduler"),
        HELP("Which scheduler profile places the pod.")),
    OBJECTS("tolerations", pod_spec, tolerations, toleration, 0,
        HELP("Taints of nodes that the pod puts up with.")),
    STRING("priorityClassName", pod_spec, priority_class_name, 0,
        HELP("The PriorityClass that gives the priority.")),
    INT("priority", pod_spec, priority, OPTIONAL,
        HELP("Higher goes first; filled in from the class.")),
    OPAQUE(STRING, "runtimeClassName", KEPT),
    OPAQUE(BOOL, "enableServiceLinks", KEPT),
    STRING("preemptionPolicy", pod_spec, preemption_policy, KEPT,
        ONE_OF("Never", "PreemptLowerPriority"),
        HELP("Whether this pod may displace others.")),
    OBJECTS("schedulingGates", pod_spec, scheduling_gates, scheduling_gate, 0,
        BY_KEY("name"),
        HELP("The pod waits, unseen by the scheduler, until all are removed.")),
    OPAQUE(BOOL, "automountServiceAccountToken", KEPT),
    OPAQUE_OBJECT("dnsConfig", pod_dns_config, 0),
    OPAQUE_OBJECTS("ephemeralContainers", ephemeral_container, 0,
        BY_KEY("name")),
    OPAQUE_OBJECTS("hostAliases", host_alias, 0, BY_KEY("ip")),
    OPAQUE(BOOL, "hostIPC", 0),
    OPAQUE(BOOL, "hostPID", 0),
    OPAQUE(BOOL, "hostUsers", KEPT),
    STRING("hostname", pod_spec, hostname, 0),
    OPAQUE_OBJECT("os", pod_os, 0),
    MAP(QUANTITY, "overhead", pod_spec, overhead, 0,
        HELP("Resources charged besides those of the containers.")),
    OPAQUE_OBJECTS("readinessGates", pod_readiness_gate, 0),
    OPAQUE_OBJECTS("resourceClaims", pod_resource_claim, RETAIN_KEYS,
        BY_KEY("name")),
    OPAQUE_OBJECT("resources", resources, 0),
    OPAQUE(STRING, "serviceAccount", 0),
    OPAQUE(STRING, "serviceAccountName", 0),
    OPAQUE(BOOL, "setHostnameAsFQDN", KEPT),
    OPAQUE(BOOL, "shareProcessNamespace", KEPT),
    STRING("subdomain", pod_spec, subdomain, 0),
    OBJECTS("topologySpreadConstraints", pod_spec, topology_spread,
        topology_spread, 0,
        BY_KEYS("topologyKey,whenUnsatisfiable", "topologyKey"),
        HELP("How evenly pods spread over zones, racks or nodes.")),
    OBJECT("schedulingGroup", pod_spec, scheduling_group, scheduling_group,
        OPTIONAL | KILN, HELP("The PodGroup that is scheduled as one.")),
    OBJECT("placement", pod_spec, placement, placement, OPTIONAL | KILN,
        HELP("How cores and memory are chosen on the node.")),
    OBJECT("execution", pod_spec, execution, execution, OPTIONAL | KILN,
        HELP("Files, limits and signals of the process.")),
};
RECORD(pod_spec, pod_spec, "io.k8s.api.core.v1.PodSpec");

static const struct field pod_template_fields[] = {
    OPAQUE_OBJECT("metadata", meta, ALWAYS),
    OBJECT("spec", job_template, spec, pod_spec, ALWAYS | OPTIONAL),
};
RECORD(pod_template, job_template, "io.k8s.api.core.v1.PodTemplateSpec");
/* clang-format on */
