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
changes(const struct status_update *ch, const char *name)
{
    const struct json *is = json_get(ch->is, name);
    const struct json *was = json_get(ch->was, name);

    if (!check_is_set(ch->is, name) || !check_is_set(ch->was, name))
        return check_is_set(ch->is, name) != check_is_set(ch->was, name);
    return !json_equals(is, was);
}

static bool
turns(const struct status_update *ch, const char *condition)
{
    return says(ch->is, condition) != says(ch->was, condition);
}

/* --- counts ---------------------------------------------------------------- */

static void
check_none_at_end(struct causes *c, const struct status_update *ch, const char *name,
                  const char *words)
{
    if (ch->has_ended && (ch->ends || changes(ch, name)) && json_get_int(ch->is, name, 0) > 0)
        causes_add(c, CAUSE_INVALID, name, json_get(ch->is, name), "%s", words);
}

static void
check_no_less(struct causes *c, const struct status_update *ch, const char *name)
{
    if (json_get_int(ch->is, name, 0) < json_get_int(ch->was, name, 0))
        causes_add(c, CAUSE_INVALID, name, json_int(c->arena, json_get_int(ch->is, name, 0)),
                   "cannot decrease the %s counter", name);
}

static void
check_counts(struct causes *c, const struct status_update *ch)
{
    static const char *const counts[] = {
        "active", "succeeded", "failed", "ready", "terminating", "attempts", "excused", "requeued",
    };
    bool is_scaled =
        strcmp(check_text(ch->spec, "completionMode"), "Indexed") == 0
        && json_equals(json_get(ch->spec, "completions"), json_get(ch->spec, "parallelism"));

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
        check_not_negative(c, ch->is, counts[i]);
    check_none_at_end(c, ch, "active", "active>0 is invalid for finished job");
    check_none_at_end(c, ch, "terminating", "terminating>0 is invalid for finished job");
    if (check_is_set(ch->is, "ready")
        && json_get_int(ch->is, "ready", 0) > json_get_int(ch->is, "active", 0)
        && (changes(ch, "ready") || changes(ch, "active")))
        causes_add(c, CAUSE_INVALID, "ready", json_get(ch->is, "ready"),
                   "cannot set more ready pods than active");
    /* A requeue starts the counts anew; so may elements of an array that had
     * ended.
     */
    if (changes(ch, "requeued") || json_get(ch->spec, "array") != NULL)
        return;
    check_no_less(c, ch, "failed");
    if (!is_scaled)
        check_no_less(c, ch, "succeeded");
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
check_uncounted(struct causes *c, const struct status_update *ch)
{
    const struct json *uncounted = json_get(ch->is, "uncountedTerminatedPods");
    unsigned at = causes_enter(c, "uncountedTerminatedPods");

    check_uncounted_list(c, uncounted, "succeeded");
    check_uncounted_list(c, uncounted, "failed");
    if (ch->has_ended && (ch->ends || changes(ch, "uncountedTerminatedPods"))
        && json_count(json_get(uncounted, "succeeded")) + json_count(json_get(uncounted, "failed"))
               > 0)
        causes_add(c, CAUSE_INVALID, "", uncounted,
                   "uncountedTerminatedPods needs to be empty for finished "
                   "job");
    causes_leave(c, at);
}

/* --- indexes --------------------------------------------------------------- */

static void
check_index_list(struct causes *c, const struct status_update *ch, const char *name)
{
    int64_t total;
    const char *why = NULL;
    const char *text = check_text(ch->is, name);

    if (check_is_set(ch->spec, "completions")
        && job_indexes_count(c->arena, text, json_get_int(ch->spec, "completions", 0), &total, &why)
               < 0)
        causes_add(c, CAUSE_INVALID, name, json_get(ch->is, name), "error parsing %s: %s", name,
                   why);
}

static void
check_indexes(struct causes *c, const struct status_update *ch)
{
    bool is_indexed = strcmp(check_text(ch->spec, "completionMode"), "Indexed") == 0;
    bool per_index = check_is_set(ch->spec, "backoffLimitPerIndex");
    bool has_failed = check_is_set(ch->is, "failedIndexes");
    int64_t at;

    if (changes(ch, "completedIndexes")) {
        check_index_list(c, ch, "completedIndexes");
        if (!is_indexed && *check_text(ch->is, "completedIndexes") != '\0')
            causes_add(c, CAUSE_INVALID, "completedIndexes", json_get(ch->is, "completedIndexes"),
                       "cannot set non-empty completedIndexes when "
                       "non-indexed completion mode");
    }
    if (changes(ch, "failedIndexes")) {
        if (per_index && has_failed)
            check_index_list(c, ch, "failedIndexes");
        if (!per_index && has_failed)
            causes_add(c, CAUSE_INVALID, "failedIndexes", json_get(ch->is, "failedIndexes"),
                       "cannot set non-null failedIndexes when "
                       "backoffLimitPerIndex is null");
    }
    if ((changes(ch, "completedIndexes") || changes(ch, "failedIndexes")) && has_failed
        && check_is_set(ch->spec, "completions")
        && job_indexes_overlap(c->arena, check_text(ch->is, "completedIndexes"),
                               check_text(ch->is, "failedIndexes"),
                               json_get_int(ch->spec, "completions", 0), &at))
        causes_add(c, CAUSE_INVALID, "failedIndexes", json_get(ch->is, "failedIndexes"),
                   "failedIndexes and completedIndexes overlap at index: %d", (int)at);
}

/* --- times ----------------------------------------------------------------- */

static void
check_completion(struct causes *c, const struct status_update *ch)
{
    const char *name = "completionTime";
    const char *end = check_text(ch->is, name);
    const char *start = check_text(ch->is, "startTime");
    bool is_complete = says(ch->is, "Complete");
    bool is_touched = changes(ch, name) || turns(ch, "Complete");

    if (is_touched && *end != '\0' && !is_complete)
        causes_add(c, CAUSE_INVALID, name, json_get(ch->is, name),
                   "cannot set completionTime when there is no Complete=True "
                   "condition");
    if (is_touched && *end == '\0' && is_complete)
        causes_add(c, CAUSE_REQUIRED, name, NULL, "completionTime is required for Complete jobs");
    if (*end != '\0' && check_is_set(ch->was, name) && changes(ch, name))
        causes_add(c, CAUSE_INVALID, name, json_get(ch->is, name), "field is immutable");
    /* Both texts have the same form, so comparing them compares the times. */
    if ((changes(ch, name) || changes(ch, "startTime")) && *end != '\0' && *start != '\0'
        && strcmp(end, start) < 0)
        causes_add(c, CAUSE_INVALID, name, json_get(ch->is, name),
                   "completionTime cannot be set before startTime");
}

static void
check_start(struct causes *c, const struct status_update *ch)
{
    bool changed = changes(ch, "startTime");

    if (!check_is_set(ch->is, "startTime") && ch->has_ended && (ch->ends || changed))
        causes_add(c, CAUSE_REQUIRED, "startTime", NULL, "startTime is required for finished job");
    if (changed && check_is_set(ch->was, "startTime") && !changes(ch, "requeued")
        && !json_is_true(json_get(ch->spec, "suspend")))
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
    struct status_update ch = {
        .spec = json_get(job, "spec"),
        .is = json_get(job, "status"),
        .was = json_get(old, "status"),
    };
    unsigned at = causes_enter(c, "status");

    ch.has_ended = has_ended(ch.is);
    ch.ends = ch.has_ended != has_ended(ch.was);
    check_counts(c, &ch);
    check_uncounted(c, &ch);
    if (!json_equals(json_get(ch.is, "conditions"), json_get(ch.was, "conditions")))
        check_verdict(c, ch.is, ch.was);
    check_completion(c, &ch);
    check_start(c, &ch);
    check_indexes(c, &ch);
    if (json_get_int(ch.was, "id", 0) != 0)
        check_immutable(c, ch.is, ch.was, "id");
    causes_leave(c, at);
}
