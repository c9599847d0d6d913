/* SPDX-License-Identifier: Apache-2.0 */
/* job_strategy.c - defaults, preparation and validation of a job on its way
 * from a request to the store
 *
 * Source: k8s.io/kubernetes/pkg/apis/batch and pkg/registry/batch/job of
 * 1.32.
 */
#include "lib/api/job/job_strategy.h"

#include <stdio.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_rules.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod_strategy.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/json/json.h"

/* Labels that tie pods to their job; the second pair has the old names. */
static const struct {
    const char *label;
    const char *of; /* member of metadata */
} generated[] = {
    {"batch.kubernetes.io/controller-uid", "uid"},
    {"batch.kubernetes.io/job-name", "name"},
    {"controller-uid", "uid"},
    {"job-name", "name"},
};

static bool
is_indexed(const struct json *spec)
{
    return strcmp(check_text(spec, "completionMode"), "Indexed") == 0;
}

static void
default_to(struct arena *arena, struct json *spec, const char *name, struct json *value)
{
    if (!check_is_set(spec, name))
        json_set(arena, spec, name, value);
}

void
job_policy_set_defaults(struct arena *arena, const struct json *spec)
{
    struct json *rules = json_get_path(spec, "podFailurePolicy.rules");

    for (uint32_t i = 0; i < json_count(rules); i++) {
        struct json *list = json_get(json_at(rules, i), "onPodConditions");

        for (uint32_t j = 0; j < json_count(list); j++)
            if (*check_text(json_at(list, j), "status") == '\0')
                json_set_string(arena, json_at(list, j), "status", "True");
    }
}

void
job_set_defaults(struct arena *arena, struct json *job)
{
    struct json *spec = json_make_object(arena, job, "spec");
    struct json *template = json_make_object(arena, spec, "template");
    struct json *labels = json_get_path(template, "metadata.labels");
    struct json *meta = json_make_object(arena, job, "metadata");
    bool has_policy = check_is_set(spec, "podFailurePolicy");
    bool per_index;

    job_array_set_defaults(arena, spec);
    per_index = check_is_set(spec, "backoffLimitPerIndex");
    if (!check_is_set(spec, "completions") && !check_is_set(spec, "parallelism")) {
        json_set_int(arena, spec, "completions", 1);
        json_set_int(arena, spec, "parallelism", 1);
    }
    default_to(arena, spec, "parallelism", json_int(arena, 1));
    default_to(arena, spec, "backoffLimit", json_int(arena, per_index ? INT32_MAX : 6));
    /* The maps are shared, as in upstream: a label that is added to one is
     * added to the other. In upstream a generated name makes a copy of the job,
     * which ends the sharing.
     */
    if (json_count(labels) > 0 && json_count(json_get(meta, "labels")) == 0)
        json_set(arena, meta, "labels",
                 *check_text(meta, "generateName") != '\0' ? json_dup(arena, labels) : labels);
    default_to(arena, spec, "completionMode", json_string(arena, "NonIndexed"));
    default_to(arena, spec, "suspend", json_bool(arena, false));
    default_to(arena, spec, "manualSelector", json_bool(arena, false));
    default_to(arena, spec, "podReplacementPolicy",
               json_string(arena, has_policy ? "Failed" : "TerminatingOrFailed"));
    job_policy_set_defaults(arena, spec);
    pod_spec_set_defaults(arena, json_make_object(arena, template, "spec"));
}

/* --- preparing ------------------------------------------------------------ */

static void
generate_selector(struct arena *arena, struct json *job)
{
    const struct json *meta = json_get(job, "metadata");
    struct json *spec = json_make_object(arena, job, "spec");
    struct json *template = json_make_object(arena, spec, "template");
    struct json *template_meta = json_make_object(arena, template, "metadata");
    struct json *labels = json_make_object(arena, template_meta, "labels");
    struct json *selector = json_make_object(arena, spec, "selector");
    struct json *match = json_make_object(arena, selector, "matchLabels");

    for (size_t i = 0; i < ARRAY_SIZE(generated); i++)
        if (json_get(labels, generated[i].label) == NULL)
            json_set_string(arena, labels, generated[i].label, check_text(meta, generated[i].of));
    if (json_get(match, generated[0].label) == NULL)
        json_set_string(arena, match, generated[0].label, check_text(meta, generated[0].of));
}

/* The recorded ends of the former dependencies say nothing about the new ones.
 */
static struct json *
forget_dependencies(struct arena *arena, const struct json *job, const struct json *old,
                    struct json *status)
{
    if (json_get(status, "dependencies") == NULL
        || json_equals(json_get_path(job, "spec.dependencies"),
                       json_get_path(old, "spec.dependencies")))
        return status;
    status = json_copy(arena, status);
    json_remove(status, "dependencies");
    return status;
}

void
job_prepare(struct arena *arena, struct json *job, const struct json *old)
{
    const struct json *spec = json_get(job, "spec");
    struct json *status = json_get(old, "status");

    meta_prepare(arena, job, old);
    pod_spec_drop_disabled(arena, json_get_path(job, "spec.template.spec"),
                           json_get_path(old, "spec.template.spec"));
    json_set(arena, job, "status",
             status != NULL ? forget_dependencies(arena, job, old, status) : json_object(arena));
    if (old == NULL && !json_is_true(json_get(spec, "manualSelector")))
        generate_selector(arena, job);
}

/* --- validating ----------------------------------------------------------- */

static void
check_generated_label(struct causes *c, const struct json *labels, const char *label,
                      const char *wanted)
{
    unsigned at = causes_enter_key(c, "labels", label);
    const char *value = json_get_text(labels, label);

    if (value == NULL)
        causes_add(c, CAUSE_REQUIRED, "", NULL, "must be '%s'", wanted);
    else if (strcmp(value, wanted) != 0)
        causes_add(c, CAUSE_INVALID, "", json_get(labels, label), "must be '%s'", wanted);
    causes_leave(c, at);
}

static void
check_generated_selector(struct causes *c, const struct json *job)
{
    const struct json *meta = json_get(job, "metadata");
    const struct json *spec = json_get(job, "spec");
    const struct json *labels = json_get_path(spec, "template.metadata.labels");
    struct json *expected = json_object(c->arena);
    unsigned at;

    if (json_is_true(json_get(spec, "manualSelector")) || !check_is_set(spec, "selector"))
        return;
    if (*check_text(meta, "uid") == '\0')
        causes_add(c, CAUSE_REQUIRED, "metadata.uid", NULL, "%s", "");
    at = causes_enter(c, "spec.template.metadata");
    for (size_t i = 0; i < ARRAY_SIZE(generated); i++)
        check_generated_label(c, labels, generated[i].label, check_text(meta, generated[i].of));
    causes_leave(c, at);
    for (size_t i = 0; i < ARRAY_SIZE(generated); i++)
        json_set_string(c->arena, expected, generated[i].label, check_text(meta, generated[i].of));
    if (!job_selector_matches(c->arena, json_get(spec, "selector"), expected))
        causes_add(c, CAUSE_INVALID, "spec.selector", json_get(spec, "selector"),
                   "`selector` not auto-generated");
}

/* The last pod of an Indexed Job has the longest name. */
static void
check_pod_names(struct causes *c, const struct json *job)
{
    const struct json *spec = json_get(job, "spec");
    const struct json *name = json_get_path(job, "metadata.name");
    int64_t completions = json_get_int(spec, "completions", 0);
    char last[512];

    if (!is_indexed(spec) || completions <= 0 || json_text(name) == NULL)
        return;
    snprintf(last, sizeof(last), "%.300s-%lld", name->text, (long long)completions - 1);
    if (!name_is_valid(NAME_DNS_LABEL, last))
        causes_add(c, CAUSE_INVALID, "metadata.name", name,
                   "will not able to create pod with invalid DNS label: %s", last);
}

static void
check_job(struct causes *c, const struct json *job)
{
    unsigned at;

    check_generated_selector(c, job);
    at = causes_enter(c, "spec");
    job_spec_check(c, json_get(job, "spec"));
    causes_leave(c, at);
    check_pod_names(c, job);
}

/* The parts of a Job's template that may change, and when. */
enum freedom {
    FREEDOM_NONE,
    FREEDOM_HELD,  /* held, or by this change: priority (Kiln) */
    FREEDOM_FRESH, /* held and never run: placement, too */
};

static enum freedom
freedom_of(const struct json *old, const struct json *spec)
{
    if (!json_is_true(json_get_path(old, "spec.suspend")))
        return json_is_true(json_get(spec, "suspend")) ? FREEDOM_HELD : FREEDOM_NONE;
    return json_get_path(old, "status.startTime") == NULL ? FREEDOM_FRESH : FREEDOM_HELD;
}

static void
check_template_change(struct causes *c, const struct json *spec, const struct json *old,
                      enum freedom freedom)
{
    static const struct {
        const char *name;
        enum freedom needs;
    } members[] = {
        {"priority", FREEDOM_HELD},      {"priorityClassName", FREEDOM_HELD},
        {"nodeSelector", FREEDOM_FRESH}, {"affinity", FREEDOM_FRESH},
        {"tolerations", FREEDOM_FRESH},  {"schedulingGates", FREEDOM_FRESH},
    };
    struct json *is = json_dup(c->arena, json_get(spec, "template"));
    const struct json *was = json_get(old, "template");
    struct json *holder = json_object(c->arena);
    struct json *inner = json_get(is, "spec");

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        struct json *v = json_get(json_get(was, "spec"), members[i].name);

        if (freedom < members[i].needs)
            continue;
        if (v != NULL)
            json_set(c->arena, inner, members[i].name, v);
        else
            json_remove(inner, members[i].name);
    }
    if (freedom == FREEDOM_FRESH)
        json_set(c->arena, is, "metadata", json_get(was, "metadata"));
    json_set(c->arena, holder, "template", is);
    check_immutable(c, holder, old, "template");
}

/* completions of an Indexed Job may change together with parallelism. */
static void
check_completions_change(struct causes *c, const struct json *spec, const struct json *old)
{
    if (job_array_is_asked(old) && job_array_is_asked(spec))
        return; /* they are derived from tasks */
    if (!is_indexed(old) || !check_is_set(spec, "completions")) {
        check_immutable(c, spec, old, "completions");
        return;
    }
    if (!json_equals(json_get(spec, "completions"), json_get(old, "completions"))
        && !json_equals(json_get(spec, "completions"), json_get(spec, "parallelism")))
        causes_add(c, CAUSE_INVALID, "completions", json_get(spec, "completions"),
                   "can only be modified in tandem with spec.parallelism");
}

static void
check_changes(struct causes *c, const struct json *job, const struct json *old)
{
    static const char *const kept[] = {
        "selector",  "completionMode", "podFailurePolicy", "backoffLimitPerIndex",
        "managedBy", "successPolicy",  "script",           "environment",
    };
    const struct json *spec = json_get(job, "spec");
    const struct json *was = json_get(old, "spec");
    unsigned at = causes_enter(c, "spec");

    check_completions_change(c, spec, was);
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        check_immutable(c, spec, was, kept[i]);
    job_array_check_change(c, spec, was);
    job_scheduling_check_change(c, spec, was);
    check_template_change(c, spec, was, freedom_of(old, spec));
    causes_leave(c, at);
}

void
job_validate(struct causes *c, const struct json *job, const struct json *old)
{
    meta_check(c, &job_kind, NAME_DNS_SUBDOMAIN, job, old);
    check_job(c, job);
    if (old != NULL)
        check_changes(c, job, old);
}

void
job_warn(struct causes *c, const struct json *job, const struct json *old)
{
    const struct json *spec = json_get(job, "spec");
    const char *name = check_text(json_get(job, "metadata"), "name");
    const char *why = name_refuse_all(c->arena, NAME_DNS_LABEL, name, " ");
    unsigned at;

    if (old != NULL && json_equals(spec, json_get(old, "spec")))
        return;
    if (old == NULL && why != NULL)
        causes_warn(c, "metadata.name",
                    "this is used in Pod names and hostnames, which can "
                    "result in surprising behavior; a DNS label is "
                    "recommended: [%s]",
                    why);
    if (strcmp(check_text(spec, "completionMode"), "Indexed") == 0
        && json_get_int(spec, "completions", 0) > 100000
        && json_get_int(spec, "parallelism", 0) > 10000 && !job_array_is_asked(spec))
        causes_warn(c, "spec",
                    "In Indexed Jobs with a number of completions higher than "
                    "10^5 and a parallelism higher than 10^4, Kubernetes "
                    "might not be able to track completedIndexes when a big "
                    "number of indexes fail");
    at = causes_enter(c, "spec.scheduling");
    group_scheduling_warn(c, json_get(spec, "scheduling"));
    causes_leave(c, at);
    at = causes_enter(c, "spec.template");
    pod_warn(c, json_get(spec, "template"));
    causes_leave(c, at);
}

void
job_validate_status(struct causes *c, const struct json *job, const struct json *old)
{
    meta_check(c, &job_kind, NAME_DNS_SUBDOMAIN, job, old);
    job_check_status(c, job, old);
}

void
job_check_status(struct causes *c, const struct json *job, const struct json *old)
{
    job_status_check(c, job, old);
}

static void
add_number(struct arena *arena, struct json *part, const char *name, const int64_t *value)
{
    if (value != NULL)
        json_set_int(arena, part, name, *value);
}

struct json *
job_part_of_spec(struct arena *arena, const struct object *object)
{
    const struct job_spec *spec = &job_of(object)->spec;
    struct json *part = json_object(arena);

    add_number(arena, part, "parallelism", spec->parallelism);
    add_number(arena, part, "completions", spec->completions);
    add_number(arena, part, "backoffLimitPerIndex", spec->backoff_limit_per_index);
    if (spec->completion_mode != NULL)
        json_set_string(arena, part, "completionMode", spec->completion_mode);
    if (spec->suspend)
        json_set_bool(arena, part, "suspend", true);
    if (spec->array != NULL)
        (void)json_make_object(arena, part, "array");
    return part;
}

void
job_spec_redact(struct arena *arena, struct json *spec)
{
    if (json_is(spec, JSON_OBJECT)) {
        json_remove(spec, "script");
        json_remove(spec, "environment");
    }
    pod_template_redact(arena, json_get(spec, "template"));
}

void
job_redact(struct arena *arena, struct json *job)
{
    struct json *run = json_get_path(job, "status.lastRun");

    meta_redact(arena, job);
    job_spec_redact(arena, json_get(job, "spec"));
    /* The agent's message names paths that it could not open. */
    if (run != NULL)
        json_remove(run, "message");
    /* Pods, with messages and output; only the job controller needs them. */
    if (json_is(json_get(job, "status"), JSON_OBJECT))
        json_remove(json_get(job, "status"), "removedPods");
}
