/* SPDX-License-Identifier: Apache-2.0 */
/* job_status_rules.c - validation of a job's status
 *
 * A rule applies only when the fields that it concerns change: a status that
 * violates a rule already can still be written.
 *
 * Source: k8s.io/kubernetes/pkg/apis/batch/validation and
 * pkg/registry/batch/job of 1.32.
 */
#include <string.h>

#include "lib/api/job/job_rules.h"
#include "lib/api/object/check.h"
#include "lib/json/json.h"

static bool
says(const struct json *status, const char *condition)
{
    const struct json *list = json_get(status, "conditions");

    for (uint32_t i = 0; i < json_count(list); i++)
        if (strcmp(check_text(json_at(list, i), "type"), condition) == 0
            && strcmp(check_text(json_at(list, i), "status"), "True") == 0)
            return true;
    return false;
}

static void
check_verdict(struct causes *c, const struct json *status, const struct json *was)
{
    /* The first condition may not be set while the second one is set, or, with
     * is_needed, while the second one is not set.
     */
    static const struct {
        const char *condition;
        const char *other;
        bool is_needed;
        const char *words;
    } rules[] = {
        {"Complete", "Failed", false, "cannot set Complete=True and Failed=true conditions"},
        {"Complete", "FailureTarget", false,
         "cannot set Complete=True and FailureTarget=true conditions"},
        {"Failed", "FailureTarget", true,
         "cannot set Failed=True condition without the FailureTarget=true "
         "condition"},
        {"Complete", "SuccessCriteriaMet", true,
         "cannot set Complete=True condition without the "
         "SuccessCriteriaMet=true condition"},
        {"SuccessCriteriaMet", "Failed", false,
         "cannot set SuccessCriteriaMet=true and Failed=true conditions"},
        {"SuccessCriteriaMet", "FailureTarget", false,
         "cannot set SuccessCriteriaMet=true and FailureTarget=true "
         "conditions"},
    };
    static const char *const final[] = {
        "Complete",
        "Failed",
        "FailureTarget",
        "SuccessCriteriaMet",
    };

    for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
        if (says(status, rules[i].condition) && says(status, rules[i].other) != rules[i].is_needed)
            causes_add(c, CAUSE_INVALID, "conditions", NULL, "%s", rules[i].words);
    for (size_t i = 0; i < ARRAY_SIZE(final); i++)
        if (says(was, final[i]) && !says(status, final[i]))
            causes_add(c, CAUSE_INVALID, "conditions", NULL,
                       "cannot disable the terminal %s=True condition", final[i]);
}

/* --- changes ----------------------------------------------------------------
 */

/* A new status and the old one. */
struct status_update {
    const struct json *spec;
    const struct json *is;
    const struct json *was;
    bool has_ended; /* complete or failed */
    bool ends;      /* by this change; or an ended job goes on */
};

static bool
changes(const struct status_update *u, const char *name)
{
    const struct json *is = json_get(u->is, name);
    const struct json *was = json_get(u->was, name);

    if (!check_is_set(u->is, name) || !check_is_set(u->was, name))
        return check_is_set(u->is, name) != check_is_set(u->was, name);
    return !json_equals(is, was);
}

static bool
turns(const struct status_update *u, const char *condition)
{
    return says(u->is, condition) != says(u->was, condition);
}

/* --- counts ---------------------------------------------------------------- */

static void
check_none_at_end(struct causes *c, const struct status_update *u, const char *name,
                  const char *words)
{
    if (u->has_ended && (u->ends || changes(u, name)) && json_get_int(u->is, name, 0) > 0)
        causes_add(c, CAUSE_INVALID, name, json_get(u->is, name), "%s", words);
}

static void
check_no_less(struct causes *c, const struct status_update *u, const char *name)
{
    if (json_get_int(u->is, name, 0) < json_get_int(u->was, name, 0))
        causes_add(c, CAUSE_INVALID, name, json_int(c->arena, json_get_int(u->is, name, 0)),
                   "cannot decrease the %s counter", name);
}

static void
check_counts(struct causes *c, const struct status_update *u)
{
    static const char *const counts[] = {
        "active", "succeeded", "failed", "ready", "terminating", "attempts", "excused", "requeued",
    };
    bool is_scaled =
        strcmp(check_text(u->spec, "completionMode"), "Indexed") == 0
        && json_equals(json_get(u->spec, "completions"), json_get(u->spec, "parallelism"));

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
        check_not_negative(c, u->is, counts[i]);
    check_none_at_end(c, u, "active", "active>0 is invalid for finished job");
    check_none_at_end(c, u, "terminating", "terminating>0 is invalid for finished job");
    if (check_is_set(u->is, "ready")
        && json_get_int(u->is, "ready", 0) > json_get_int(u->is, "active", 0)
        && (changes(u, "ready") || changes(u, "active")))
        causes_add(c, CAUSE_INVALID, "ready", json_get(u->is, "ready"),
                   "cannot set more ready pods than active");
    /* A requeue starts the counts anew; so may elements of an array that had
     * ended.
     */
    if (changes(u, "requeued") || json_get(u->spec, "array") != NULL)
        return;
    check_no_less(c, u, "failed");
    if (!is_scaled)
        check_no_less(c, u, "succeeded");
}

static void
check_uncounted_list(struct causes *c, const struct json *uncounted, const char *name)
{
    const struct json *list = json_get(uncounted, name);
    CHECK_TEXTS(texts);

    for (uint32_t i = 0; i < json_count(list); i++) {
        unsigned at = causes_enter_index(c, name, i);
        bool is_second = !check_texts_add(&texts, json_at(list, i)->text);

        if (json_at(list, i)->count == 0)
            causes_add(c, CAUSE_INVALID, "", json_at(list, i), "must not be empty");
        else if (is_second)
            causes_add(c, CAUSE_DUPLICATE, "", json_at(list, i), "%s", "");
        causes_leave(c, at);
    }
}

static void
check_uncounted(struct causes *c, const struct status_update *u)
{
    const struct json *uncounted = json_get(u->is, "uncountedTerminatedPods");
    unsigned at = causes_enter(c, "uncountedTerminatedPods");

    check_uncounted_list(c, uncounted, "succeeded");
    check_uncounted_list(c, uncounted, "failed");
    if (u->has_ended && (u->ends || changes(u, "uncountedTerminatedPods"))
        && json_count(json_get(uncounted, "succeeded")) + json_count(json_get(uncounted, "failed"))
               > 0)
        causes_add(c, CAUSE_INVALID, "", uncounted,
                   "uncountedTerminatedPods needs to be empty for finished "
                   "job");
    causes_leave(c, at);
}

/* --- indexes --------------------------------------------------------------- */

static void
check_index_list(struct causes *c, const struct status_update *u, const char *name)
{
    int64_t total;
    const char *why = NULL;
    const char *text = check_text(u->is, name);

    if (check_is_set(u->spec, "completions")
        && job_indexes_count(c->arena, text, json_get_int(u->spec, "completions", 0), &total, &why)
               < 0)
        causes_add(c, CAUSE_INVALID, name, json_get(u->is, name), "error parsing %s: %s", name,
                   why);
}

static void
check_indexes(struct causes *c, const struct status_update *u)
{
    bool is_indexed = strcmp(check_text(u->spec, "completionMode"), "Indexed") == 0;
    bool per_index = check_is_set(u->spec, "backoffLimitPerIndex");
    bool has_failed = check_is_set(u->is, "failedIndexes");
    int64_t at;

    if (changes(u, "completedIndexes")) {
        check_index_list(c, u, "completedIndexes");
        if (!is_indexed && *check_text(u->is, "completedIndexes") != '\0')
            causes_add(c, CAUSE_INVALID, "completedIndexes", json_get(u->is, "completedIndexes"),
                       "cannot set non-empty completedIndexes when "
                       "non-indexed completion mode");
    }
    if (changes(u, "failedIndexes")) {
        if (per_index && has_failed)
            check_index_list(c, u, "failedIndexes");
        if (!per_index && has_failed)
            causes_add(c, CAUSE_INVALID, "failedIndexes", json_get(u->is, "failedIndexes"),
                       "cannot set non-null failedIndexes when "
                       "backoffLimitPerIndex is null");
    }
    if ((changes(u, "completedIndexes") || changes(u, "failedIndexes")) && has_failed
        && check_is_set(u->spec, "completions")
        && job_indexes_overlap(c->arena, check_text(u->is, "completedIndexes"),
                               check_text(u->is, "failedIndexes"),
                               json_get_int(u->spec, "completions", 0), &at))
        causes_add(c, CAUSE_INVALID, "failedIndexes", json_get(u->is, "failedIndexes"),
                   "failedIndexes and completedIndexes overlap at index: %d", (int)at);
}

/* --- times ----------------------------------------------------------------- */

static void
check_completion(struct causes *c, const struct status_update *u)
{
    const char *name = "completionTime";
    const char *end = check_text(u->is, name);
    const char *start = check_text(u->is, "startTime");
    bool is_complete = says(u->is, "Complete");
    bool is_touched = changes(u, name) || turns(u, "Complete");

    if (is_touched && *end != '\0' && !is_complete)
        causes_add(c, CAUSE_INVALID, name, json_get(u->is, name),
                   "cannot set completionTime when there is no Complete=True "
                   "condition");
    if (is_touched && *end == '\0' && is_complete)
        causes_add(c, CAUSE_REQUIRED, name, NULL, "completionTime is required for Complete jobs");
    if (*end != '\0' && check_is_set(u->was, name) && changes(u, name))
        causes_add(c, CAUSE_INVALID, name, json_get(u->is, name), "field is immutable");
    /* Both texts have the same form, so comparing them compares the times. */
    if ((changes(u, name) || changes(u, "startTime")) && *end != '\0' && *start != '\0'
        && strcmp(end, start) < 0)
        causes_add(c, CAUSE_INVALID, name, json_get(u->is, name),
                   "completionTime cannot be set before startTime");
}

static void
check_start(struct causes *c, const struct status_update *u)
{
    bool changed = changes(u, "startTime");

    if (!check_is_set(u->is, "startTime") && u->has_ended && (u->ends || changed))
        causes_add(c, CAUSE_REQUIRED, "startTime", NULL, "startTime is required for finished job");
    if (changed && check_is_set(u->was, "startTime") && !changes(u, "requeued")
        && !json_is_true(json_get(u->spec, "suspend")))
        causes_add(c, CAUSE_REQUIRED, "startTime", NULL,
                   "startTime cannot be removed for unsuspended job");
}

static bool
has_ended(const struct json *status)
{
    return says(status, "Complete") || says(status, "Failed");
}

void
job_status_check(struct causes *c, const struct json *job, const struct json *old)
{
    struct status_update u = {
        .spec = json_get(job, "spec"),
        .is = json_get(job, "status"),
        .was = json_get(old, "status"),
    };
    unsigned at = causes_enter(c, "status");

    u.has_ended = has_ended(u.is);
    u.ends = u.has_ended != has_ended(u.was);
    check_counts(c, &u);
    check_uncounted(c, &u);
    if (!json_equals(json_get(u.is, "conditions"), json_get(u.was, "conditions")))
        check_verdict(c, u.is, u.was);
    check_completion(c, &u);
    check_start(c, &u);
    check_indexes(c, &u);
    if (json_get_int(u.was, "id", 0) != 0)
        check_immutable(c, u.is, u.was, "id");
    causes_leave(c, at);
}
