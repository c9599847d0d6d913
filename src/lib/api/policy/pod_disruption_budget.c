/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/policy/pod_disruption_budget.h"

#include <ctype.h>
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

/* --- status ---------------------------------------------------------------- */

#define REASON_LENGTH_MAX  1024
#define MESSAGE_LENGTH_MAX (32 * 1024)

/* Begins with a letter, continues with letters, digits and "_,:", and does not
 * end with ',' or ':'.
 */
static bool
is_reason(const char *text)
{
    size_t n = strlen(text);

    if (!isalpha((unsigned char)text[0])
        || !(isalnum((unsigned char)text[n - 1]) || text[n - 1] == '_'))
        return false;
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && strchr("_,:", *text) == NULL)
            return false;
    return true;
}

static void
check_too_long(struct causes *c, const struct json *object, const char *name, unsigned most)
{
    if (strlen(check_text(object, name)) > most)
        causes_add(c, CAUSE_TOO_LONG, name, NULL, "may not be more than %u bytes", most);
}

static void
check_condition(struct causes *c, const struct json *condition)
{
    check_name(c, condition, "type", NAME_QUALIFIED);
    check_one_of(c, condition, "status", CHECK_VALUES("False", "True", "Unknown"));
    if (json_get_int(condition, "observedGeneration", 0) < 0)
        causes_add(c, CAUSE_INVALID, "observedGeneration",
                   json_get(condition, "observedGeneration"),
                   "must be greater than or equal to zero");
    check_present(c, condition, "lastTransitionTime", "must be set");
    if (check_present(c, condition, "reason", "must be set")
        && !is_reason(check_text(condition, "reason")))
        causes_add(c, CAUSE_INVALID, "reason", json_get(condition, "reason"),
                   "a condition reason must start with alphabetic character, "
                   "optionally followed by a string of alphanumeric characters "
                   "or '_,:', and must end with an alphanumeric character or "
                   "'_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or "
                   "'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for "
                   "validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')");
    check_too_long(c, condition, "reason", REASON_LENGTH_MAX);
    check_too_long(c, condition, "message", MESSAGE_LENGTH_MAX);
}

static void
check_conditions(struct causes *c, const struct json *status)
{
    const struct json *list = json_get(status, "conditions");
    CHECK_TEXTS(types);

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *condition = json_at(list, i);
        unsigned at = causes_enter_index(c, "conditions", i);

        if (!check_texts_add(&types, check_text(condition, "type")))
            causes_add(c, CAUSE_DUPLICATE, "type", json_get(condition, "type"), "%s", "");
        check_condition(c, condition);
        causes_leave(c, at);
    }
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
    check_conditions(c, status);
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
