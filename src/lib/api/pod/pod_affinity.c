/* SPDX-License-Identifier: Apache-2.0 */
/* pod_affinity.c - field tables of affinity, tolerations and topology spread */
#include <string.h>

#include "lib/api/node/node.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_records.h"
#include "lib/api/value/rows.h"
#include "lib/base/text.h"

/* clang-format off */
static const struct field preferred_node_term_fields[] = {
    OBJECT("preference", preferred_node_term, preference, node_selector_term,
        ALWAYS | REQUIRED,
        HELP("Which nodes.")),
    INT("weight", preferred_node_term, weight, ALWAYS | REQUIRED,
        HELP("The weight: 1 to 100.")),
};
static RECORD(preferred_node_term, preferred_node_term,
       "io.k8s.api.core.v1.PreferredSchedulingTerm",
       MESSAGE("weight preference"),
       HELP("Preferred nodes, and the weight of the preference."));

static const struct field node_affinity_fields[] = {
    OBJECTS("preferredDuringSchedulingIgnoredDuringExecution", node_affinity,
        preferred, preferred_node_term, 0,
        HELP("Preferred nodes.")),
    OBJECT("requiredDuringSchedulingIgnoredDuringExecution", node_affinity,
        required, node_selector, OPTIONAL,
        HELP("Required nodes.")),
};
RECORD(node_affinity, node_affinity, "io.k8s.api.core.v1.NodeAffinity",
       MESSAGE("requiredDuringSchedulingIgnoredDuringExecution "
               "preferredDuringSchedulingIgnoredDuringExecution"),
       HELP("The node affinity of a pod."));

static const struct field pod_affinity_term_fields[] = {
    STRING("topologyKey", pod_affinity_term, topology_key, ALWAYS | REQUIRED,
        HELP("The node label that defines the topology domains.")),
    OBJECT("labelSelector", pod_affinity_term, label_selector, label_selector,
        OPTIONAL,
        HELP("Pods with these labels.")),
    LIST(STRING, "matchLabelKeys", pod_affinity_term, match_label_keys, 0,
        HELP("Only pods with the same values of these labels as the pod "
             "itself.")),
    LIST(STRING, "mismatchLabelKeys", pod_affinity_term, mismatch_label_keys,
        0,
        HELP("Only pods with other values of these labels.")),
    OBJECT("namespaceSelector", pod_affinity_term, namespace_selector,
        label_selector, OPTIONAL,
        HELP("In namespaces with these labels.")),
    LIST(STRING, "namespaces", pod_affinity_term, namespaces, 0,
        HELP("In these namespaces.")),
};
static RECORD(pod_affinity_term, pod_affinity_term,
       "io.k8s.api.core.v1.PodAffinityTerm",
       MESSAGE("labelSelector namespaces topologyKey namespaceSelector "
               "matchLabelKeys mismatchLabelKeys"),
       HELP("A set of pods, and the kind of topology domain."));

static const struct field weighted_pod_affinity_term_fields[] = {
    OBJECT("podAffinityTerm", weighted_pod_affinity_term, term,
        pod_affinity_term, ALWAYS | REQUIRED,
        HELP("Which pods.")),
    INT("weight", weighted_pod_affinity_term, weight, ALWAYS | REQUIRED,
        HELP("The weight: 1 to 100.")),
};
static RECORD(weighted_pod_affinity_term, weighted_pod_affinity_term,
       "io.k8s.api.core.v1.WeightedPodAffinityTerm",
       MESSAGE("weight podAffinityTerm"),
       HELP("A set of pods, and the weight of the preference."));

static const struct field pod_affinity_fields[] = {
    OBJECTS("preferredDuringSchedulingIgnoredDuringExecution", pod_affinity,
        preferred, weighted_pod_affinity_term, 0,
        HELP("Pods that it prefers to be near.")),
    OBJECTS("requiredDuringSchedulingIgnoredDuringExecution", pod_affinity,
        required, pod_affinity_term, 0,
        HELP("Pods that it must be near.")),
};
static RECORD(pod_affinity, pod_affinity, "io.k8s.api.core.v1.PodAffinity",
       MESSAGE("requiredDuringSchedulingIgnoredDuringExecution "
               "preferredDuringSchedulingIgnoredDuringExecution"),
       HELP("The pod affinity of a pod."));

static const struct field pod_anti_affinity_fields[] = {
    OBJECTS("preferredDuringSchedulingIgnoredDuringExecution", pod_affinity,
        preferred, weighted_pod_affinity_term, 0,
        HELP("Pods that it prefers to be away from.")),
    OBJECTS("requiredDuringSchedulingIgnoredDuringExecution", pod_affinity,
        required, pod_affinity_term, 0,
        HELP("Pods that it must be away from.")),
};
static RECORD(pod_anti_affinity, pod_affinity,
       "io.k8s.api.core.v1.PodAntiAffinity",
       MESSAGE("requiredDuringSchedulingIgnoredDuringExecution "
               "preferredDuringSchedulingIgnoredDuringExecution"),
       HELP("The pod anti-affinity of a pod."));

static const struct field affinity_fields[] = {
    OBJECT("nodeAffinity", affinity, node_affinity, node_affinity, OPTIONAL,
        HELP("By labels of nodes.")),
    OBJECT("podAffinity", affinity, pod_affinity, pod_affinity, OPTIONAL,
        HELP("Near other pods.")),
    OBJECT("podAntiAffinity", affinity, pod_anti_affinity, pod_anti_affinity,
        OPTIONAL,
        HELP("Away from other pods.")),
};
RECORD(affinity, affinity, "io.k8s.api.core.v1.Affinity",
       MESSAGE("nodeAffinity podAffinity podAntiAffinity"),
       HELP("The affinity of a pod."));

static const struct field toleration_fields[] = {
    STRING("key", toleration, key, 0,
        OFTEN(TAINT_NOT_READY, TAINT_UNREACHABLE, TAINT_UNSCHEDULABLE,
            TAINT_VIRTUAL),
        HELP("The taint's key; none for all.")),
    STRING("operator", toleration, operator_, 0, ONE_OF("Equal", "Exists"),
        HELP("Exists, or Equal, which compares the value.")),
    STRING("effect", toleration, effect, 0,
        ONE_OF("NoExecute", "NoSchedule", "PreferNoSchedule"),
        HELP("NoSchedule, PreferNoSchedule or NoExecute; none for all.")),
    INT64("tolerationSeconds", toleration, toleration_seconds, OPTIONAL,
        HELP("How long it stays under a NoExecute taint; without it: for "
             "ever.")),
    STRING("value", toleration, value, 0,
        HELP("The value.")),
};
RECORD(toleration, toleration, "io.k8s.api.core.v1.Toleration",
       MESSAGE("key operator value effect tolerationSeconds"),
       HELP("A taint that a pod tolerates."));

static const struct field topology_spread_fields[] = {
    INT("maxSkew", topology_spread, max_skew, ALWAYS | REQUIRED,
        HELP("How many more pods one topology domain may have than another.")),
    STRING("topologyKey", topology_spread, topology_key, ALWAYS | REQUIRED,
        HELP("The node label that defines the topology domains.")),
    STRING("whenUnsatisfiable", topology_spread, when_unsatisfiable,
        ALWAYS | REQUIRED, ONE_OF("DoNotSchedule", "ScheduleAnyway"),
        HELP("DoNotSchedule or ScheduleAnyway.")),
    OBJECT("labelSelector", topology_spread, label_selector, label_selector,
        OPTIONAL,
        HELP("The pods that are counted.")),
    LIST(STRING, "matchLabelKeys", topology_spread, match_label_keys, 0,
        HELP("Only those with the same values of these labels.")),
    INT("minDomains", topology_spread, min_domains, OPTIONAL,
        HELP("The minimum number of topology domains.")),
    STRING("nodeAffinityPolicy", topology_spread, node_affinity_policy, KEPT,
        ONE_OF("Honor", "Ignore"),
        HELP("Whether nodes that the pod's affinity rules out count: "
             "Honor or Ignore.")),
    STRING("nodeTaintsPolicy", topology_spread, node_taints_policy, KEPT,
        ONE_OF("Honor", "Ignore"),
        HELP("Whether nodes with taints that it does not tolerate count: "
             "Honor or Ignore.")),
};
RECORD(topology_spread, topology_spread,
       "io.k8s.api.core.v1.TopologySpreadConstraint",
       MESSAGE("maxSkew topologyKey whenUnsatisfiable labelSelector "
               "minDomains nodeAffinityPolicy nodeTaintsPolicy "
               "matchLabelKeys"),
       HELP("How evenly pods are spread over topology domains."));
/* clang-format on */

bool
toleration_tolerates(const struct toleration *toleration, const struct taint *taint)
{
    if (text_is_set(toleration->effect) && !text_equals_loosely(toleration->effect, taint->effect))
        return false;
    if (text_is_set(toleration->key) && !text_equals_loosely(toleration->key, taint->key))
        return false;
    if (!text_is_set(toleration->operator_) || strcmp(toleration->operator_, "Equal") == 0)
        return text_equals_loosely(toleration->value, taint->value);
    return strcmp(toleration->operator_, "Exists") == 0;
}
