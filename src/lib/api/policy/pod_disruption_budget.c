/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/policy/pod_disruption_budget.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/object/delete_options.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object/table.h"
#include "lib/api/value/rows.h"
#include "lib/json/json.h"

/* clang-format off */
static const struct field pod_disruption_budget_spec_fields[] = {
    INT_OR_STRING("minAvailable", pod_disruption_budget, min_available, KEPT,
        HELP("How many pods, or which part of them, must stay: \"50%\".")),
    OBJECT("selector", pod_disruption_budget, selector, label_selector,
        OPTIONAL, PATCH_REPLACE,
        HELP("The pods that it applies to.")),
    INT_OR_STRING("maxUnavailable", pod_disruption_budget, max_unavailable,
        KEPT,
        HELP("How many pods, or which part of them, may be missing.")),
    STRING("unhealthyPodEvictionPolicy", pod_disruption_budget,
        unhealthy_eviction, KEPT, ONE_OF("AlwaysAllow", "IfHealthyBudget"),
        HELP("When pods that are not ready may be evicted: IfHealthyBudget "
             "or AlwaysAllow.")),
};
static RECORD(pod_disruption_budget_spec, pod_disruption_budget,
       "io.k8s.api.policy.v1.PodDisruptionBudgetSpec",
       MESSAGE("minAvailable selector maxUnavailable "
               "unhealthyPodEvictionPolicy"),
       HELP("How many pods must stay."));

static const struct field pod_disruption_budget_status_fields[] = {
    INT64("observedGeneration", pod_disruption_budget, observed_generation, 0,
        HELP("The generation of the spec that was used for counting.")),
    OPAQUE_MAP(TIME, "disruptedPods", 0,
        HELP("Pods that are being evicted, and since when.")),
    INT("disruptionsAllowed", pod_disruption_budget, disruptions_allowed,
        ALWAYS | REQUIRED,
        HELP("How many may be evicted now.")),
    INT("currentHealthy", pod_disruption_budget, current_healthy,
        ALWAYS | REQUIRED,
        HELP("How many are ready.")),
    INT("desiredHealthy", pod_disruption_budget, desired_healthy,
        ALWAYS | REQUIRED,
        HELP("How many must be ready.")),
    INT("expectedPods", pod_disruption_budget, expected_pods,
        ALWAYS | REQUIRED,
        HELP("How many there are in total.")),
    OPAQUE_OBJECTS("conditions", meta_condition, 0, BY_KEY("type"),
        HELP("Its conditions.")),
};
static RECORD(pod_disruption_budget_status, pod_disruption_budget,
       "io.k8s.api.policy.v1.PodDisruptionBudgetStatus",
       MESSAGE("observedGeneration disruptedPods disruptionsAllowed "
               "currentHealthy desiredHealthy expectedPods conditions"),
       HELP("The state of a budget."));

static const struct field pod_disruption_budget_fields[] = {
    TYPE_META,
    METADATA(pod_disruption_budget),
    WITHIN("spec", pod_disruption_budget_spec, ALWAYS,
        HELP("Desired state.")),
    WITHIN("status", pod_disruption_budget_status, ALWAYS,
        HELP("Current state; set only by the system.")),
};
RECORD(pod_disruption_budget, pod_disruption_budget,
       "io.k8s.api.policy.v1.PodDisruptionBudget",
       MESSAGE("metadata spec status"),
       HELP("Limits how many pods may be evicted at a time, by drains and "
            "preemption."));

static const struct field eviction_fields[] = {
    TYPE_META,
    OPAQUE_OBJECT("metadata", meta, ALWAYS,
        HELP("Name and namespace of the pod.")),
    OPAQUE_OBJECT("deleteOptions", delete_options, 0,
        HELP("How it is deleted.")),
};
OPAQUE_RECORD(eviction, "io.k8s.api.policy.v1.Eviction",
       MESSAGE("metadata deleteOptions"),
       HELP("Evicts a pod, if the budgets allow it."));
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

    meta_prepare(arena, budget, old);
    json_set(arena, budget, "status", status != NULL ? status : json_object(arena));
}

/* The value must be a number, or a percentage of at most 100. */
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
        causes_add(c, CAUSE_INVALID, name, json_get(spec, name),
                   "a valid percent string must be a numeric string followed "
                   "by an ending '%%' (e.g. '1%%',  or '93%%', regex used for "
                   "validation is '[0-9]+%%')");
    else if (digits > 3 || strtol(text, NULL, 10) > 100)
        causes_add(c, CAUSE_INVALID, name, json_get(spec, name), "must not be greater than 100%%");
}

static void
validate(struct causes *c, const struct json *budget, const struct json *old)
{
    const struct json *spec = json_get(budget, "spec");
    unsigned at;

    at = causes_enter(c, "spec");
    if (check_is_set(spec, "minAvailable") && check_is_set(spec, "maxUnavailable"))
        causes_add(c, CAUSE_INVALID, "", spec,
                   "minAvailable and maxUnavailable cannot be both set");
    check_share(c, spec, "minAvailable");
    check_share(c, spec, "maxUnavailable");
    check_label_selector(c, spec, "selector");
    check_one_of(c, spec, "unhealthyPodEvictionPolicy",
                 CHECK_VALUES("AlwaysAllow", "IfHealthyBudget"));
    causes_leave(c, at);
    /* At creation upstream checks the metadata only if everything else is
     * valid.
     */
    if (old != NULL || c->count == 0)
        meta_check(c, &pod_disruption_budget_kind, NAME_PATH_SEGMENT, budget, old);
}

static void
validate_status(struct causes *c, const struct json *budget, const struct json *old)
{
    static const char *const counts[] = {
        "disruptionsAllowed",
        "currentHealthy",
        "desiredHealthy",
        "expectedPods",
    };
    const struct json *status = json_get(budget, "status");
    unsigned at;

    meta_check(c, &pod_disruption_budget_kind, NAME_PATH_SEGMENT, budget, old);
    at = causes_enter(c, "status");
    meta_check_conditions(c, status);
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
        check_not_negative(c, status, counts[i]);
    causes_leave(c, at);
}

/* Writes a number, or a percentage such as "50%". */
static void
add_amount(struct table_row *row, const char *path)
{
    const struct json *value = json_get_path(row->summary, path);

    table_cell(row,
               json_is(value, JSON_STRING) || json_is(value, JSON_NUMBER) ? value->text : "N/A");
}

static void
add_min_available(struct table_row *row)
{
    add_amount(row, "spec.minAvailable");
}

static void
add_max_unavailable(struct table_row *row)
{
    add_amount(row, "spec.maxUnavailable");
}

static void
add_allowed(struct table_row *row)
{
    table_cell_int(row, json_get_int(json_get(row->summary, "status"), "disruptionsAllowed", 0));
}

/* clang-format off */
static const struct table_column columns[] = {
    TABLE_NAME,
    COLUMN("Min Available", add_min_available, "How many must stay."),
    COLUMN("Max Unavailable", add_max_unavailable, "How many may be missing."),
    COLUMN("Allowed Disruptions", add_allowed, "How many may be evicted now.",
        INTEGER),
    TABLE_AGE,
};
static const struct table table = {
    TABLE_COLUMNS(columns),
    .summarize = table_tree,
};
/* clang-format on */

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
    .validate_status = validate_status,
    .table = &table,
};
