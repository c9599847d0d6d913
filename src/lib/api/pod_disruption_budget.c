/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/pod_disruption_budget.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/check.h"
#include "lib/api/delete_options.h"
#include "lib/api/kind.h"
#include "lib/api/meta.h"
#include "lib/api/object.h"
#include "lib/api/rows.h"
#include "lib/json/json.h"

/* clang-format off */
static const struct field pod_disruption_budget_spec_fields[] = {
    INT_OR_STRING("minAvailable", pod_disruption_budget, min_available, KEPT,
        HELP("So many must stay, or this part: \"50%\".")),
    OBJECT("selector", pod_disruption_budget, selector, label_selector,
        OPTIONAL, PATCH_REPLACE,
        HELP("Of which pods.")),
    INT_OR_STRING("maxUnavailable", pod_disruption_budget, max_unavailable,
        KEPT,
        HELP("So many may be missing, or this part.")),
    STRING("unhealthyPodEvictionPolicy", pod_disruption_budget,
        unhealthy_eviction, KEPT, ONE_OF("AlwaysAllow", "IfHealthyBudget"),
        HELP("When pods that are not ready may go: IfHealthyBudget or "
             "AlwaysAllow.")),
};
static RECORD(pod_disruption_budget_spec, pod_disruption_budget,
       "io.k8s.api.policy.v1.PodDisruptionBudgetSpec",
       HELP("How many pods must stay."));

static const struct field pod_disruption_budget_status_fields[] = {
    INT64("observedGeneration", pod_disruption_budget, observed_generation, 0,
        HELP("The generation of the spec that was counted by.")),
    OPAQUE_MAP(TIME, "disruptedPods", 0,
        HELP("Pods that are on their way out, and since when.")),
    INT("disruptionsAllowed", pod_disruption_budget, disruptions_allowed,
        ALWAYS | REQUIRED,
        HELP("How many may go now.")),
    INT("currentHealthy", pod_disruption_budget, current_healthy,
        ALWAYS | REQUIRED,
        HELP("How many are there and ready.")),
    INT("desiredHealthy", pod_disruption_budget, desired_healthy,
        ALWAYS | REQUIRED,
        HELP("How many must be.")),
    INT("expectedPods", pod_disruption_budget, expected_pods,
        ALWAYS | REQUIRED,
        HELP("How many there are.")),
    OPAQUE_OBJECTS("conditions", meta_condition, 0, BY_KEY("type"),
        HELP("What is known about it, point by point.")),
};
static RECORD(pod_disruption_budget_status, pod_disruption_budget,
       "io.k8s.api.policy.v1.PodDisruptionBudgetStatus",
       HELP("How a budget stands."));

static const struct field pod_disruption_budget_fields[] = {
    TYPE_META,
    METADATA(pod_disruption_budget),
    WITHIN("spec", pod_disruption_budget_spec, ALWAYS,
        HELP("What is wanted.")),
    WITHIN("status", pod_disruption_budget_status, ALWAYS,
        HELP("What is; written by the system alone.")),
};
RECORD(pod_disruption_budget, pod_disruption_budget,
       "io.k8s.api.policy.v1.PodDisruptionBudget",
       HELP("How many pods of a kind may be taken away at a time, by "
            "drains and preemption."));

static const struct field eviction_fields[] = {
    TYPE_META,
    OPAQUE_OBJECT("metadata", meta, ALWAYS,
        HELP("Name and namespace of the pod.")),
    OPAQUE_OBJECT("deleteOptions", delete_options, 0,
        HELP("How it is deleted.")),
};
OPAQUE_RECORD(eviction, "io.k8s.api.policy.v1.Eviction",
       HELP("Asks for a pod to go, if the budgets allow it."));
/* clang-format on */

const struct pod_disruption_budget *
pod_disruption_budget_of(const struct object *object)
{
    return object->view;
}

static void
prepare(struct arena *arena, struct json *budget, const struct json *old)
{
    struct json *status = json_get(old, "status");

    meta_prepare(&pod_disruption_budget_kind, arena, budget, old);
    json_set(arena,
             budget,
             "status",
             status != NULL ? status : json_object(arena));
}

/* A number, or a share of 100 per cent at most. */
static void
check_share(struct causes *c, const struct json *spec, const char *name)
{
    const char *text = json_get_text(spec, name);
    size_t digits;

    if (text == NULL) {
        check_not_negative(c, spec, name);
        return;
    }
    digits = strspn(text, "0123456789");
    if (digits == 0 || strcmp(text + digits, "%") != 0)
        causes_add(c,
                   CAUSE_INVALID,
                   name,
                   json_get(spec, name),
                   "a valid percent string must be a numeric string followed "
                   "by an ending '%%' (e.g. '1%%',  or '93%%', regex used for "
                   "validation is '[0-9]+%%')");
    else if (digits > 3 || strtol(text, NULL, 10) > 100)
        causes_add(c,
                   CAUSE_INVALID,
                   name,
                   json_get(spec, name),
                   "must not be greater than 100%%");
}

static void
validate(struct causes *c, const struct json *budget, const struct json *old)
{
    const struct json *spec = json_get(budget, "spec");
    unsigned at;

    meta_check(c, &pod_disruption_budget_kind, NAME_PATH_SEGMENT, budget, old);
    at = causes_enter(c, "spec");
    if (check_is_set(spec, "minAvailable")
        && check_is_set(spec, "maxUnavailable"))
        causes_add(c,
                   CAUSE_INVALID,
                   "",
                   spec,
                   "minAvailable and maxUnavailable cannot be both set");
    check_share(c, spec, "minAvailable");
    check_share(c, spec, "maxUnavailable");
    check_label_selector(c, spec, "selector");
    check_one_of(c,
                 spec,
                 "unhealthyPodEvictionPolicy",
                 CHECK_VALUES("AlwaysAllow", "IfHealthyBudget"));
    causes_leave(c, at);
}

const struct kind pod_disruption_budget_kind = {
    .group = "policy",
    .version = "v1",
    .api_version = "policy/v1",
    .name = "PodDisruptionBudget",
    .list_name = "PodDisruptionBudgetList",
    .plural = "poddisruptionbudgets",
    .singular = "poddisruptionbudget",
    .short_names = (const char *const[]){"pdb", NULL},
    .flags = KIND_NAMESPACED | KIND_HAS_STATUS | KIND_GENERATION,
    .record = &pod_disruption_budget_record,
    .prepare = prepare,
    .validate = validate,
};
