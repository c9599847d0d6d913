/* SPDX-License-Identifier: Apache-2.0 */
/* pod_strategy.c - defaults, preparation and validation of a pod on its way
 * from a request to the store
 *
 * Source: k8s.io/kubernetes/pkg/registry/core/pod and
 * pkg/apis/core/validation of 1.32.
 */
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod_strategy.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/value/quantity.h"
#include "lib/json/json.h"

#define REQUIRED_TERMS  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED_TERMS "preferredDuringSchedulingIgnoredDuringExecution"

void
pod_set_defaults(struct arena *arena, struct json *pod)
{
    struct json *spec = json_make_object(arena, pod, "spec");

    pod_spec_set_defaults(arena, spec);
    pod_only_set_defaults(arena, spec);
}

/* --- preparing ------------------------------------------------------------ */

/* Sums of requests and limits of the resources that determine the QoS class. */
struct service {
    struct quantity requests[2], limits[2]; /* cpu, memory */
    bool has_request[2], has_limit[2];
    bool is_guaranteed;
};

static const char *const service_resources[2] = {"cpu", "memory"};

static bool
add_amount(const struct json *list, const char *name, struct quantity *sum, bool *has)
{
    const char *text = json_get_text(list, name);
    struct quantity q;

    if (text == NULL || quantity_parse(text, &q) < 0 || quantity_sign(&q) <= 0)
        return false;
    quantity_add(sum, &q);
    *has = true;
    return true;
}

static void
add_container(struct service *s, const struct json *container)
{
    const struct json *resources = json_get(container, "resources");
    const struct json *requests = json_get(resources, "requests");
    const struct json *limits = json_get(resources, "limits");

    for (unsigned i = 0; i < 2; i++) {
        add_amount(requests, service_resources[i], &s->requests[i], &s->has_request[i]);
        if (!add_amount(limits, service_resources[i], &s->limits[i], &s->has_limit[i]))
            s->is_guaranteed = false;
    }
}

static const char *
quality_of_service(const struct json *spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    struct service s = {.is_guaranteed = true};

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        const struct json *list = json_get(spec, lists[i]);

        for (uint32_t j = 0; j < json_count(list); j++)
            add_container(&s, json_at(list, j));
    }
    if (!s.has_request[0] && !s.has_request[1] && !s.has_limit[0] && !s.has_limit[1])
        return "BestEffort";
    for (unsigned i = 0; i < 2; i++)
        if (s.has_request[i] != s.has_limit[i]
            || quantity_compare(&s.requests[i], &s.limits[i]) != 0)
            s.is_guaranteed = false;
    return s.is_guaranteed ? "Guaranteed" : "Burstable";
}

/* Turns label keys into requirements with the values of this pod's labels. */
static void
add_requirements(struct arena *arena, struct json *term, const char *keys_name,
                 const char *operator_, const struct json *labels)
{
    const struct json *keys = json_get(term, keys_name);
    struct json *selector = json_get(term, "labelSelector");

    if (!json_is(selector, JSON_OBJECT))
        return;
    for (uint32_t i = 0; i < json_count(keys); i++) {
        const char *key = json_at(keys, i)->text;
        struct json *list = json_get(selector, "matchExpressions");
        struct json *requirement = json_object(arena);
        struct json *values = json_array(arena);
        struct json *value = json_get(labels, key);

        if (value == NULL)
            continue;
        if (list == NULL) {
            list = json_array(arena);
            json_set(arena, selector, "matchExpressions", list);
        }
        json_append(arena, values, json_dup(arena, value));
        json_set_string(arena, requirement, "key", key);
        json_set_string(arena, requirement, "operator", operator_);
        json_set(arena, requirement, "values", values);
        json_append(arena, list, requirement);
    }
}

static void
apply_term_keys(struct arena *arena, struct json *term, const struct json *labels)
{
    add_requirements(arena, term, "matchLabelKeys", "In", labels);
    add_requirements(arena, term, "mismatchLabelKeys", "NotIn", labels);
}

static void
apply_label_keys(struct arena *arena, struct json *pod)
{
    static const char *const kinds_of_affinity[] = {
        "podAffinity",
        "podAntiAffinity",
    };
    const struct json *labels = json_get_path(pod, "metadata.labels");
    const struct json *affinity = json_get_path(pod, "spec.affinity");

    for (size_t i = 0; i < ARRAY_SIZE(kinds_of_affinity); i++) {
        const struct json *part = json_get(affinity, kinds_of_affinity[i]);
        const struct json *required = json_get(part, REQUIRED_TERMS);
        const struct json *preferred = json_get(part, PREFERRED_TERMS);

        for (uint32_t j = 0; j < json_count(required); j++)
            apply_term_keys(arena, json_at(required, j), labels);
        for (uint32_t j = 0; j < json_count(preferred); j++)
            apply_term_keys(arena, json_get(json_at(preferred, j), "podAffinityTerm"), labels);
    }
}

static struct json *
gated_condition(struct arena *arena, struct json *since)
{
    struct json *condition = json_object(arena);

    json_set_string(arena, condition, "type", "PodScheduled");
    json_set_string(arena, condition, "status", "False");
    json_set(arena, condition, "lastProbeTime", json_null(arena));
    json_set(arena, condition, "lastTransitionTime", since);
    json_set_string(arena, condition, "reason", REASON_SCHEDULING_GATED);
    json_set_string(arena, condition, "message",
                    "Scheduling is blocked due to non-empty scheduling gates");
    return condition;
}

/* Like upstream, drops the fields of features that are off by default, except a
 * field that the old pod has.
 */
void
pod_spec_drop_disabled(struct arena *arena, struct json *spec, const struct json *old)
{
    static const char *const lists[] = {
        "initContainers",
        "containers",
        "ephemeralContainers",
    };

    if (!check_is_set(old, "resources"))
        json_remove(spec, "resources");
    if (!check_is_set(old, "hostUsers"))
        json_remove(spec, "hostUsers");
    if (!check_is_set(old, "resourceClaims"))
        json_remove(spec, "resourceClaims");
    json_remove(json_get(spec, "securityContext"), "supplementalGroupsPolicy");
    json_remove(json_get(spec, "securityContext"), "seLinuxChangePolicy");
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        const struct json *list = json_get(spec, lists[i]);

        for (uint32_t j = 0; j < json_count(list); j++) {
            struct json *container = json_at(list, j);
            struct json *context = json_get(container, "securityContext");

            json_remove(container, "resizePolicy");
            if (check_is_set(context, "procMount"))
                json_set_string(arena, context, "procMount", "Default");
            json_remove(json_get(container, "resources"), "claims");
        }
    }
}

void
pod_prepare(struct arena *arena, struct json *pod, const struct json *old)
{
    struct json *spec = json_get(pod, "spec");
    struct json *status, *conditions;

    meta_prepare(arena, pod, old);
    pod_spec_drop_disabled(arena, spec, json_get(old, "spec"));
    if (old != NULL) {
        status = json_get(old, "status");
        json_set(arena, pod, "status", status != NULL ? status : json_object(arena));
        return;
    }
    status = json_object(arena);
    json_set_string(arena, status, "phase", "Pending");
    if (json_count(json_get(spec, "schedulingGates")) > 0) {
        conditions = json_array(arena);
        json_append(arena, conditions,
                    gated_condition(arena, json_get_path(pod, "metadata."
                                                              "creationTimestamp")));
        json_set(arena, status, "conditions", conditions);
    }
    json_set_string(arena, status, "qosClass", quality_of_service(spec));
    json_set(arena, pod, "status", status);
    apply_label_keys(arena, pod);
    pod_annotations_join(arena, pod);
}

/* podIP equals the first of podIPs; if they differ, podIP wins, because it is
 * the older field.
 */
static void
join_addresses(struct arena *arena, struct json *status)
{
    const char *address = check_text(status, "podIP");
    struct json *list = json_get(status, "podIPs");
    struct json *item;

    if (*address == '\0') {
        if (json_count(list) > 0)
            json_set_string(arena, status, "podIP", check_text(json_at(list, 0), "ip"));
        return;
    }
    if (json_count(list) > 0 && strcmp(check_text(json_at(list, 0), "ip"), address) == 0)
        return;
    list = json_array(arena);
    item = json_object(arena);
    json_set_string(arena, item, "ip", address);
    json_append(arena, list, item);
    json_set(arena, status, "podIPs", list);
}

/* A status without a QoS class keeps the present one. */
void
pod_prepare_status(struct arena *arena, struct json *pod, const struct json *old)
{
    const char *was = json_path_text(old, "status.qosClass");

    if (was != NULL && json_path_text(pod, "status.qosClass") == NULL)
        json_set_string(arena, json_make_object(arena, pod, "status"), "qosClass", was);
    join_addresses(arena, json_get(pod, "status"));
}

/* --- validating ----------------------------------------------------------- */

static void
check_images(struct causes *c, const struct json *spec, const char *list_name)
{
    const struct json *list = json_get(spec, list_name);

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *container = json_at(list, i);
        unsigned at = causes_enter_index(c, list_name, i);

        if (check_has_outer_space(check_text(container, "image")))
            causes_add(c, CAUSE_INVALID, "image", json_get(container, "image"),
                       "must not have leading or trailing whitespace");
        causes_leave(c, at);
    }
}

static void
check_both(struct causes *c, const struct json *pod)
{
    const struct json *spec = json_get(pod, "spec");
    unsigned at = causes_enter(c, "metadata");

    pod_annotations_check(c, json_get(pod, "metadata"), spec);
    causes_leave(c, at);
    at = causes_enter(c, "spec");
    pod_spec_check(c, spec);
    pod_only_check(c, spec);
    check_images(c, spec, "containers");
    check_images(c, spec, "initContainers");
    causes_leave(c, at);
}

static void
check_creation(struct causes *c, const struct json *pod)
{
    const struct json *spec = json_get(pod, "spec");
    unsigned at = causes_enter(c, "spec");

    if (json_count(json_get(spec, "ephemeralContainers")) > 0)
        causes_add(c, CAUSE_FORBIDDEN, "ephemeralContainers", NULL, "cannot be set on create");
    if (*check_text(spec, "nodeName") != '\0' && json_count(json_get(spec, "schedulingGates")) > 0)
        causes_add(c, CAUSE_FORBIDDEN, "nodeName", NULL,
                   "cannot be set until all schedulingGates have been cleared");
    pod_annotations_match(c, pod);
    causes_leave(c, at);
}

static void
check_annotation_changes(struct causes *c, const struct json *pod, const struct json *old)
{
    unsigned at = causes_enter(c, "metadata");

    pod_annotation_changes_check(c, json_get(pod, "metadata"), json_get(old, "metadata"));
    causes_leave(c, at);
}

static void
check_update(struct causes *c, const struct json *pod, const struct json *old)
{
    check_annotation_changes(c, pod, old);
    pod_changes_check(c, json_get(pod, "spec"), json_get(old, "spec"));
}

void
pod_validate(struct causes *c, const struct json *pod, const struct json *old)
{
    meta_check(c, &pod_kind, NAME_DNS_SUBDOMAIN, pod, old);
    check_both(c, pod);
    if (old == NULL)
        check_creation(c, pod);
    else
        check_update(c, pod, old);
}

/* Warns only of new pods: updates are many, and few are made by people. */
void
pod_warn_of(struct causes *c, const struct json *pod, const struct json *old)
{
    const char *why = name_refuse_all(c->arena, NAME_DNS_LABEL,
                                      check_text(json_get(pod, "metadata"), "name"), " ");

    if (old != NULL)
        return;
    if (why != NULL)
        causes_warn(c, "metadata.name",
                    "this is used in the Pod's hostname, which can result in "
                    "surprising behavior; a DNS label is recommended: [%s]",
                    why);
    pod_warn(c, pod);
}
