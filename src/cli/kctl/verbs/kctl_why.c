/* SPDX-License-Identifier: Apache-2.0 */
/* kctl why - says why a job or a pod does not run, or how it ended */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/job_pods.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/output/describe_output.h"
#include "cli/kctl/output/nearest_nodes.h"
#include "cli/kctl/output/object_events.h"
#include "cli/kctl/verbs/command.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/refusals.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define EVENTS     5
#define PODS_SHOWN 16

static const struct option_spec rows[] = {COMMON_OPTIONS};

static const struct option_table table = {
    .name = "kctl why",
    .usage = "[OPTION]... JOB|pod/NAME|pod NAME...",
    .summary = "Say why jobs and pods do not run yet, or how they ended.",
    OPTION_ROWS(rows),
    .more = "Example: kctl why 1042",
};

static const struct json *
find_condition(const struct json *object, const char *type)
{
    const struct json *all = json_get_path(object, "status.conditions");

    for (uint32_t i = 0; i < json_count(all); i++) {
        const char *name = json_get_text(json_at(all, i), "type");

        if (name != NULL && strcmp(name, type) == 0)
            return json_at(all, i);
    }
    return NULL;
}

static bool
holds(const struct json *condition)
{
    const char *status = json_get_text(condition, "status");

    return status != NULL && strcmp(status, "True") == 0;
}

static const char *
words_of(const struct json *condition)
{
    const char *message = json_get_text(condition, "message");
    const char *reason = json_get_text(condition, "reason");

    if (message != NULL && message[0] != '\0')
        return message;
    return reason != NULL ? reason : "no reason is given";
}

/* For a batch job, the end of its pod says more than the backoff limit. */
static void
add_failure(struct strbuf *out, const struct json *job, const struct json *why)
{
    const char *reason = json_get_text(why, "reason");
    int64_t code = 0;

    if (json_to_int(json_get_path(job, "status.exitCode"), &code) < 0
        || code == 0 || reason == NULL
        || strcmp(reason, "BackoffLimitExceeded") != 0)
        describe_output_add(out,
                            0,
                            "Why",
                            "it failed: %s (%s)",
                            words_of(why),
                            reason != NULL ? reason : "no reason is given");
    else if (code > 128 && sigabbrev_np((int)code - 128) != NULL)
        describe_output_add(out,
                            0,
                            "Why",
                            "it failed with exit code %lld (128 and SIG%s)",
                            (long long)code,
                            sigabbrev_np((int)code - 128));
    else
        describe_output_add(out,
                            0,
                            "Why",
                            "it failed with exit code %lld",
                            (long long)code);
}

/* Prints how the job ended; false when it has not ended. */
static bool
add_end(struct strbuf *out, const struct json *job)
{
    const struct json *failed = find_condition(job, "Failed");

    if (holds(find_condition(job, "Complete")))
        describe_output_add(out, 0, "Why", "it is complete");
    else if (holds(failed))
        add_failure(out, job, failed);
    else
        return false;
    return true;
}

/* Says why the job has no pods: it is held, or begins later. */
static bool
add_hold(struct strbuf *out, const struct json *job)
{
    const char *begin = json_path_text(job, "spec.beginTime");
    int64_t begin_us = 0;

    if (json_is_true(json_get_path(job, "spec.suspend"))
        || json_get(json_get_path(job, "metadata.annotations"), ANNOTATION_HOLD)
               != NULL) {
        describe_output_add(out,
                            0,
                            "Why",
                            "it is held; 'kctl release' lets it start");
        return true;
    }
    if (begin != NULL && time_parse(begin, &begin_us) == 0
        && begin_us > clock_real_us(&clock_system)) {
        describe_output_add(out,
                            0,
                            "Why",
                            "it is not to begin before %s",
                            begin);
        return true;
    }
    return false;
}

static void
add_container(struct strbuf *out, const struct json *pod)
{
    const struct json *state =
        json_get(json_at(json_get_path(pod, "status.containerStatuses"), 0),
                 "state");
    const struct json *ended = json_get(state, "terminated");
    const struct json *waiting = json_get(state, "waiting");
    const char *message;
    int64_t code = 0;

    if (ended != NULL) {
        message = json_get_text(ended, "message");
        json_to_int(json_get(ended, "exitCode"), &code);
        describe_output_add(out,
                            2,
                            "Ended",
                            "%s, exit code %lld%s%s",
                            json_get_text(ended, "reason") != NULL
                                ? json_get_text(ended, "reason")
                                : "",
                            (long long)code,
                            message != NULL ? ": " : "",
                            message != NULL ? message : "");
    } else if (json_get_text(waiting, "message") != NULL) {
        describe_output_add(out,
                            2,
                            "Waits",
                            "%s",
                            json_get_text(waiting, "message"));
    }
}

/* The nodes by their reason, as the scheduler finds them now. False: it was not
 * asked, or says something else.
 */
static bool
add_reasons(struct strbuf *out, const struct json *why)
{
    const struct json *reasons = json_get(why, "reasons");

    for (uint32_t i = 0; i < json_count(reasons); i++) {
        const struct json *r = json_at(reasons, i);

        describe_output_add(out,
                            2,
                            i == 0 ? "Not placed" : "",
                            "%lld of %lld nodes: %s (%s)",
                            (long long)json_get_int(r, "nodes", 0),
                            (long long)json_get_int(why, "nodes", 0),
                            json_get_text(r, "message"),
                            json_get_text(r, "code"));
    }
    return json_count(reasons) > 0;
}

/* The nodes by their reason, what time may change first. */
static void
add_refusals(struct strbuf *out, const struct json *scheduled)
{
    const char *message = words_of(scheduled);
    struct refusals all;

    if (!refusals_parse(message, &all) || all.count == 0) {
        describe_output_add(out,
                            2,
                            "Not placed",
                            "%s (%s)",
                            message,
                            json_get_text(scheduled, "reason") != NULL
                                ? json_get_text(scheduled, "reason")
                                : "Other");
        return;
    }
    for (unsigned i = 0; i < all.count; i++) {
        const struct refusal *r = &all.items[i];

        if (r->nodes == 0)
            describe_output_add(out,
                                2,
                                i == 0 ? "Not placed" : "",
                                "%.*s (%s)",
                                (int)r->length,
                                r->text,
                                r->code);
        else
            describe_output_add(out,
                                2,
                                i == 0 ? "Not placed" : "",
                                "%u of %u nodes: %.*s (%s)",
                                r->nodes,
                                all.total,
                                (int)r->length,
                                r->text,
                                r->code);
    }
}

/* No scheduler has reported on the pod; it may be another scheduler's. */
static void
add_unclaimed(struct strbuf *out, const struct json *pod)
{
    const char *scheduler = json_path_text(pod, "spec.schedulerName");

    describe_output_add(
        out,
        2,
        "Not placed",
        "no scheduler named '%s' has looked at it yet (NoScheduler)",
        scheduler != NULL ? scheduler : "default-scheduler");
}

/* The scheduler is preempting other pods for it. */
static void
add_nomination(struct strbuf *out, const struct json *pod)
{
    const char *node = json_path_text(pod, "status.nominatedNodeName");

    if (node != NULL)
        describe_output_add(out,
                            2,
                            "Waits for",
                            "room on %s, which less important pods are leaving "
                            "(Nominated)",
                            node);
}

/* The scheduler has looked at nodes. */
static bool
is_about_nodes(const char *message)
{
    struct refusals all;

    return refusals_parse(message, &all) && all.count > 0;
}

static bool
is_waiting(const struct json *pod)
{
    const char *phase = json_path_text(pod, "status.phase");

    return json_path_text(pod, "spec.nodeName") == NULL
           && (phase == NULL || strcmp(phase, "Pending") == 0);
}

/* The scheduler's answer: for the pod, or for the first pod of the job that
 * waits, as the pods of a job are alike.
 */
struct answer {
    const char *pod;        /* its name, or NULL */
    const struct json *why; /* or NULL... */
    struct error error;     /* ...and why not */
};

/* It is no failure when the scheduler cannot be asked: while none leads, or
 * about another user's job.
 */
static void
ask_scheduler(struct kctl *kctl,
              const struct target_object *target,
              struct arena *arena,
              struct answer *a)
{
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = target->kind,
        .namespace = target->namespace,
        .name = target->name,
        .subresource = "why",
        .raw = true,
    };
    struct json *why = NULL;

    *a = (struct answer){0};
    if (kctl_call(kctl, &request, arena, &why, &a->error) < 0)
        return;
    a->why = why;
    a->pod =
        target->kind == &job_kind ? json_get_text(why, "pod") : target->name;
}

static bool
is_about(const struct answer *a, const struct json *pod)
{
    const char *name = json_path_text(pod, "metadata.name");

    return a->why != NULL && a->pod != NULL && name != NULL
           && strcmp(name, a->pod) == 0;
}

static void
add_pod(struct arena *arena,
        struct strbuf *out,
        const struct json *pod,
        const struct answer *answer)
{
    const char *phase = json_path_text(pod, "status.phase");
    const char *node = json_path_text(pod, "spec.nodeName");
    const char *reason = json_path_text(pod, "status.reason");
    const char *message = json_path_text(pod, "status.message");
    const struct json *scheduled = find_condition(pod, "PodScheduled");

    describe_output_add(
        out,
        0,
        "Pod",
        "%s, %s%s%s, for %s",
        json_path_text(pod, "metadata.name"),
        phase != NULL ? phase : "Pending",
        node != NULL ? " on " : "",
        node != NULL ? node : "",
        describe_output_age(arena,
                            json_path_text(pod, "metadata.creationTimestamp")));
    if (scheduled == NULL && is_waiting(pod))
        add_unclaimed(out, pod);
    if (scheduled != NULL && !holds(scheduled)) {
        if (!is_about(answer, pod) || !add_reasons(out, answer->why))
            add_refusals(out, scheduled);
        if (node == NULL)
            add_nomination(out, pod);
        if (is_about(answer, pod) && is_about_nodes(words_of(scheduled)))
            nearest_nodes_describe(answer->why, out);
    }
    if (reason != NULL || message != NULL)
        describe_output_add(out,
                            2,
                            "Because",
                            "%s%s%s",
                            reason != NULL ? reason : "",
                            reason != NULL && message != NULL ? ": " : "",
                            message != NULL ? message : "");
    add_container(out, pod);
}

/* Prints when and where the pod could run. */
static void
add_outlook(const struct answer *a, struct strbuf *out)
{
    const char *message = json_path_text(a->why, "start.message");

    if (message != NULL)
        describe_output_add(out, 0, "Outlook", "%s", message);
    else if (a->why == NULL && a->error.code == -EAGAIN)
        describe_output_add(out, 0, "Outlook", "%s", a->error.text);
}

/* The pods of a job one by one; of very many those that matter: the one that
 * the answer is about, in the name of all that wait.
 */
static int
add_pods(struct kctl *kctl,
         const struct target_object *target,
         struct arena *arena,
         const struct answer *a,
         struct strbuf *out,
         struct error *err)
{
    const struct json *counts = json_get(a->why, "pods");
    int64_t waiting = json_get_int(counts, "waiting", 0);
    int64_t placed = json_get_int(counts, "placed", 0);
    int64_t ended = json_get_int(counts, "ended", 0);
    struct target_object one = {&pod_kind, target->namespace, a->pod};
    struct json *pods = json_array(arena);
    struct json *pod = NULL;
    int r = 0;

    if (waiting + placed + ended > PODS_SHOWN && a->pod != NULL) {
        describe_output_add(out,
                            0,
                            "Pods",
                            "%lld wait, %lld have a node, %lld have ended; the "
                            "first that waits:",
                            (long long)waiting,
                            (long long)placed,
                            (long long)ended);
        r = kctl_find(kctl, &one, arena, &pod, err);
        if (r == 0 && pod != NULL)
            json_append(arena, pods, pod);
    } else
        r = job_pods(kctl, target, arena, &pods, err);
    for (uint32_t i = 0; r == 0 && i < json_count(pods); i++)
        add_pod(arena, out, json_at(pods, i), a);
    return r;
}

static int
explain(struct kctl *kctl,
        const struct target_object *target,
        struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT, pods = STRBUF_INIT;
    struct answer answer;
    struct json *job = NULL;
    int r = kctl_get(kctl, target, arena, &job, err);

    if (r < 0)
        return r;
    ask_scheduler(kctl, target, arena, &answer);
    r = add_pods(kctl, target, arena, &answer, &pods, err);
    if (r < 0)
        return r;
    describe_output_add(
        &out,
        0,
        "Job",
        "%lld (%s)",
        (long long)json_get_int(json_get(job, "status"), "id", 0),
        target->name);
    if (!add_end(&out, job) && !add_hold(&out, job) && pods.length == 0)
        describe_output_add(&out,
                            0,
                            "Why",
                            "the controller has not taken it up yet");
    strbuf_add(&out, pods.text, pods.length);
    add_outlook(&answer, &out);
    r = object_events_describe(kctl, target, EVENTS, &out, err);
    if (r == 0)
        fwrite(out.text, 1, out.length, stdout);
    return r;
}

/* A pod without a job is explained by itself. */
static int
explain_pod(struct kctl *kctl,
            const struct target_object *target,
            struct json *pod,
            struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct answer answer = {0};
    int r;

    if (is_waiting(pod))
        ask_scheduler(kctl, target, arena, &answer);
    add_pod(arena, &out, pod, &answer);
    add_outlook(&answer, &out);
    r = object_events_describe(kctl, target, EVENTS, &out, err);
    if (r == 0)
        fwrite(out.text, 1, out.length, stdout);
    return r;
}

static const char *
job_of(const struct json *pod)
{
    const struct json *owner =
        json_at(json_get_path(pod, "metadata.ownerReferences"), 0);
    const char *kind = json_get_text(owner, "kind");

    return kind != NULL && strcmp(kind, job_kind.name) == 0
               ? json_get_text(owner, "name")
               : NULL;
}

/* A pod stands for its job. */
static int
explain_any(struct kctl *kctl, struct target_object *target, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *pod = NULL;
    int r;

    if (target->kind == &job_kind)
        return explain(kctl, target, err);
    if (target->kind != &pod_kind)
        return error_set(err,
                         -EINVAL,
                         "%s is neither a job nor a pod",
                         kctl_label(target, arena));
    r = kctl_get(kctl, target, arena, &pod, err);
    if (r < 0)
        return r;
    if (job_of(pod) == NULL)
        return explain_pod(kctl, target, pod, err);
    target->kind = &job_kind;
    target->name = job_of(pod);
    return explain(kctl, target, err);
}

/* "why pod NAME", as other verbs have it. */
static bool
is_kind_word(const char *word)
{
    static const char *const words[] = {"po", "pod", "pods", "job", "jobs"};

    for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

static int
why_run(struct kctl *kctl,
        const void *options,
        int n_operands,
        char **operands,
        struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct resources jobs;
    bool has_kind = n_operands > 1 && is_kind_word(operands[0]);
    int r = resource_parse(kctl,
                           has_kind ? NULL : &job_kind,
                           n_operands,
                           operands,
                           arena,
                           &jobs,
                           err);

    (void)options;
    for (size_t i = 0; r == 0 && i < jobs.count; i++) {
        if (i > 0)
            putchar('\n');
        r = explain_any(kctl, &jobs.items[i], err);
    }
    return r;
}

const struct command why_command = {
    .name = "why",
    .options = &table,
    .options_size = sizeof(struct common_options),
    .run = why_run,
};
