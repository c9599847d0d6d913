/* SPDX-License-Identifier: Apache-2.0 */
/* kctl why - says why a job or a pod does not run, or how it ended */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/job_pods.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/output/describe_output.h"
#include "cli/kctl/output/listing.h"
#include "cli/kctl/output/nearest_nodes.h"
#include "cli/kctl/output/object_events.h"
#include "cli/kctl/verbs/command.h"
#include "cli/print/local_time.h"
#include "cli/print/sanitize_text.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/refusals.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define EVENTS 5

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

/* ---- The one cause ---- */

/* The object's row in the server's table: the words are those of kctl jobs and
 * of kctl get pods, whatever they are.
 */
struct subject {
    const struct target_object *target;
    const struct json *object;
    const char *state, *node, *cause, *code; /* "" for none */
};

static const char *
find_cell(const struct json *answer, const char *name)
{
    const struct json *columns = json_get(answer, "columnDefinitions");
    const struct json *cells =
        json_get(json_at(json_get(answer, "rows"), 0), "cells");

    for (uint32_t i = 0; i < json_count(columns); i++) {
        const char *is = json_get_text(json_at(columns, i), "name");

        if (is != NULL && strcmp(is, name) == 0
            && json_text(json_at(cells, i)) != NULL)
            return json_text(json_at(cells, i));
    }
    return "";
}

static int
look_up(struct kctl *kctl,
        const struct target_object *target,
        struct arena *arena,
        struct subject *ret_subject,
        struct error *err)
{
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = target->kind,
        .namespace = target->namespace,
        .name = target->name,
        .accept = listing_accept(&(struct listing_style){0}),
        .query = "includeObject=Object",
    };
    struct json *found = NULL;
    int r = kctl_call(kctl, &request, arena, &found, err);

    if (r < 0)
        return r;
    *ret_subject = (struct subject){
        .target = target,
        .object = json_get(json_at(json_get(found, "rows"), 0), "object"),
        .state = find_cell(found, "State"),
        .node = find_cell(found, "Node"),
        .cause = find_cell(found, "Reason"),
        .code = find_cell(found, "Code"),
    };
    if (ret_subject->object == NULL)
        return error_set(err, -EPROTO, "the server's answer is no table");
    return 0;
}

static enum job_state_class
class_of(const struct subject *s)
{
    return job_state_words(job_state_of_name(s->state))->class;
}

static bool
is_of_pods_alone(const struct subject *s)
{
    return s->target->kind == &pod_kind;
}

/* "Job 25 (wait1): Pending, waits for 2 CPUs on real, from about 22:06
 * (Resources)". A job that waits may have had a node before.
 */
static void
add_cause(const struct subject *s, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;
    CLEANUP_FREE char *clean = NULL;
    const bool is_pod = is_of_pods_alone(s);
    const char *name =
        json_get_text(json_get_path(s->object, "metadata.annotations"),
                      ANNOTATION_JOB_NAME);
    const int64_t id = json_get_int(json_get(s->object, "status"), "id", 0);

    if (is_pod)
        strbuf_printf(&line, "Pod %s", s->target->name);
    else
        strbuf_printf(&line,
                      "Job %lld (%s)",
                      (long long)id,
                      name != NULL ? name : s->target->name);
    strbuf_printf(&line, ": %s", s->state);
    if (s->node[0] != '\0' && (is_pod || class_of(s) != JOB_STATE_WAITS))
        strbuf_printf(&line, " on %s", s->node);
    if (s->cause[0] != '\0')
        strbuf_printf(&line, ", %s", s->cause);
    if (s->code[0] != '\0')
        strbuf_printf(&line, " (%s)", s->code);
    clean = sanitize_text_dup(line.text);
    strbuf_add_text(out, clean);
    strbuf_add_char(out, '\n');
}

/* All of what the cause is the beginning of: the remedy is behind it. */
static void
add_detail(const struct subject *s, const char *message, struct strbuf *out)
{
    const size_t length = strlen(s->cause);

    if (message != NULL && length > 0 && strncmp(message, s->cause, length) == 0
        && message[length] != '\0')
        describe_output_add(out,
                            2,
                            "Detail",
                            "%s",
                            message + length + strspn(message + length, "; "));
}

static const char *
waiting_message(const struct json *pod)
{
    const struct json *container =
        json_at(json_get_path(pod, "status.containerStatuses"), 0);

    return json_path_text(container, "state.waiting.message");
}

/* ---- Why no node takes it ---- */

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

/* The scheduler's answer of the pod that waits, or, where it cannot be asked,
 * what the pod has of it.
 */
static void
add_wait(const struct json *pod, const struct answer *a, struct strbuf *out)
{
    const struct json *scheduled = find_condition(pod, "PodScheduled");

    if (!is_waiting(pod))
        return;
    if (scheduled == NULL && a->why == NULL)
        return;
    if (scheduled == NULL && json_get(a->why, "reasons") == NULL)
        add_unclaimed(out, pod);
    else if (!add_reasons(out, a->why) && scheduled != NULL
             && !holds(scheduled))
        add_refusals(out, scheduled);
    add_nomination(out, pod);
    if (json_count(json_get(a->why, "reasons")) > 0)
        nearest_nodes_describe(a->why, out);
}

/* The moment as people have it: the answer has that of the API. */
static void
add_local_times(const char *text, const struct json *start, struct strbuf *out)
{
    static const char *const names[] = {"from", "notBefore"};
    const char *moment = NULL, *at = NULL;
    char local[LOCAL_TIME_SIZE];
    int64_t us = 0;

    for (size_t i = 0; at == NULL && i < ARRAY_SIZE(names); i++) {
        moment = json_get_text(start, names[i]);
        at = moment != NULL ? strstr(text, moment) : NULL;
    }
    if (at == NULL || time_parse(moment, &us) < 0) {
        strbuf_add_text(out, text);
        return;
    }
    local_time_format(us, local);
    strbuf_add(out, text, (size_t)(at - text));
    strbuf_printf(out, "%s%s", local, at + strlen(moment));
}

/* Prints when and where the pod could run. */
static void
add_outlook(const struct answer *a, struct strbuf *out)
{
    const struct json *start = json_get(a->why, "start");
    const char *outlook = json_get_text(start, "outlook");
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (outlook == NULL) /* of a controller of the release before */
        outlook = json_get_text(start, "message");
    if (outlook != NULL)
        add_local_times(outlook, start, &text);
    else if (a->why == NULL && a->error.code == -EAGAIN)
        strbuf_add_text(&text, a->error.text);
    if (text.length > 0)
        describe_output_add(out, 2, "Outlook", "%s", text.text);
}

/* ---- Jobs and pods ---- */

/* Of a job of several pods. */
static void
add_counts(const struct subject *s, const struct answer *a, struct strbuf *out)
{
    static const struct {
        const char *name;
        const char *words;
        bool is_of_job;
    } counts[] = {
        {"waiting", "waiting", false},
        {"placed", "on a node", false},
        {"succeeded", "succeeded", true},
        {"failed", "failed", true},
    };
    const struct json *status = json_get(s->object, "status");
    const struct json *pods = json_get(a->why, "pods");
    const int64_t completions =
        json_get_int(json_get(s->object, "spec"), "completions", 1);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (completions < 2
        && json_get_int(json_get(s->object, "spec"), "parallelism", 1) < 2)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        const int64_t n = json_get_int(counts[i].is_of_job ? status : pods,
                                       counts[i].name,
                                       0);

        if (n > 0)
            strbuf_printf(&text,
                          "%s%lld %s",
                          text.length > 0 ? ", " : "",
                          (long long)n,
                          counts[i].words);
    }
    if (text.length > 0)
        describe_output_add(out, 2, "Pods", "%s", text.text);
}

/* Of a job that runs, too: why the others do not. */
static void
add_first_waiting(const struct subject *s,
                  const struct json *pod,
                  const struct answer *a,
                  struct strbuf *out)
{
    const struct json *cause = json_get_path(pod, "status.cause");
    const char *message = json_get_text(cause, "message");

    if (class_of(s) == JOB_STATE_WAITS || a->pod == NULL || message == NULL)
        return;
    describe_output_add(
        out,
        2,
        "Waiting",
        "%s, the first of %lld: %s (%s)",
        a->pod,
        (long long)json_get_int(json_get(a->why, "pods"), "waiting", 1),
        message,
        json_get_text(cause, "code"));
}

/* The pod that the rest is about: the first that waits, or the newest, which
 * matters only of a job that does not run as it should.
 */
static int
find_pod(struct kctl *kctl,
         const struct subject *s,
         const struct answer *a,
         struct arena *arena,
         struct json **ret_pod,
         struct error *err)
{
    const struct target_object *job = s->target;
    const struct target_object one = {&pod_kind, job->namespace, a->pod};
    struct json *pods = NULL;
    int r;

    *ret_pod = NULL;
    if (a->pod != NULL)
        return kctl_find(kctl, &one, arena, ret_pod, err);
    if (class_of(s) == JOB_STATE_RUNS ? s->cause[0] == '\0' : a->why != NULL)
        return 0;
    r = job_pods(kctl, job, arena, &pods, err);
    if (r == 0 && json_count(pods) > 0)
        *ret_pod = json_at(pods, json_count(pods) - 1);
    return r;
}

/* The event is one of every job, or tells what stands above it. */
static bool
is_told(const struct subject *s, const struct json *event)
{
    static const char *const usual[] = {
        "BackoffLimitExceeded",
        "Completed",
        "FailedScheduling",
        "Held",
        "SuccessfulCreate",
        "SuccessfulDelete",
    };
    const char *reason = json_get_text(event, "reason");
    const char *message = json_get_text(event, "message");

    for (size_t i = 0; reason != NULL && i < ARRAY_SIZE(usual); i++)
        if (strcmp(reason, usual[i]) == 0)
            return true;
    return message != NULL && s->cause[0] != '\0'
           && strcasestr(message, s->cause) != NULL;
}

static int
add_events(struct kctl *kctl,
           const struct subject *s,
           struct arena *arena,
           struct strbuf *out,
           struct error *err)
{
    struct json *events = NULL;
    int r = object_events_collect(kctl,
                                  s->target,
                                  s->target->namespace,
                                  arena,
                                  &events,
                                  err);

    if (r < 0)
        return r;
    for (uint32_t i = json_count(events); i-- > 0;)
        if (is_told(s, json_at(events, i)))
            json_remove_at(events, i);
    object_events_add_brief(events, s->target->name, EVENTS, out);
    return 0;
}

static int
explain(struct kctl *kctl,
        const struct target_object *target,
        struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const bool is_pod = target->kind == &pod_kind;
    struct answer answer = {0};
    struct subject s;
    struct json *pod = NULL;
    int r = look_up(kctl, target, arena, &s, err);

    if (r < 0)
        return r;
    add_cause(&s, &out);
    if (!is_pod || is_waiting(s.object))
        ask_scheduler(kctl, target, arena, &answer);
    if (!is_pod) {
        add_counts(&s, &answer, &out);
        r = find_pod(kctl, &s, &answer, arena, &pod, err);
        if (r < 0)
            return r;
        add_first_waiting(&s, pod, &answer, &out);
    }
    add_detail(&s, waiting_message(is_pod ? s.object : pod), &out);
    add_detail(&s,
               json_path_text(is_pod ? s.object : pod, "status.message"),
               &out);
    if (pod == NULL)
        add_detail(&s,
                   json_path_text(s.object, "status.lastRun.message"),
                   &out);
    if (is_pod || pod != NULL)
        add_wait(is_pod ? s.object : pod, &answer, &out);
    add_outlook(&answer, &out);
    r = add_events(kctl, &s, arena, &out, err);
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
        return explain(kctl, target, err);
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
