/* SPDX-License-Identifier: Apache-2.0 */
/* pod_affinity.c - where a pod wants to be */
#include <string.h>

#include "lib/api/node.h"
#include "lib/api/pod.h"
#include "lib/api/rows.h"

/* clang-format off */
static const struct field preferred_node_term_fields[] = {
    OBJECT("preference", preferred_node_term, preference, node_selector_term,
        ALWAYS | REQUIRED),
    INT("weight", preferred_node_term, weight, ALWAYS | REQUIRED),
};
static RECORD(preferred_node_term, preferred_node_term,
       "io.k8s.api.core.v1.PreferredSchedulingTerm");

static const struct field node_affinity_fields[] = {
    OBJECTS("preferredDuringSchedulingIgnoredDuringExecution", node_affinity,
        preferred, preferred_node_term, 0),
    OBJECT("requiredDuringSchedulingIgnoredDuringExecution", node_affinity,
        required, node_selector, OPTIONAL),
};
RECORD(node_affinity, node_affinity, "io.k8s.api.core.v1.NodeAffinity");

static const struct field pod_affinity_term_fields[] = {
    STRING("topologyKey", pod_affinity_term, topology_key, ALWAYS | REQUIRED),
    OBJECT("labelSelector", pod_affinity_term, label_selector, label_selector,
        OPTIONAL),
    LIST(STRING, "matchLabelKeys", pod_affinity_term, match_label_keys, 0),
    LIST(STRING, "mismatchLabelKeys", pod_affinity_term, mismatch_label_keys,
        0),
    OBJECT("namespaceSelector", pod_affinity_term, namespace_selector,
        label_selector, OPTIONAL),
    LIST(STRING, "namespaces", pod_affinity_term, namespaces, 0),
};
static RECORD(pod_affinity_term, pod_affinity_term,
       "io.k8s.api.core.v1.PodAffinityTerm");

static const struct field weighted_pod_affinity_term_fields[] = {
    OBJECT("podAffinityTerm", weighted_pod_affinity_term, term,
        pod_affinity_term, ALWAYS | REQUIRED),
    INT("weight", weighted_pod_affinity_term, weight, ALWAYS | REQUIRED),
};
static RECORD(weighted_pod_affinity_term, weighted_pod_affinity_term,
       "io.k8s.api.core.v1.WeightedPodAffinityTerm");

static const struct field pod_affinity_fields[] = {
    OBJECTS("preferredDuringSchedulingIgnoredDuringExecution", pod_affinity,
        preferred, weighted_pod_affinity_term, 0),
    OBJECTS("requiredDuringSchedulingIgnoredDuringExecution", pod_affinity,
        required, pod_affinity_term, 0),
};
static RECORD(pod_affinity, pod_affinity, "io.k8s.api.core.v1.PodAffinity");

static const struct field pod_anti_affinity_fields[] = {
    OBJECTS("preferredDuringSchedulingIgnoredDuringExecution", pod_affinity,
        preferred, weighted_pod_affinity_term, 0),
    OBJECTS("requiredDuringSchedulingIgnoredDuringExecution", pod_affinity,
        required, pod_affinity_term, 0),
};
static RECORD(pod_anti_affinity, pod_affinity,
       "io.k8s.api.core.v1.PodAntiAffinity");

static const struct field affinity_fields[] = {
    OBJECT("nodeAffinity", affinity, node_affinity, node_affinity, OPTIONAL),
    OBJECT("podAffinity", affinity, pod_affinity, pod_affinity, OPTIONAL),
    OBJECT("podAntiAffinity", affinity, pod_anti_affinity, pod_anti_affinity,
        OPTIONAL),
};
RECORD(affinity, affinity, "io.k8s.api.core.v1.Affinity");

static const struct field toleration_fields[] = {
    STRING("key", toleration, key, 0,
        OFTEN(TAINT_NOT_READY, TAINT_UNREACHABLE, TAINT_UNSCHEDULABLE,
            TAINT_VIRTUAL)),
    STRING("operator", toleration, operator_, 0, ONE_OF("Equal", "Exists")),
    STRING("effect", toleration, effect, 0,
        ONE_OF("NoExecute", "NoSchedule", "PreferNoSchedule")),
    INT64("tolerationSeconds", toleration, toleration_seconds, OPTIONAL),
    STRING("value", toleration, value, 0),
};
RECORD(toleration, toleration, "io.k8s.api.core.v1.Toleration");

static const struct field topology_spread_fields[] = {
    INT("maxSkew", topology_spread, max_skew, ALWAYS | REQUIRED),
    STRING("topologyKey", topology_spread, topology_key, ALWAYS | REQUIRED),
    STRING("whenUnsatisfiable", topology_spread, when_unsatisfiable,
        ALWAYS | REQUIRED, ONE_OF("DoNotSchedule", "ScheduleAnyway")),
    OBJECT("labelSelector", topology_spread, label_selector, label_selector,
        OPTIONAL),
    LIST(STRING, "matchLabelKeys", topology_spread, match_label_keys, 0),
    INT("minDomains", topology_spread, min_domains, OPTIONAL),
    STRING("nodeAffinityPolicy", topology_spread, node_affinity_policy, KEPT,
        ONE_OF("Honor", "Ignore")),
    STRING("nodeTaintsPolicy", topology_spread, node_taints_policy, KEPT,
        ONE_OF("Honor", "Ignore")),
};
RECORD(topology_spread, topology_spread,
       "io.k8s.api.core.v1.TopologySpreadConstraint");
/* clang-format on */

/* Absent and empty are the same on the wire. */
static bool
same_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static bool
is_empty(const char *text)
{
    return text == NULL || *text == '\0';
}

bool
toleration_tolerates(const struct toleration *toleration,
                     const struct taint *taint)
{
    if (!is_empty(toleration->effect)
        && !same_text(toleration->effect, taint->effect))
        return false;
    if (!is_empty(toleration->key) && !same_text(toleration->key, taint->key))
        return false;
    if (is_empty(toleration->operator_)
        || strcmp(toleration->operator_, "Equal") == 0)
        return same_text(toleration->value, taint->value);
    return strcmp(toleration->operator_, "Exists") == 0;
}
