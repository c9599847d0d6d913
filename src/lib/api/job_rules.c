/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job_rules.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/check.h"
#include "lib/api/meta.h"
#include "lib/api/pod_rules.h"
#include "lib/api/pod_strategy.h"
#include "lib/api/rows.h"
#include "lib/api/selector.h"
#include "lib/json/json.h"

#define MAX_INDEXED 100000

struct label_holder {
    struct string_map labels;
};

bool
job_selector_matches(struct arena *arena,
                     const struct json *selector,
                     const struct json *labels)
{
    static const struct field label_holder_fields[] = {
        MAP(STRING, "labels", label_holder, labels, 0),
    };
    static const struct record label_holder_record = {
        .size = sizeof(struct label_holder),
        RECORD_FIELDS(label_holder_fields),
    };
    struct json *holder = json_object(arena);
    struct label_selector decoded = {0};
    struct label_holder held = {0};

    if (labels != NULL)
        json_set(arena, holder, "labels", json_dup(arena, labels));
    record_decode(&label_holder_record, arena, holder, &held);
    record_decode(&label_selector_record, arena, selector, &decoded);
    return label_selector_matches(&decoded, &held.labels);
}

void
pod_template_check(struct causes *c, const struct json *owner, const char *name)
{
    const struct json *template = json_get(owner, name);
    const struct json *spec = json_get(template, "spec");
    const struct json *meta = json_get(template, "metadata");
    unsigned at = causes_enter(c, name), inside;

    meta_check_labels(c, meta);
    pod_annotations_check(c, meta, spec);
    inside = causes_enter(c, "spec");
    pod_spec_check(c, spec);
    pod_annotations_match(c, template);
    if (json_count(json_get(spec, "ephemeralContainers")) > 0)
        causes_add(c,
                   CAUSE_FORBIDDEN,
                   "ephemeralContainers",
                   NULL,
                   "ephemeral containers not allowed in pod template");
    causes_leave(c, inside);
    causes_leave(c, at);
}

/* --- failure policy ------------------------------------------------------- */

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

    if (json_count(values) == 0)
        causes_add(c,
                   CAUSE_INVALID,
                   "values",
                   values,
                   "at least one value is required");
    else if (values->count > 255)
        causes_add(c,
                   CAUSE_TOO_MANY,
                   "values",
                   json_int(c->arena, values->count),
                   "must have at most 255 items");
    for (uint32_t i = 0; i < json_count(values); i++) {
        int64_t n = number_at(values, i);
        unsigned at = causes_enter_index(c, "values", i);

        if (is_in && n == 0)
            causes_add(c,
                       CAUSE_INVALID,
                       "",
                       json_at(values, i),
                       "must not be 0 for the In operator");
        for (uint32_t j = 0; j < i; j++)
            if (number_at(values, j) == n) {
                causes_add(c,
                           CAUSE_DUPLICATE,
                           "",
                           json_at(values, i),
                           "%s",
                           "");
                break;
            }
        in_order = in_order && (i == 0 || number_at(values, i - 1) <= n);
        causes_leave(c, at);
    }
    if (!in_order)
        causes_add(c, CAUSE_INVALID, "values", values, "must be ordered");
}

static void
check_exit_codes(struct causes *c,
                 const struct json *spec,
                 const struct json *codes)
{
    const char *name = check_text(codes, "containerName");

    if (check_present(c, codes, "operator", "valid values: \"In\", \"NotIn\""))
        check_one_of(c, codes, "operator", CHECK_VALUES("In", "NotIn"));
    if (check_is_set(codes, "containerName") && !is_container(spec, name))
        causes_add(c,
                   CAUSE_INVALID,
                   "containerName",
                   json_get(codes, "containerName"),
                   "must be one of the container or initContainer names in "
                   "the pod template");
    check_exit_values(c, codes);
}

static void
check_pod_conditions(struct causes *c, const struct json *rule)
{
    const struct json *list = json_get(rule, "onPodConditions");

    for (uint32_t i = 0; i < json_count(list); i++) {
        unsigned at = causes_enter_index(c, "onPodConditions", i);

        check_name(c, json_at(list, i), "type", NAME_QUALIFIED);
        if (check_present(c,
                          json_at(list, i),
                          "status",
                          "valid values: \"False\", \"True\", \"Unknown\""))
            check_one_of(c,
                         json_at(list, i),
                         "status",
                         CHECK_VALUES("False", "True", "Unknown"));
        causes_leave(c, at);
    }
}

static void
check_failure_rule(struct causes *c,
                   const struct json *spec,
                   const struct json *rule)
{
    bool has_codes = check_is_set(rule, "onExitCodes");
    bool has_conditions = json_count(json_get(rule, "onPodConditions")) > 0;
    unsigned at;

    if (check_present(c,
                      rule,
                      "action",
                      "valid values: \"Count\", \"FailIndex\", \"FailJob\", "
                      "\"Ignore\"")
        && check_one_of(c,
                        rule,
                        "action",
                        CHECK_VALUES("Count", "FailIndex", "FailJob", "Ignore"))
        && strcmp(check_text(rule, "action"), "FailIndex") == 0
        && !check_is_set(spec, "backoffLimitPerIndex"))
        causes_add(c,
                   CAUSE_INVALID,
                   "action",
                   json_get(rule, "action"),
                   "requires the backoffLimitPerIndex to be set");
    if (has_codes) {
        at = causes_enter(c, "onExitCodes");
        check_exit_codes(c, spec, json_get(rule, "onExitCodes"));
        causes_leave(c, at);
    }
    check_pod_conditions(c, rule);
    if (has_codes && has_conditions)
        causes_add(c,
                   CAUSE_INVALID,
                   "",
                   NULL,
                   "specifying both OnExitCodes and OnPodConditions is not "
                   "supported");
    if (!has_codes && !has_conditions)
        causes_add(c,
                   CAUSE_INVALID,
                   "",
                   NULL,
                   "specifying one of OnExitCodes and OnPodConditions is "
                   "required");
}

static void
check_failure_policy(struct causes *c, const struct json *spec)
{
    const struct json *rules = json_get_path(spec, "podFailurePolicy.rules");
    unsigned at = causes_enter(c, "podFailurePolicy");

    if (json_count(rules) > 20)
        causes_add(c,
                   CAUSE_TOO_MANY,
                   "rules",
                   json_int(c->arena, rules->count),
                   "must have at most 20 items");
    for (uint32_t i = 0; i < json_count(rules); i++) {
        unsigned inside = causes_enter_index(c, "rules", i);

        check_failure_rule(c, spec, json_at(rules, i));
        causes_leave(c, inside);
    }
    causes_leave(c, at);
}

/* --- success policy ------------------------------------------------------- */

/* Indexes as in "1,3-5". Returns how many there are, or adds what is wrong. */
static int64_t
check_indexes(struct causes *c, const struct json *rule, int64_t completions)
{
    const struct json *v = json_get(rule, "succeededIndexes");
    const char *p = v->text;
    int64_t total = 0, previous = -1;

    while (*p != '\0') {
        int64_t first = previous;

        for (unsigned part = 0; part < 2; part++) {
            char *end;
            long long n;

            errno = 0;
            n = strtoll(p, &end, 10);
            if (end == p || *p < '0' || *p > '9' || errno != 0) {
                causes_add(c,
                           CAUSE_INVALID,
                           "succeededIndexes",
                           v,
                           "error parsing succeededIndexes: cannot convert "
                           "string to integer for index: \"%.*s\"",
                           (int)strcspn(p, ",-"),
                           p);
                return -1;
            }
            if (n >= completions) {
                causes_add(c,
                           CAUSE_INVALID,
                           "succeededIndexes",
                           v,
                           "error parsing succeededIndexes: too large index: "
                           "\"%lld\"",
                           n);
                return -1;
            }
            if (n <= previous) {
                causes_add(c,
                           CAUSE_INVALID,
                           "succeededIndexes",
                           v,
                           "error parsing succeededIndexes: non-increasing "
                           "order, previous: %" PRId64 ", current: %lld",
                           previous,
                           n);
                return -1;
            }
            if (part == 0)
                first = n;
            previous = n;
            p = end;
            if (*p != '-' || part == 1)
                break;
            p++;
        }
        total += previous - first + 1;
        if (*p != '\0' && *p++ != ',') {
            causes_add(c,
                       CAUSE_INVALID,
                       "succeededIndexes",
                       v,
                       "error parsing succeededIndexes: an interval has at "
                       "most two parts separated by '-'");
            return -1;
        }
    }
    return total;
}

static void
check_success_rule(struct causes *c,
                   const struct json *rule,
                   int64_t completions)
{
    bool has_indexes = json_text(json_get(rule, "succeededIndexes")) != NULL;
    int64_t count = json_get_int(rule, "succeededCount", 0);
    int64_t total = has_indexes ? check_indexes(c, rule, completions) : -1;

    if (!check_is_set(rule, "succeededCount")) {
        if (!has_indexes)
            causes_add(c,
                       CAUSE_REQUIRED,
                       "",
                       NULL,
                       "at least one of succeededCount or succeededIndexes "
                       "must be specified");
        return;
    }
    check_not_negative(c, rule, "succeededCount");
    if (count > completions)
        causes_add(c,
                   CAUSE_INVALID,
                   "succeededCount",
                   json_get(rule, "succeededCount"),
                   "must be less than or equal to %" PRId64
                   " (the number of specified completions)",
                   completions);
    if (total >= 0 && count > total)
        causes_add(c,
                   CAUSE_INVALID,
                   "succeededCount",
                   json_get(rule, "succeededCount"),
                   "must be less than or equal to %" PRId64
                   " (the number of indexes in the specified "
                   "succeededIndexes field)",
                   total);
}

static void
check_success_policy(struct causes *c, const struct json *spec, bool indexed)
{
    const struct json *policy = json_get(spec, "successPolicy");
    const struct json *rules = json_get(policy, "rules");
    int64_t completions = json_get_int(spec, "completions", 0);
    unsigned at;

    if (!json_is(policy, JSON_OBJECT))
        return;
    if (!indexed) {
        causes_add(c,
                   CAUSE_INVALID,
                   "successPolicy",
                   policy,
                   "requires indexed completion mode");
        return;
    }
    at = causes_enter(c, "successPolicy");
    if (json_count(rules) == 0)
        causes_add(c,
                   CAUSE_REQUIRED,
                   "rules",
                   NULL,
                   "at least one rules must be specified when the "
                   "successPolicy is specified");
    if (json_count(rules) > 20)
        causes_add(c,
                   CAUSE_TOO_MANY,
                   "rules",
                   json_int(c->arena, rules->count),
                   "must have at most 20 items");
    for (uint32_t i = 0; i < json_count(rules); i++) {
        unsigned inside = causes_enter_index(c, "rules", i);

        check_success_rule(c, json_at(rules, i), completions);
        causes_leave(c, inside);
    }
    causes_leave(c, at);
}

/* --- the spec ------------------------------------------------------------- */

static void
check_indexed(struct causes *c, const struct json *spec, bool indexed)
{
    static const char *const only_indexed[] = {
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    };

    if (!indexed) {
        for (size_t i = 0; i < ARRAY_SIZE(only_indexed); i++)
            if (check_is_set(spec, only_indexed[i]))
                causes_add(c,
                           CAUSE_INVALID,
                           only_indexed[i],
                           json_get(spec, only_indexed[i]),
                           "requires indexed completion mode");
        return;
    }
    if (!check_is_set(spec, "completions"))
        causes_add(c,
                   CAUSE_REQUIRED,
                   "completions",
                   NULL,
                   "when completion mode is Indexed");
    if (json_get_int(spec, "parallelism", 0) > MAX_INDEXED)
        causes_add(c,
                   CAUSE_INVALID,
                   "parallelism",
                   json_get(spec, "parallelism"),
                   "must be less than or equal to %d when completion mode is "
                   "Indexed",
                   MAX_INDEXED);
}

static void
check_replacement(struct causes *c, const struct json *spec)
{
    const char *name = "podReplacementPolicy";

    if (check_is_set(spec, "podFailurePolicy"))
        check_one_of(c, spec, name, CHECK_VALUES("Failed"));
    else
        check_one_of(c,
                     spec,
                     name,
                     CHECK_VALUES("Failed", "TerminatingOrFailed"));
}

static void
check_restart_policy(struct causes *c, const struct json *spec)
{
    const struct json *pod = json_get_path(spec, "template.spec");
    const char *policy = check_text(pod, "restartPolicy");
    unsigned at = causes_enter(c, "template.spec");

    if (*policy == '\0' || strcmp(policy, "Always") == 0)
        causes_add(c,
                   CAUSE_REQUIRED,
                   "restartPolicy",
                   NULL,
                   "valid values: \"OnFailure\", \"Never\"");
    else if (check_one_of(c,
                          pod,
                          "restartPolicy",
                          CHECK_VALUES("OnFailure", "Never"))
             && check_is_set(spec, "podFailurePolicy")
             && strcmp(policy, "Never") != 0)
        causes_add(c,
                   CAUSE_INVALID,
                   "restartPolicy",
                   json_get(pod, "restartPolicy"),
                   "only \"Never\" is supported when podFailurePolicy is "
                   "specified");
    causes_leave(c, at);
}

static void
check_managed_by(struct causes *c, const struct json *spec)
{
    const char *name = check_text(spec, "managedBy");

    if (!check_is_set(spec, "managedBy"))
        return;
    if (strchr(name, '/') == NULL || !name_is(NAME_QUALIFIED, name))
        causes_add(c,
                   CAUSE_INVALID,
                   "managedBy",
                   json_get(spec, "managedBy"),
                   "must be a domain-prefixed path (such as \"acme.io/foo\")");
    if (strlen(name) > 63)
        causes_add(c,
                   CAUSE_TOO_LONG,
                   "managedBy",
                   NULL,
                   "may not be more than 63 bytes");
}

static void
check_selector(struct causes *c, const struct json *spec)
{
    const struct json *labels = json_get_path(spec, "template.metadata.labels");

    const struct json *selector = json_get(spec, "selector");

    if (selector == NULL)
        causes_add(c, CAUSE_REQUIRED, "selector", NULL, "%s", "");
    check_label_selector(c, spec, "selector");
    if (selector == NULL || !job_selector_matches(c->arena, selector, labels))
        causes_add(c,
                   CAUSE_INVALID,
                   "template.metadata.labels",
                   labels,
                   "`selector` does not match template `labels`");
}

void
job_spec_check(struct causes *c, const struct json *spec)
{
    static const char *const counts[] = {
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    };
    bool indexed = strcmp(check_text(spec, "completionMode"), "Indexed") == 0;

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
        check_not_negative(c, spec, counts[i]);
    if (check_is_set(spec, "maxFailedIndexes")
        && !check_is_set(spec, "backoffLimitPerIndex"))
        causes_add(c,
                   CAUSE_REQUIRED,
                   "backoffLimitPerIndex",
                   NULL,
                   "when maxFailedIndexes is specified");
    check_managed_by(c, spec);
    check_one_of(c,
                 spec,
                 "completionMode",
                 CHECK_VALUES("NonIndexed", "Indexed"));
    check_indexed(c, spec, indexed);
    check_failure_policy(c, spec);
    check_success_policy(c, spec, indexed);
    check_replacement(c, spec);
    pod_template_check(c, spec, "template");
    check_restart_policy(c, spec);
    check_selector(c, spec);
}
