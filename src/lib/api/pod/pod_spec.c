/* SPDX-License-Identifier: Apache-2.0 */
/* pod_spec.c - field table of the pod spec */
#include "lib/api/object/object_reference.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_records.h"
#include "lib/api/value/rows.h"

/* clang-format off */
static const struct field host_alias_fields[] = {
    OPAQUE(STRING, "ip", ALWAYS | REQUIRED,
        HELP("The address.")),
    OPAQUE_LIST(STRING, "hostnames", 0,
        HELP("The names.")),
};
static OPAQUE_RECORD(host_alias, "io.k8s.api.core.v1.HostAlias",
       MESSAGE("ip hostnames"),
       HELP("Names of an address."));

static const struct field pod_dns_config_option_fields[] = {
    OPAQUE(STRING, "name", 0,
        HELP("Its name.")),
    OPAQUE(STRING, "value", KEPT,
        HELP("The value.")),
};
static OPAQUE_RECORD(pod_dns_config_option,
       "io.k8s.api.core.v1.PodDNSConfigOption",
       MESSAGE("name value"),
       HELP("An option of the resolver."));

static const struct field pod_dns_config_fields[] = {
    OPAQUE_LIST(STRING, "nameservers", 0,
        HELP("The servers.")),
    OPAQUE_OBJECTS("options", pod_dns_config_option, 0,
        HELP("Options of the resolver.")),
    OPAQUE_LIST(STRING, "searches", 0,
        HELP("Domains to look in.")),
};
static OPAQUE_RECORD(pod_dns_config, "io.k8s.api.core.v1.PodDNSConfig",
       MESSAGE("nameservers searches options"),
       HELP("The DNS settings. Stored, but without effect."));

static const struct field pod_os_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED,
        HELP("linux or windows.")),
};
static OPAQUE_RECORD(pod_os, "io.k8s.api.core.v1.PodOS",
       MESSAGE("name"),
       HELP("The operating system that a pod requires."));

static const struct field pod_readiness_gate_fields[] = {
    OPAQUE(STRING, "conditionType", ALWAYS | REQUIRED,
        HELP("The condition.")),
};
static OPAQUE_RECORD(pod_readiness_gate, "io.k8s.api.core.v1.PodReadinessGate",
       MESSAGE("conditionType"),
       HELP("A condition that must hold for a pod to be ready."));

static const struct field pod_resource_claim_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED,
        HELP("Its name in the containers.")),
    OPAQUE(STRING, "resourceClaimName", KEPT,
        HELP("The claim.")),
    OPAQUE(STRING, "resourceClaimTemplateName", KEPT,
        HELP("The template of the claim.")),
};
static OPAQUE_RECORD(pod_resource_claim, "io.k8s.api.core.v1.PodResourceClaim",
       MESSAGE("name 3 resourceClaimName resourceClaimTemplateName"),
       HELP("A claim of devices that the pod uses."));

static const struct field scheduling_gate_fields[] = {
    STRING("name", scheduling_gate, name, ALWAYS | REQUIRED,
        HELP("Its name.")),
};
static RECORD(scheduling_gate, scheduling_gate,
       "io.k8s.api.core.v1.PodSchedulingGate",
       MESSAGE("name"),
       HELP("A gate that a pod waits for before it is scheduled."));

static const struct field pod_spec_fields[] = {
    OBJECTS("volumes", pod_spec, volumes, pod_volume, RETAIN_KEYS,
        BY_KEY("name"),
        HELP("Volumes that its container can mount.")),
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
        ONE_OF("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
        HELP("The DNS policy; names are resolved as on the node.")),
    BOOL("hostNetwork", pod_spec, host_network, 0,
        HELP("Whether it has the network of its node; it always has.")),
    STRING("nodeName", pod_spec, node_name, 0,
        HELP("The node the pod runs on; set by the scheduler.")),
    ATOMIC_MAP(STRING, "nodeSelector", pod_spec, node_selector, 0,
        HELP("Labels that the node must have.")),
    OBJECT("securityContext", pod_spec, security_context, security_context_pod,
        OPTIONAL, HELP("The user and groups that the process runs as.")),
    OBJECT("affinity", pod_spec, affinity, affinity, OPTIONAL,
        HELP("Rules about which nodes, near or far from which pods.")),
    OPAQUE_OBJECTS("imagePullSecrets", local_object_reference, 0,
        BY_KEY("name"),
        HELP("Secrets for pulling images; images are not used.")),
    STRING("schedulerName", pod_spec, scheduler_name, 0,
        OFTEN("default-scheduler"),
        HELP("Which scheduler profile places the pod.")),
    OBJECTS("tolerations", pod_spec, tolerations, toleration, 0,
        HELP("Taints of nodes that the pod tolerates.")),
    STRING("priorityClassName", pod_spec, priority_class_name, 0,
        HELP("The PriorityClass that gives the priority.")),
    INT("priority", pod_spec, priority, OPTIONAL,
        HELP("Higher goes first; filled in from the class.")),
    OPAQUE(STRING, "runtimeClassName", KEPT,
        HELP("The runtime; refused here.")),
    OPAQUE(BOOL, "enableServiceLinks", KEPT,
        HELP("Whether services appear as variables; there are no services.")),
    STRING("preemptionPolicy", pod_spec, preemption_policy, KEPT,
        ONE_OF("Never", "PreemptLowerPriority"),
        HELP("Whether this pod may preempt others.")),
    OBJECTS("schedulingGates", pod_spec, scheduling_gates, scheduling_gate, 0,
        BY_KEY("name"),
        HELP("The scheduler ignores the pod until all gates are removed.")),
    OPAQUE(BOOL, "automountServiceAccountToken", KEPT,
        HELP("Whether a token is mounted; none is.")),
    OPAQUE_OBJECT("dnsConfig", pod_dns_config, 0,
        HELP("The DNS settings; without effect.")),
    OPAQUE_OBJECTS("ephemeralContainers", ephemeral_container, 0,
        BY_KEY("name"),
        HELP("Containers that are added later; refused.")),
    OPAQUE_OBJECTS("hostAliases", host_alias, 0, BY_KEY("ip"),
        HELP("Entries for /etc/hosts; without effect.")),
    OPAQUE(BOOL, "hostIPC", 0,
        HELP("Whether it shares the IPC of its node; it always does.")),
    OPAQUE(BOOL, "hostPID", 0,
        HELP("Whether it sees the processes of its node; it always does.")),
    OPAQUE(BOOL, "hostUsers", KEPT,
        HELP("Whether it has the users of its node; it always has.")),
    STRING("hostname", pod_spec, hostname, 0,
        HELP("Its host name; without effect.")),
    OPAQUE_OBJECT("os", pod_os, 0,
        HELP("The required operating system.")),
    MAP(QUANTITY, "overhead", pod_spec, overhead, 0,
        HELP("Resources charged besides those of the containers.")),
    OPAQUE_OBJECTS("readinessGates", pod_readiness_gate, 0,
        HELP("Conditions for being ready.")),
    OPAQUE_OBJECTS("resourceClaims", pod_resource_claim, RETAIN_KEYS,
        BY_KEY("name"),
        HELP("Claims of devices.")),
    OPAQUE_OBJECT("resources", resources, 0,
        HELP("Of all containers together.")),
    OPAQUE(STRING, "serviceAccount", 0,
        HELP("The service account; the old name of the field.")),
    OPAQUE(STRING, "serviceAccountName", 0,
        HELP("The service account; without effect: users are those of the "
             "system.")),
    OPAQUE(BOOL, "setHostnameAsFQDN", KEPT,
        HELP("Whether its host name is the fully qualified one.")),
    OPAQUE(BOOL, "shareProcessNamespace", KEPT,
        HELP("Whether its containers see each other's processes.")),
    STRING("subdomain", pod_spec, subdomain, 0,
        HELP("The domain that its host name is in.")),
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
RECORD(pod_spec, pod_spec, "io.k8s.api.core.v1.PodSpec",
       MESSAGE("volumes containers restartPolicy "
               "terminationGracePeriodSeconds activeDeadlineSeconds "
               "dnsPolicy nodeSelector serviceAccountName serviceAccount "
               "nodeName hostNetwork hostPID hostIPC securityContext "
               "imagePullSecrets hostname subdomain affinity schedulerName "
               "initContainers automountServiceAccountToken tolerations "
               "hostAliases priorityClassName priority dnsConfig "
               "shareProcessNamespace readinessGates runtimeClassName "
               "enableServiceLinks preemptionPolicy overhead "
               "topologySpreadConstraints ephemeralContainers "
               "setHostnameAsFQDN os hostUsers schedulingGates "
               "resourceClaims resources 43 schedulingGroup"),
       HELP("The desired state of a pod."));

static const struct field pod_template_fields[] = {
    OPAQUE_OBJECT("metadata", meta, ALWAYS,
        HELP("Labels and annotations of the pods.")),
    OBJECT("spec", pod_template, spec, pod_spec, ALWAYS | OPTIONAL,
        HELP("The specification of the pods.")),
};
RECORD(pod_template, pod_template, "io.k8s.api.core.v1.PodTemplateSpec",
       MESSAGE("metadata spec"),
       HELP("A template for pods."));
/* clang-format on */
