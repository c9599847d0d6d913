/* SPDX-License-Identifier: Apache-2.0 */
/* job_policy_rules.c - validation of a job's policies
 *
 * Source: k8s.io/kubernetes/pkg/apis/batch/validation of 1.32.
 */
#include <inttypes.h>
#include <string.h>

#include "lib/api/job/job_rules.h"
#include "lib/api/object/check.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

/* --- failure policy ------------------------------------------------------- */

#define RULES_MAX          20
#define INDEXES_LENGTH_MAX (64 * 1024)

static bool
is_container(const struct json *spec, const char *name)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const struct json *pod = json_get_path(spec, "template.spec");

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        const struct json *list = json_get(pod, lists[i]);

        for (uint32_t j = 0; j < json_count(list); j++)
            if (strcmp(check_text(json_at(list, j), "name"), name) == 0)
                return true;
    }
    return false;
}

static int64_t
number_at(const struct json *list, uint32_t i)
{
    int64_t n = 0;

    (void)json_to_int(json_at(list, i), &n);
    return n;
}

static void
check_exit_values(struct causes *c, const struct json *codes)
{
    const struct json *values = json_get(codes, "values");
    bool is_in = strcmp(check_text(codes, "operator"), "In") == 0;
    bool in_order = true;
    CHECK_TEXTS(numbers);

    if (json_count(values) == 0)
        causes_add(c, CAUSE_INVALID, "values", values, "at least one value is required");
    else if (values->count > 255)
        causes_add(c, CAUSE_TOO_MANY, "values", json_int(c->arena, values->count),
                   "must have at most 255 items");
    for (uint32_t i = 0; i < json_count(values); i++) {
        int64_t n = number_at(values, i);
        unsigned at = causes_enter_index(c, "values", i);

        if (is_in && n == 0)
            causes_add(c, CAUSE_INVALID, "", json_at(values, i),
                       "must not be 0 for the In operator");
        if (!check_texts_add(&numbers, arena_printf(c->arena, "%" PRId64, n)))
            causes_add(c, CAUSE_DUPLICATE, "", json_at(values, i), "%s", "");
        in_order = in_order && (i == 0 || number_at(values, i - 1) <= n);
        causes_leave(c, at);
    }
    if (!in_order)
        causes_add(c, CAUSE_INVALID, "values", values, "must be ordered");
}

static void
check_exit_codes(struct causes *c, const struct json *spec, const struct json *codes)
{
    const char *name = check_text(codes, "containerName");

    if (check_present(c, codes, "operator", "valid values: \"In\", \"NotIn\""))
        check_one_of(c, codes, "operator", CHECK_VALUES("In", "NotIn"));
    if (check_is_set(codes, "containerName") && !is_container(spec, name))
        causes_add(c, CAUSE_INVALID, "containerName", json_get(codes, "containerName"),
                   "must be one of the container or initContainer names in "
                   "the pod template");
    check_exit_values(c, codes);
}

static void
check_pod_conditions(struct causes *c, const struct json *rule)
{
    const struct json *list = json_get(rule, "onPodConditions");

    if (json_count(list) > RULES_MAX)
        causes_add(c, CAUSE_TOO_MANY, "onPodConditions", json_int(c->arena, list->count),
                   "must have at most %d items", RULES_MAX);
    for (uint32_t i = 0; i < json_count(list); i++) {
        unsigned at = causes_enter_index(c, "onPodConditions", i);

        check_name(c, json_at(list, i), "type", NAME_QUALIFIED);
        if (check_present(c, json_at(list, i), "status",
                          "valid values: \"False\", \"True\", \"Unknown\""))
            check_one_of(c, json_at(list, i), "status", CHECK_VALUES("False", "True", "Unknown"));
        causes_leave(c, at);
    }
}

static void
check_failure_rule(struct causes *c, const struct json *spec, const struct json *rule)
{
    bool has_codes = check_is_set(rule, "onExitCodes");
    bool has_conditions = json_count(json_get(rule, "onPodConditions")) > 0;
    unsigned at;

    if (check_present(c, rule, "action",
                      "valid values: \"Count\", \"FailIndex\", \"FailJob\", "
                      "\"Ignore\"")
        && check_one_of(c, rule, "action", CHECK_VALUES("Count", "FailIndex", "FailJob", "Ignore"))
        && strcmp(check_text(rule, "action"), "FailIndex") == 0
        && !check_is_set(spec, "backoffLimitPerIndex"))
        causes_add(c, CAUSE_INVALID, "action", json_get(rule, "action"),
                   "requires the backoffLimitPerIndex to be set");
    if (has_codes) {
        at = causes_enter(c, "onExitCodes");
        check_exit_codes(c, spec, json_get(rule, "onExitCodes"));
        causes_leave(c, at);
    }
    check_pod_conditions(c, rule);
    if (has_codes && has_conditions)
        causes_add(c, CAUSE_INVALID, "", NULL,
                   "specifying both OnExitCodes and OnPodConditions is not "
                   "supported");
    if (!has_codes && !has_conditions)
        causes_add(c, CAUSE_INVALID, "", NULL,
                   "specifying one of OnExitCodes and OnPodConditions is "
                   "required");
}

void
job_failure_policy_check(struct causes *c, const struct json *spec)
{
    const struct json *rules = json_get_path(spec, "podFailurePolicy.rules");
    unsigned at = causes_enter(c, "podFailurePolicy");

    if (json_count(rules) > RULES_MAX)
        causes_add(c, CAUSE_TOO_MANY, "rules", json_int(c->arena, rules->count),
                   "must have at most %d items", RULES_MAX);
    for (uint32_t i = 0; i < json_count(rules); i++) {
        unsigned inside = causes_enter_index(c, "rules", i);

        check_failure_rule(c, spec, json_at(rules, i));
        causes_leave(c, inside);
    }
    causes_leave(c, at);
}

/* --- success policy ------------------------------------------------------- */

static void
check_success_indexes(struct causes *c, const struct json *rule, int64_t completions,
                      int64_t *ret_total)
{
    const struct json *v = json_get(rule, "succeededIndexes");
    const char *why = NULL;

    *ret_total = 0;
    if (json_text(v) == NULL)
        return;
    if (v->count > INDEXES_LENGTH_MAX)
        causes_add(c, CAUSE_TOO_LONG, "succeededIndexes", NULL, "may not be more than %d bytes",
                   INDEXES_LENGTH_MAX);
    if (job_indexes_count(c->arena, v->text, completions, ret_total, &why) < 0)
        causes_add(c, CAUSE_INVALID, "succeededIndexes", v, "error parsing succeededIndexes: %s",
                   why);
}

static void
check_success_rule(struct causes *c, const struct json *rule, int64_t completions)
{
    bool has_indexes = json_text(json_get(rule, "succeededIndexes")) != NULL;
    int64_t count = json_get_int(rule, "succeededCount", 0);
    int64_t total;

    check_success_indexes(c, rule, completions, &total);
    if (!check_is_set(rule, "succeededCount")) {
        if (!has_indexes)
            causes_add(c, CAUSE_REQUIRED, "", NULL,
                       "at least one of succeededCount or succeededIndexes "
                       "must be specified");
        return;
    }
    check_not_negative(c, rule, "succeededCount");
    if (count > completions)
        causes_add(c, CAUSE_INVALID, "succeededCount", json_get(rule, "succeededCount"),
                   "must be less than or equal to %" PRId64
                   " (the number of specified completions)",
                   completions);
    if (has_indexes && count > total)
        causes_add(c, CAUSE_INVALID, "succeededCount", json_get(rule, "succeededCount"),
                   "must be less than or equal to %" PRId64
                   " (the number of indexes in the specified "
                   "succeededIndexes field)",
                   total);
}

void
job_success_policy_check(struct causes *c, const struct json *spec)
{
    bool indexed = strcmp(check_text(spec, "completionMode"), "Indexed") == 0;
    const struct json *policy = json_get(spec, "successPolicy");
    const struct json *rules = json_get(policy, "rules");
    int64_t completions = json_get_int(spec, "completions", 0);
    unsigned at;

    if (!json_is(policy, JSON_OBJECT))
        return;
    if (!indexed) {
        causes_add(c, CAUSE_INVALID, "successPolicy", policy, "requires indexed completion mode");
        return;
    }
    at = causes_enter(c, "successPolicy");
    if (json_count(rules) == 0)
        causes_add(c, CAUSE_REQUIRED, "rules", NULL,
                   "at least one rules must be specified when the "
                   "successPolicy is specified");
    if (json_count(rules) > RULES_MAX)
        causes_add(c, CAUSE_TOO_MANY, "rules", json_int(c->arena, rules->count),
                   "must have at most %d items", RULES_MAX);
    for (uint32_t i = 0; i < json_count(rules); i++) {
        unsigned inside = causes_enter_index(c, "rules", i);

        check_success_rule(c, json_at(rules, i), completions);
        causes_leave(c, inside);
    }
    causes_leave(c, at);
}
