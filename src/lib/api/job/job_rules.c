/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_rules.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/job/job_array.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/object/check.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod_strategy.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/value/rows.h"
#include "lib/api/value/selector.h"
#include "lib/json/json.h"

#define MAX_INDEXED 100000
#define MAX_OF_MANY 10000 /* if there are more than MAX_INDEXED */

struct label_holder {
    struct string_map labels;
};

/* Compares a selector that has only labels, like the one that the server makes
 * for each Job. True: the comparison was possible, and ret_matches is set.
 */
static bool
compare_labels(const struct json *selector, const struct json *labels, bool *ret_matches)
{
    const struct json *wanted = json_get(selector, "matchLabels");

    if (!json_is(selector, JSON_OBJECT) || json_count(selector) != 1
        || !json_is(wanted, JSON_OBJECT) || !json_is(labels, JSON_OBJECT))
        return false;
    *ret_matches = true;
    for (uint32_t i = 0; i < json_count(wanted); i++) {
        const struct json_member *m = &wanted->members[i];
        const struct json *label = json_get(labels, m->name);

        if (!json_is(m->value, JSON_STRING) || (label != NULL && !json_is(label, JSON_STRING)))
            return false;
        if (label == NULL || strcmp(label->text, m->value->text) != 0)
            *ret_matches = false;
    }
    return true;
}

bool
job_selector_matches(struct arena *arena, const struct json *selector, const struct json *labels)
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
    bool matches;

    if (compare_labels(selector, labels, &matches))
        return matches;
    if (labels != NULL)
        json_set(arena, holder, "labels", json_dup(arena, labels));
    record_decode(&label_holder_record, arena, holder, &held);
    record_decode(&label_selector_record, arena, selector, &decoded);
    return label_selector_matches(&decoded, &held.labels);
}

/* --- the spec ------------------------------------------------------------- */

static void
check_at_most(struct causes *c, const struct json *spec, const char *name, int64_t most,
              const char *words)
{
    if (json_get_int(spec, name, 0) > most)
        causes_add(c, CAUSE_INVALID, name, json_get(spec, name), "must be less than or equal to %s",
                   words);
}

/* Checks how many indexes may fail; a large job must set the limit. */
static void
check_failed_limit(struct causes *c, const struct json *spec)
{
    static const char of_many[] = "10000 when completions are above 100000 and "
                                  "used with backoff limit per index";
    int64_t completions = json_get_int(spec, "completions", 0);

    if (check_is_set(spec, "completions"))
        check_at_most(c, spec, "maxFailedIndexes", completions, "completions");
    check_at_most(c, spec, "maxFailedIndexes", MAX_INDEXED, "100000");
    if (completions <= MAX_INDEXED || !check_is_set(spec, "backoffLimitPerIndex"))
        return;
    if (!check_is_set(spec, "maxFailedIndexes"))
        causes_add(c, CAUSE_REQUIRED, "maxFailedIndexes", NULL,
                   "must be specified when completions is above %d", MAX_INDEXED);
    check_at_most(c, spec, "parallelism", MAX_OF_MANY, of_many);
    check_at_most(c, spec, "maxFailedIndexes", MAX_OF_MANY, of_many);
}

static void
check_indexed(struct causes *c, const struct json *spec, bool indexed)
{
    const char *mode = check_text(spec, "completionMode");
    static const char *const only_indexed[] = {
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    };

    /* An unknown mode has been reported already. */
    if (!indexed && *mode != '\0' && strcmp(mode, "NonIndexed") != 0)
        return;
    if (!indexed) {
        for (size_t i = 0; i < ARRAY_SIZE(only_indexed); i++)
            if (check_is_set(spec, only_indexed[i]))
                causes_add(c, CAUSE_INVALID, only_indexed[i], json_get(spec, only_indexed[i]),
                           "requires indexed completion mode");
        return;
    }
    if (!check_is_set(spec, "completions"))
        causes_add(c, CAUSE_REQUIRED, "completions", NULL, "when completion mode is Indexed");
    if (job_array_is_asked(spec)) /* upstream's limits do not apply */
        return;
    if (json_get_int(spec, "parallelism", 0) > MAX_INDEXED)
        causes_add(c, CAUSE_INVALID, "parallelism", json_get(spec, "parallelism"),
                   "must be less than or equal to %d when completion mode is "
                   "Indexed",
                   MAX_INDEXED);
    check_failed_limit(c, spec);
}

static void
check_replacement(struct causes *c, const struct json *spec)
{
    const char *name = "podReplacementPolicy";

    if (check_is_set(spec, "podFailurePolicy"))
        check_one_of(c, spec, name, CHECK_VALUES("Failed"));
    else
        check_one_of(c, spec, name, CHECK_VALUES("Failed", "TerminatingOrFailed"));
}

static void
check_restart_policy(struct causes *c, const struct json *spec)
{
    const struct json *pod = json_get_path(spec, "template.spec");
    const char *policy = check_text(pod, "restartPolicy");
    unsigned at = causes_enter(c, "template.spec");

    if (*policy == '\0' || strcmp(policy, "Always") == 0)
        causes_add(c, CAUSE_REQUIRED, "restartPolicy", NULL,
                   "valid values: \"OnFailure\", \"Never\"");
    else if (check_one_of(c, pod, "restartPolicy", CHECK_VALUES("OnFailure", "Never"))
             && check_is_set(spec, "podFailurePolicy") && strcmp(policy, "Never") != 0)
        causes_add(c, CAUSE_INVALID, "restartPolicy", json_get(pod, "restartPolicy"),
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
    if (strchr(name, '/') == NULL || !name_is_valid(NAME_QUALIFIED, name))
        causes_add(c, CAUSE_INVALID, "managedBy", json_get(spec, "managedBy"),
                   "must be a domain-prefixed path (such as \"acme.io/foo\")");
    if (strlen(name) > 63)
        causes_add(c, CAUSE_TOO_LONG, "managedBy", NULL, "may not be more than 63 bytes");
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
        causes_add(c, CAUSE_INVALID, "template.metadata.labels", labels,
                   "`selector` does not match template `labels`");
}

void
job_template_spec_check(struct causes *c, const struct json *spec)
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
    if (check_is_set(spec, "maxFailedIndexes") && !check_is_set(spec, "backoffLimitPerIndex"))
        causes_add(c, CAUSE_REQUIRED, "backoffLimitPerIndex", NULL,
                   "when maxFailedIndexes is specified");
    check_managed_by(c, spec);
    check_one_of(c, spec, "completionMode", CHECK_VALUES("NonIndexed", "Indexed"));
    check_indexed(c, spec, indexed);
    if (job_array_is_asked(spec))
        job_array_check(c, spec);
    job_failure_policy_check(c, spec);
    job_success_policy_check(c, spec);
    job_scheduling_check(c, spec);
    check_replacement(c, spec);
    pod_template_check(c, spec, "template");
    check_restart_policy(c, spec);
}

void
job_spec_check(struct causes *c, const struct json *spec)
{
    job_template_spec_check(c, spec);
    check_selector(c, spec);
}
