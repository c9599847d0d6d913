/* SPDX-License-Identifier: Apache-2.0 */
/* kctl why - explains why a job or a pod does not run, or how it ended */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/history_pages.h"
#include "cli/kctl/client/job_pods.h"
#include "cli/kctl/client/job_tasks.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/input/step_operand.h"
#include "cli/kctl/output/array_report.h"
#include "cli/kctl/output/describe_output.h"
#include "cli/kctl/output/history_columns.h"
#include "cli/kctl/output/listing.h"
#include "cli/kctl/output/object_events.h"
#include "cli/kctl/output/step_report.h"
#include "cli/kctl/output/why_answer.h"
#include "cli/print/sanitize_text.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/task_list.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define EVENTS 5

/* ---- Jobs that are deleted ---- */

enum attempts_of {
    ATTEMPTS_OF_GONE,    /* the job does not exist any more */
    ATTEMPTS_OF_TASK,    /* a task whose array exists */
    ATTEMPTS_OF_EARLIER, /* attempts of a task that will run again */
};

struct gone {
    const char *id;
    enum attempts_of how;
    struct arena *arena;
    size_t count;
};

static const char *
gone_text(const struct json *row, const char *column, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    history_columns_text(column, row, &text);
    return arena_strdup(arena, text.length > 0 ? text.text : "");
}

static void
print_heading(const struct gone *g, const char *name)
{
    switch (g->how) {
    case ATTEMPTS_OF_GONE:
        printf("Job %s (%s) is no longer in the API; its record in history:\n", g->id, name);
        break;
    case ATTEMPTS_OF_TASK:
        printf("Task %s (%s) has ended:\n", g->id, name);
        break;
    case ATTEMPTS_OF_EARLIER:
        printf("Its earlier attempts:\n");
        break;
    }
}

/* The text that explains the end: not again what the state says. */
static const char *
words_of_end(const struct json *row, struct arena *arena)
{
    const char *message = json_get_text(row, "message");
    const char *reason = json_get_text(row, "reason");
    const char *state = gone_text(row, "state", arena);
    const char *by = json_get_text(row, "endedBy");
    const bool says_reason = reason != NULL && reason[0] != '\0' && strcmp(reason, state) != 0;
    const char *end = by != NULL ? arena_printf(arena, "cancelled by %s", by) : NULL;

    if (message != NULL && (message[0] == '\0' || (end != NULL && strcmp(message, end) == 0)))
        message = NULL;
    return arena_printf(arena, "%s%s%s%s%s%s", by != NULL ? " by " : "", by != NULL ? by : "",
                        says_reason ? ": " : "", says_reason ? reason : "",
                        message != NULL ? (says_reason ? ", " : ": ") : "",
                        message != NULL ? message : "");
}

static bool
explain_row(const struct json *row, void *context)
{
    struct gone *g = context;
    const bool has_started = json_get(row, "startTime") != NULL;
    CLEANUP_FREE char *words = sanitize_text_dup(words_of_end(row, g->arena));
    CLEANUP_FREE char *name = sanitize_text_dup(gone_text(row, "name", g->arena));

    if (g->count++ == 0)
        print_heading(g, name);
    printf("%s  %s%s  %s%s\n", gone_text(row, "ended", g->arena),
           has_started ? "attempt " : "never started",
           has_started ? gone_text(row, "attempt", g->arena) : "",
           gone_text(row, "state", g->arena), words);
    return true;
}

/* Prints the attempts. False: history has none. */
static bool
print_attempts(struct kctl *kctl, const char *id, enum attempts_of how, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf query = STRBUF_INIT;
    struct gone g = {.id = id, .how = how, .arena = arena};

    return history_query_add_job(&query, id, NULL) >= 0
           && history_pages_visit(kctl, query.text, explain_row, &g, NULL) >= 0 && g.count > 0;
}

/* ---- The command ---- */

static const struct option_spec rows[] = {COMMON_OPTIONS};

static const struct option_table table = {
    .name = "kctl why",
    .usage = "[OPTION]... JOB|JOB_TASK|JOB.STEP|pod/NAME|pod NAME...",
    .summary = "Show why jobs and pods do not run yet, or how they or steps of jobs ended.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl why 1042\n"
            "  kctl why 1042_7\n"
            "  kctl why 1042.0",
};

/* ---- The main cause ---- */

/* The object's row in the server's table, so that the texts are those of kctl
 * jobs and kctl get pods.
 */
struct subject {
    const struct target_object *target;
    const struct json *object;
    const char *state, *node, *cause, *code; /* "" if there is none */
};

static const char *
find_cell(const struct json *answer, const char *name)
{
    const struct json *columns = json_get(answer, "columnDefinitions");
    const struct json *cells = json_get(json_at(json_get(answer, "rows"), 0), "cells");

    for (uint32_t i = 0; i < json_count(columns); i++) {
        const char *is = json_get_text(json_at(columns, i), "name");

        if (is != NULL && strcmp(is, name) == 0 && json_text(json_at(cells, i)) != NULL)
            return json_text(json_at(cells, i));
    }
    return "";
}

static int
look_up(struct kctl *kctl, const struct target_object *target, struct arena *arena,
        struct subject *ret_subject, struct error *err)
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
    /* kubectl's word for a pod; a task has the states of jobs. */
    if (target->task != NULL && strcmp(ret_subject->state, "Terminating") == 0)
        ret_subject->state = job_state_words(JOB_STATE_ENDING)->name;
    if (ret_subject->object == NULL)
        return error_set(err, -EPROTO, "the server's answer is not a table");
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

/* Its tasks have nodes of their own. */
static bool
is_array(const struct subject *s)
{
    return s->target->task == NULL && json_get_path(s->object, "spec.array") != NULL;
}

/* Whether it is an array of which some tasks run and others wait: the state in
 * its row is that of the waiting tasks.
 */
static bool
runs_in_part(const struct subject *s)
{
    return is_array(s) && class_of(s) == JOB_STATE_WAITS
           && json_get_int(json_get(s->object, "status"), "ready", 0) > 0;
}

/* "Job 25 (wait1): Pending, waits for 2 CPUs on real, from about 22:06
 * (Resources)". A waiting job may have had a node before.
 */
static void
add_cause(const struct subject *s, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;
    CLEANUP_FREE char *clean = NULL;
    const bool is_pod = is_of_pods_alone(s);
    const char *name =
        json_get_text(json_get_path(s->object, "metadata.annotations"), ANNOTATION_JOB_NAME);
    const int64_t id = json_get_int(json_get(s->object, "status"), "id", 0);

    if (s->target->task != NULL)
        strbuf_printf(&line, "Task %s (%s)", s->target->task,
                      name != NULL ? name : s->target->name);
    else if (is_pod)
        strbuf_printf(&line, "Pod %s", s->target->name);
    else
        strbuf_printf(&line, "Job %lld (%s)", (long long)id, name != NULL ? name : s->target->name);
    strbuf_printf(&line, ": %s%s", runs_in_part(s) ? "Running, the rest is " : "", s->state);
    if (s->node[0] != '\0' && (is_pod || class_of(s) != JOB_STATE_WAITS) && !is_array(s))
        strbuf_printf(&line, " on %s", s->node);
    if (s->cause[0] != '\0')
        strbuf_printf(&line, ", %s", s->cause);
    if (s->code[0] != '\0')
        strbuf_printf(&line, " (%s)", s->code);
    clean = sanitize_text_dup(line.text);
    strbuf_add_text(out, clean);
    strbuf_add_char(out, '\n');
}

/* Adds the rest of the message that begins with the cause: the remedy is there.
 */
static void
add_detail(const struct subject *s, const char *message, struct strbuf *out)
{
    const size_t length = strlen(s->cause);

    if (message != NULL && length > 0 && strncmp(message, s->cause, length) == 0
        && message[length] != '\0')
        describe_output_add(out, 2, "Detail", "%s",
                            message + length + strspn(message + length, "; "));
}

static const char *
waiting_message(const struct json *pod)
{
    const struct json *container = json_at(json_get_path(pod, "status.containerStatuses"), 0);

    return json_path_text(container, "state.waiting.message");
}

/* ---- Jobs and pods ---- */

/* Once the pods of a gang run, all of them do. */
static const char *
words_of_placed(const struct subject *s)
{
    const struct json *scheduling = json_get_path(s->object, "spec.scheduling");

    if (json_get_path(scheduling, "schedulingPolicy.gang") == NULL)
        return "on a node";
    if (strcmp(s->state, "Running") != 0)
        return json_is_true(json_get(scheduling, "onePerNode")) ? "on nodes of their own"
                                                                : "on a node";
    return json_is_true(json_get(scheduling, "onePerNode")) ? "running, each on its own node"
                                                            : "running";
}

/* Adds the counts of a job with several pods. */
static void
add_counts(const struct subject *s, const struct why_answer *a, struct strbuf *out)
{
    static const struct {
        const char *name;
        const char *words;
        bool is_of_job;
    } counts[] = {
        {"waiting", "waiting", false},
        {"placed", NULL, false}, /* words_of_placed */
        {"succeeded", "succeeded", true},
        {"failed", "failed", true},
    };
    const struct json *status = json_get(s->object, "status");
    const struct json *pods = json_get(a->why, "pods");
    const int64_t completions = json_get_int(json_get(s->object, "spec"), "completions", 1);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (completions < 2 && json_get_int(json_get(s->object, "spec"), "parallelism", 1) < 2)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        const int64_t n = json_get_int(counts[i].is_of_job ? status : pods, counts[i].name, 0);

        if (n > 0)
            strbuf_printf(&text, "%s%lld %s", text.length > 0 ? ", " : "", (long long)n,
                          counts[i].words != NULL ? counts[i].words : words_of_placed(s));
    }
    if (text.length > 0)
        describe_output_add(out, 2, "Pods", "%s", text.text);
}

/* Adds, also for a running job, why its other pods do not run. */
static void
add_first_waiting(const struct subject *s, const struct json *pod, const struct why_answer *a,
                  struct strbuf *out)
{
    const struct json *cause = json_get_path(pod, "status.cause");
    const char *message = json_get_text(cause, "message");

    if (class_of(s) == JOB_STATE_WAITS || a->pod == NULL || message == NULL)
        return;
    describe_output_add(out, 2, "Waiting", "%s, the first of %lld: %s (%s)", a->pod,
                        (long long)json_get_int(json_get(a->why, "pods"), "waiting", 1), message,
                        json_get_text(cause, "code"));
}

/* Finds the pod for the details: the first one that waits, or the newest. The
 * newest is needed only if the job does not run as it should.
 */
static int
find_pod(struct kctl *kctl, const struct subject *s, const struct why_answer *a,
         struct arena *arena, struct json **ret_pod, struct error *err)
{
    const struct target_object *job = s->target;
    const struct target_object one = {
        .kind = &pod_kind, .namespace = job->namespace, .name = a->pod};
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

/* Whether the event occurs for every job, or repeats the lines above it. */
static bool
adds_nothing(const struct subject *s, const struct json *event)
{
    static const char *const usual[] = {
        "BackoffLimitExceeded",
        EVENT_COMPLETED,
        EVENT_FAILED_CREATE,
        EVENT_FAILED_SCHEDULING,
        EVENT_HELD,
        EVENT_SCHEDULED,
        EVENT_SUCCESSFUL_CREATE,
        EVENT_SUCCESSFUL_DELETE,
    };
    const char *reason = json_get_text(event, "reason");
    const char *message = json_get_text(event, "message");

    for (size_t i = 0; reason != NULL && i < ARRAY_SIZE(usual); i++)
        if (strcmp(reason, usual[i]) == 0)
            return true;
    if (reason != NULL
        && (strcmp(reason, s->state) == 0 || strcmp(reason, s->code) == 0
            || strcasestr(s->cause, reason) != NULL))
        return true;
    return message != NULL && s->cause[0] != '\0' && strcasestr(message, s->cause) != NULL;
}

static int
add_events(struct kctl *kctl, const struct subject *s, struct arena *arena, struct strbuf *out,
           struct error *err)
{
    struct json *events = NULL;
    int r = object_events_collect(kctl, s->target, s->target->namespace, arena, &events, err);

    if (r < 0)
        return r;
    for (uint32_t i = json_count(events); i-- > 0;)
        if (adds_nothing(s, json_at(events, i)))
            json_remove_at(events, i);
    object_events_add_brief(events, s->target->name, EVENTS, out);
    return 0;
}

static int
explain(struct kctl *kctl, const struct target_object *target, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const bool is_pod = target->kind == &pod_kind;
    struct why_answer answer = {0};
    struct subject s;
    struct json *pod = NULL;
    int r = look_up(kctl, target, arena, &s, err);

    if (r < 0)
        return r;
    add_cause(&s, &out);
    if (!is_pod || why_answer_is_waiting(s.object))
        why_answer_get(kctl, target, arena, &answer);
    if (!is_pod) {
        if (json_get_path(s.object, "spec.array") != NULL)
            array_report_add(kctl, s.object, &out);
        else
            add_counts(&s, &answer, &out);
        r = find_pod(kctl, &s, &answer, arena, &pod, err);
        if (r < 0)
            return r;
        add_first_waiting(&s, pod, &answer, &out);
    }
    add_detail(&s, waiting_message(is_pod ? s.object : pod), &out);
    add_detail(&s, json_path_text(is_pod ? s.object : pod, "status.message"), &out);
    if (pod == NULL)
        add_detail(&s, json_path_text(s.object, "status.lastRun.message"), &out);
    if (is_pod || pod != NULL)
        why_answer_add_wait(&answer, is_pod ? s.object : pod, &out);
    why_answer_add_quota(&answer, &out);
    why_answer_add_dependencies(&answer, &out);
    why_answer_add_outlook(&answer, &out);
    r = add_events(kctl, &s, arena, &out, err);
    if (r == 0)
        fwrite(out.text, 1, out.length, stdout);
    return r;
}

/* ---- Tasks without a pod ---- */

static bool
has_task(struct arena *arena, const char *list, int64_t task)
{
    struct task_list tasks;

    return list != NULL && task_list_parse(arena, list, &tasks, NULL) == 0
           && task_list_index(&tasks, task) >= 0;
}

/* The reason if the system holds the task; "" if a user does. */
static char *
find_hold(struct kctl *kctl, const struct target_object *target, int64_t task, struct arena *arena)
{
    const struct target_object job = {
        .kind = &job_kind, .namespace = target->namespace, .name = target->name};
    const char *begin = arena_printf(arena, "task %" PRId64 " held: ", task);
    const char *found = NULL;
    struct json *events = NULL;
    struct error err = {0};

    if (object_events_collect(kctl, &job, job.namespace, arena, &events, &err) < 0)
        return sanitize_text_dup(NULL);
    for (uint32_t i = 0; i < json_count(events); i++) {
        const char *words = json_get_text(json_at(events, i), "message");

        if (words != NULL && strncmp(words, begin, strlen(begin)) == 0)
            found = words;
    }
    return sanitize_text_dup(found);
}

/* The task waits with its array. */
static int
explain_waiting_task(struct kctl *kctl, const struct target_object *target, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const int64_t task = strtoll(strchr(target->task, '_') + 1, NULL, 10);
    struct target_object whole = *target;
    const char *cancelled_by;
    struct json *job = NULL;
    int r = kctl_get(kctl, target, arena, &job, err);

    if (r < 0)
        return r;
    cancelled_by = json_get_text(json_get_path(job, "metadata.annotations"), ANNOTATION_CANCEL);
    if (has_task(arena, json_path_text(job, "spec.array.cancelled"), task)) {
        printf("Task %s: Cancelled before it began\n", target->task);
        return 0;
    }
    if (cancelled_by != NULL) {
        printf("Task %s: Cancelled before it began, with its array, by %s\n", target->task,
               cancelled_by);
        return 0;
    }
    if (has_task(arena, json_path_text(job, "spec.array.held"), task)) {
        CLEANUP_FREE char *words = find_hold(kctl, target, task, arena);

        /* The text of a hold by the system says how to release the task. */
        if (words[0] != '\0')
            printf("Task %s: Held\n%s\n", target->task, words);
        else
            printf("Task %s: Held; 'kctl release %s' lets it start\n", target->task, target->task);
        return 0;
    }
    printf(job_state_is_ended(job_state_of_name(json_path_text(job, "status.state")))
               ? "Task %s did not start before its array ended:\n"
               : "Task %s waits with the rest of its array:\n",
           target->task);
    whole.task = NULL;
    return explain(kctl, &whole, err);
}

/* Whether the task will run again, after an interruption or a requeue. */
static bool
is_to_run(struct kctl *kctl, const char *task, struct arena *arena)
{
    struct json *items = NULL;
    struct error err = {0};
    enum job_state state;

    if (job_tasks_fetch(kctl, task, arena, &items, &err) < 0)
        return false;
    state = job_state_of_name(json_get_text(json_at(items, 0), "state"));
    return state != JOB_STATE_NONE && !job_state_is_ended(state);
}

/* An ended task is in history; an existing pod may belong to a later run. */
static int
explain_task(struct kctl *kctl, const struct target_object *target, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *pod = NULL;
    const char *phase = NULL;
    bool is_waiting;
    int r = 0;

    if (target->kind == &pod_kind) {
        r = kctl_get(kctl, target, arena, &pod, err);
        phase = json_path_text(pod, "status.phase");
    }
    if (r < 0)
        return r;
    if (pod != NULL
        && (phase == NULL || (strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0)))
        return explain(kctl, target, err);
    is_waiting = is_to_run(kctl, target->task, arena);
    if (!is_waiting && print_attempts(kctl, target->task, ATTEMPTS_OF_TASK, arena))
        return 0;
    if (pod != NULL && !is_waiting)
        return explain(kctl, target, err);
    r = explain_waiting_task(kctl, target, err);
    if (r == 0 && is_waiting)
        (void)print_attempts(kctl, target->task, ATTEMPTS_OF_EARLIER, arena);
    return r;
}

static const char *
job_of(const struct json *pod)
{
    const struct json *owner = json_at(json_get_path(pod, "metadata.ownerReferences"), 0);
    const char *kind = json_get_text(owner, "kind");

    return kind != NULL && strcmp(kind, job_kind.name) == 0 ? json_get_text(owner, "name") : NULL;
}

/* A pod's job is explained instead of the pod. */
static int
explain_any(struct kctl *kctl, struct target_object *target, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *pod = NULL;
    int r;

    if (target->task != NULL)
        return explain_task(kctl, target, err);
    if (target->kind == &job_kind)
        return explain(kctl, target, err);
    if (target->kind != &pod_kind)
        return error_set(err, -EINVAL, "%s is neither a job nor a pod", kctl_label(target, arena));
    r = kctl_get(kctl, target, arena, &pod, err);
    if (r < 0)
        return r;
    if (job_of(pod) == NULL)
        return explain(kctl, target, err);
    target->kind = &job_kind;
    target->name = job_of(pod);
    return explain(kctl, target, err);
}

/* Skips the type in "why pod NAME", as other verbs do. */
static bool
is_kind_word(const char *word)
{
    static const char *const words[] = {"po", "pod", "pods", "job", "jobs"};

    for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

static void
explain_steps(const struct json *steps, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    for (uint32_t i = 0; i < json_count(steps); i++)
        step_report_add_end(arena, json_at(steps, i), &out);
    fwrite(out.text, 1, out.length, stdout);
}

static int
why_run(struct kctl *kctl, const void *options, int n_operands, char **operands, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct named_resources jobs = {0};
    struct json *steps = NULL;
    bool has_kind = n_operands > 1 && is_kind_word(operands[0]);
    const bool is_any = n_operands > 0;
    int r;

    (void)options;
    kctl->takes_tasks = true;
    r = step_operands_find(kctl, &n_operands, operands, arena, &steps, err);
    if (r < 0)
        return r;
    explain_steps(steps, arena);
    if (is_any && n_operands == 0)
        return 0;
    r = resource_parse(kctl, has_kind ? NULL : &job_kind, n_operands, operands, arena, &jobs, err);
    for (size_t i = 0; r == 0 && i < jobs.count; i++) {
        if (i > 0 || json_count(steps) > 0)
            putchar('\n');
        r = explain_any(kctl, &jobs.items[i], err);
    }
    if (r == -ENOENT && n_operands == 1
        && print_attempts(kctl, operands[0], ATTEMPTS_OF_GONE, arena))
        return 0;
    return r;
}

const struct command why_command = {
    .name = "why",
    .options = &table,
    .options_size = sizeof(struct common_options),
    .run = why_run,
};
