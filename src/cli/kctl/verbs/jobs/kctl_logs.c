/* SPDX-License-Identifier: Apache-2.0 */
/* kctl logs - shows the output of a job
 *
 * A job means its newest pod. With --follow, kctl waits for a pod that has not
 * started, and ends when the pod ends.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/connect/connection.h"
#include "cli/kctl/client/command.h"
#include "cli/kctl/client/history_pages.h"
#include "cli/kctl/client/job_pods.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/client/log_pods.h"
#include "cli/kctl/client/wait_condition.h"
#include "cli/kctl/input/job_operands.h"
#include "cli/kctl/input/resource.h"
#include "lib/api/job/job_array.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/job_elements.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/base/timespan.h"
#include "lib/client/sync_call.h"
#include "lib/http/target.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "lib/program/program.h"

#define ALL_LINES     0 /* no --tail */
#define RESUME_MS     250
#define AGAIN_MS      100
#define RESUME_FOR_US INT64_C(60000000)
#define SAY_AFTER_US  INT64_C(1000000)
#define INDEX         ANNOTATION_INDEX /* the annotation is also a label */

/* ---- Tasks whose pods are deleted ---- */

#define MAX_NODE 256

static bool
keep_node(const struct json *row, void *context)
{
    const char *node = json_get_text(row, "node");

    snprintf(context, MAX_NODE, "%s", node != NULL ? node : "");
    return true;
}

/* The pod is gone, so history has the node, and the template of the Job the file. */
static int
explain_gone_task(struct kctl *kctl, const struct target_object *target, const char *why,
                  struct arena *arena, struct error *err)
{
    CLEANUP_STRBUF struct strbuf query = STRBUF_INIT;
    const char *task = target->task, *path, *directory;
    struct json *job = NULL, *spec;
    char node[MAX_NODE] = "";
    int r = kctl_get(kctl, target, arena, &job, err);

    if (r < 0)
        return r;
    if (history_query_add_job(&query, task, NULL) < 0
        || history_pages_visit(kctl, query.text, keep_node, node, NULL) < 0 || node[0] == '\0')
        return error_set(err, -EAGAIN,
                         "task %s has not been started; 'kctl why %s' says "
                         "more",
                         task, task);
    spec = json_get_path(job, "spec.template.spec");
    path = json_path_text(spec, "execution.stdoutPath");
    directory = json_get_text(json_at(json_get(spec, "containers"), 0), "workingDir");
    if (path == NULL || directory == NULL)
        return error_set(err, -ENOENT, "task %s has ended, and its pod is gone", task);
    path = job_array_path(arena, path, strtoll(task, NULL, 10),
                          strtoll(strchr(task, '_') + 1, NULL, 10));
    return error_set(err, -ENOENT,
                     "task %s has ended, and its pod is gone; its output is "
                     "the file %s%s%s as node %s sees it "
                     "(%s)",
                     task, path[0] == '/' ? "" : directory, path[0] == '/' ? "" : "/", path, node,
                     why);
}

/* ---- Options ---- */

struct logs_options {
    struct common_options common;
    int64_t tail;
    int64_t limit_bytes;
    int64_t attempt; /* 0: the newest */
    const char *node;
    const char *since; /* a timespan */
    const char *since_time;
    bool follows;
    bool is_error;
    bool previous;
    bool timestamps;
};

#define PLACE(member) .offset = offsetof(struct logs_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "attempt",
     .argument = "N",
     .help = "output of this attempt: 1 is the first",
     .type = OPTION_INT,
     .min = 1,
     .max = INT32_MAX,
     PLACE(attempt)},
    {.name = "follow",
     .letter = 'f',
     .help = "keep printing new output, until the job ends",
     .type = OPTION_FLAG,
     PLACE(follows)},
    {.name = "limit-bytes",
     .argument = "N",
     .help = "at most this many bytes",
     .type = OPTION_INT,
     .min = 1,
     .max = INT64_MAX,
     PLACE(limit_bytes)},
    {.name = "node",
     .argument = "NAME",
     .help = "of a job of several nodes: the output on this node",
     .type = OPTION_TEXT,
     PLACE(node)},
    {.name = "previous",
     .letter = 'p',
     .help = "output of the attempt before",
     .type = OPTION_FLAG,
     PLACE(previous)},
    {.name = "since",
     .argument = "TIME",
     .help = "only output written within this time: 90s, 5m, 2h",
     .type = OPTION_TEXT,
     PLACE(since)},
    {.name = "since-time",
     .argument = "TIME",
     .help = "only output written since this time: 2026-01-31T08:00:00Z",
     .type = OPTION_TEXT,
     PLACE(since_time)},
    {.name = "stderr",
     .help = "its standard error, if that has a file of its own (ksub -e)",
     .type = OPTION_FLAG,
     PLACE(is_error)},
    {.name = "tail",
     .argument = "N",
     .help = "only the last N lines",
     .type = OPTION_INT,
     .min = 1,
     .max = INT32_MAX,
     PLACE(tail)},
    {.name = "timestamps",
     .help = "before each line, the time when it was written",
     .type = OPTION_FLAG,
     PLACE(timestamps)},
};

static const struct option_table table = {
    .name = "kctl logs",
    .usage = "[OPTION]... JOB\n[OPTION]... JOB_TASK\n[OPTION]... pod POD",
    .summary = "Show what a job has written to its standard output.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl logs -f 1042\n"
            "  kctl logs 1042_7\n"
            "  kctl logs --attempt 2 1042_7\n"
            "  kctl logs --stderr 1042\n"
            "  kctl logs --tail 20 pod job-7-0",
};

static bool
has_condition(const struct json *job, const char *type)
{
    const struct json *conditions = json_get_path(job, "status.conditions");

    for (uint32_t i = 0; i < json_count(conditions); i++) {
        const char *is = json_get_text(json_at(conditions, i), "type");
        const char *status = json_get_text(json_at(conditions, i), "status");

        if (is != NULL && strcmp(is, type) == 0)
            return status != NULL && strcmp(status, "True") == 0;
    }
    return false;
}

static bool
has_ended(const struct json *job)
{
    return has_condition(job, "Complete") || has_condition(job, "Failed");
}

static bool
has_pods_or_never(const struct json *job, void *context)
{
    (void)context;
    return job == NULL || has_ended(job) || json_get_int(json_get(job, "status"), "active", 0) > 0;
}

/* The pods of the job, which has at least that many unless it never will. The
 * pod of a job that is held or requeued may be gone before it has started.
 */
static int
find_pods(struct kctl *kctl, const struct logs_options *o, const struct target_object *job,
          uint32_t least, struct arena *arena, struct json **ret_pods, struct error *err)
{
    for (;;) {
        struct json *object = NULL;
        int r = job_pods(kctl, job, arena, ret_pods, err);

        log_pods_leave_out_pauses(*ret_pods);
        if (r < 0 || !o->follows || json_count(*ret_pods) >= least)
            return r;
        r = kctl_get(kctl, job, arena, &object, err);
        if (r == 0 && has_ended(object) && json_count(*ret_pods) == 0)
            return error_set(err, -ENOENT,
                             "%s has ended without having started; 'kctl why' says more",
                             kctl_job_words(job, arena));
        if (r < 0 || has_ended(object) || json_count(*ret_pods) > 0)
            return r;
        r = wait_for_condition(kctl, job, 0, has_pods_or_never, NULL, err);
        if (r < 0)
            return r;
        nanosleep(&(struct timespec){.tv_nsec = AGAIN_MS * 1000000}, NULL);
    }
}

static int
choose_pod(struct kctl *kctl, const struct logs_options *o, const struct target_object *job,
           struct arena *arena, struct target_object *ret_pod, struct error *err)
{
    const uint32_t back = o->previous ? 2 : 1;
    const struct json *chosen = NULL;
    struct json *pods = NULL, *all;
    int r = find_pods(kctl, o, job, back, arena, &pods, err);

    if (r < 0)
        return r;
    all = pods;
    if (o->node != NULL && json_count(pods) > 0 && !log_pods_keep_node(pods, arena, o->node))
        return error_set(err, -ENOENT,
                         "%s writes no output on node '%s'; 'kctl jobs' shows its nodes",
                         kctl_job_words(job, arena), o->node);
    if (o->node == NULL)
        pods = log_pods_of_first(pods, arena);
    if (json_count(pods) > 0 && o->attempt > 0)
        chosen = log_pods_find_attempt(pods, o->attempt);
    if (json_count(pods) > 0 && chosen == NULL && (o->attempt > 0 || json_count(pods) < back))
        chosen = log_pods_find_appended(pods, o->previous ? 0 : o->attempt);
    if (json_count(pods) < back && o->previous && chosen == NULL)
        return error_set(err, -ENOENT, "%s has no attempt before", kctl_job_words(job, arena));
    if (json_count(pods) == 0)
        return error_set(err, -EAGAIN, "%s has not been started; 'kctl why' says more",
                         kctl_job_words(job, arena));
    if (chosen == NULL && o->attempt == 0)
        chosen = json_at(pods, json_count(pods) - back);
    if (chosen == NULL)
        return log_pods_refuse_attempt(job, o->attempt, json_at(pods, json_count(pods) - 1), arena,
                                       err);
    *ret_pod = (struct target_object){
        .kind = &pod_kind,
        .namespace = job->namespace,
        .name = json_path_text(chosen, "metadata.name"),
    };
    log_pods_print_others(job, all, chosen);
    return 0;
}

static bool
has_started(const struct json *pod, void *context)
{
    const char *phase = json_path_text(pod, "status.phase");

    (void)context;
    return pod == NULL || (phase != NULL && strcmp(phase, "Pending") != 0);
}

static int
check_started(struct kctl *kctl, const struct target_object *pod, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *object = NULL;
    int r = kctl_get(kctl, pod, arena, &object, err);

    if (r == 0 && !has_started(object, NULL))
        return error_set(err, -EAGAIN,
                         "%s has not started yet; 'kctl why' says more, and "
                         "-f waits for it",
                         kctl_label(pod, arena));
    return r;
}

/* Checked here because the server does not know the names of the options. */
static int
check_times(const struct logs_options *o, struct error *err)
{
    int64_t us = 0;

    if (o->is_error && (o->since != NULL || o->since_time != NULL || o->timestamps))
        return error_set(err, -EINVAL,
                         "--stderr: the times of lines are recorded for standard output only; "
                         "leave out --since, --since-time and --timestamps");
    if (o->since != NULL && o->since_time != NULL)
        return error_set(err, -EINVAL, "give either --since or --since-time, not both");
    if (o->since != NULL && (timespan_parse(o->since, &us) < 0 || us <= 0))
        return error_set(err, -EINVAL, "--since: '%s' is not a time (90s, 2h)", o->since);
    if (o->since_time != NULL && time_parse(o->since_time, &us) < 0)
        return error_set(err, -EINVAL,
                         "--since-time: '%s' is not a time such as "
                         "2026-01-31T08:00:00Z",
                         o->since_time);
    return 0;
}

static const char *
query_of(const struct logs_options *o, const struct target_object *pod, struct arena *arena)
{
    int64_t since_us = 0;
    CLEANUP_STRBUF struct strbuf query = STRBUF_INIT;

    strbuf_printf(&query, "follow=%s", o->follows ? "true" : "false");
    if (o->tail != ALL_LINES)
        strbuf_printf(&query, "&tailLines=%lld", (long long)o->tail);
    if (o->limit_bytes > 0)
        strbuf_printf(&query, "&limitBytes=%lld", (long long)o->limit_bytes);
    if (o->since != NULL && timespan_parse(o->since, &since_us) == 0)
        strbuf_printf(&query, "&sinceSeconds=%lld", (long long)((since_us + 999999) / 1000000));
    if (o->since_time != NULL) {
        strbuf_add_text(&query, "&sinceTime=");
        target_escape(&query, o->since_time);
    }
    if (o->timestamps)
        strbuf_add_text(&query, "&timestamps=true");
    if (o->is_error)
        strbuf_add_text(&query, "&stream=Stderr");
    if (pod->kind == &job_kind)
        strbuf_printf(&query, "&task=%s%s", strchr(pod->task, '_') + 1,
                      o->previous ? "&previous=true" : "");
    if (pod->kind == &job_kind && o->attempt > 0)
        strbuf_printf(&query, "&attempt=%" PRId64, o->attempt);
    return arena_strdup(arena, query.text);
}

struct sink {
    int result;
    bool has_begun;
    uint64_t bytes;        /* bytes shown */
    uint64_t bytes_before; /* at the last interruption */
    uint64_t to_skip;      /* bytes to discard, which were shown before */
    int64_t lost_us;       /* since when nothing arrives, monotonic; 0: data
                            * arrive */
    bool is_said;
};

static void
take_piece(const void *bytes, size_t length, void *context)
{
    struct sink *sink = context;
    const char *from = bytes;
    size_t skipped = length;

    sink->has_begun = true;
    if ((uint64_t)skipped > sink->to_skip)
        skipped = (size_t)sink->to_skip;
    sink->to_skip -= skipped;
    from += skipped;
    length -= skipped;
    if (sink->result == 0 && length > 0)
        sink->result = fd_write_all(STDOUT_FILENO, from, length);
    /* The stream of a running job would continue until the end of the job. */
    if (sink->result == -EPIPE)
        exit((int)program_end("kctl logs", sink->result, NULL));
    sink->bytes += length;
}

/* A log shown from its first byte can be resumed where it was interrupted. A
 * log that shows the last lines starts at another byte each time.
 */
static bool
can_resume(const struct logs_options *o)
{
    return o->follows && o->tail == ALL_LINES && o->since == NULL && o->since_time == NULL
           && !o->timestamps;
}

static int64_t
now_us(void)
{
    return clock_monotonic_us(&clock_system);
}

/* Whether to retry after the controller or the agent did not answer. It does
 * not wait for a pod that is deleted.
 */
static bool
wait_to_resume(struct sink *sink, int r, const struct sync_call *sync_call)
{
    if (r == -EKEYREJECTED || sync_call->code == 404 || sync_call->code == 403
        || sync_call->code == 400)
        return false;
    if (sink->bytes > sink->bytes_before || sink->lost_us == 0) {
        sink->lost_us = now_us();
        sink->is_said = false;
    }
    if (now_us() - sink->lost_us > RESUME_FOR_US)
        return false;
    if (!sink->is_said && now_us() - sink->lost_us >= SAY_AFTER_US) {
        sink->is_said = true;
        fprintf(stderr, "kctl: logs: the output was interrupted, because the "
                        "controller or the node's agent is away; waiting until it "
                        "continues\n");
    }
    nanosleep(&(struct timespec){.tv_nsec = RESUME_MS * 1000000}, NULL);
    sink->bytes_before = sink->bytes;
    sink->to_skip = sink->bytes;
    return true;
}

static int
stream_once(struct kctl *kctl, const struct logs_options *o, const struct target_object *pod,
            struct sink *sink, struct sync_call *sync_call, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = pod->kind,
        .namespace = pod->namespace,
        .name = pod->name,
        .subresource = "log",
        .query = query_of(o, pod, arena),
        .raw = true,
        .data = take_piece,
        .data_context = sink,
    };

    return sync_call_run(kctl_client(kctl), NULL, &request, sync_call, err);
}

static int
stream(struct kctl *kctl, const struct logs_options *o, const struct target_object *pod,
       int *ret_code, /* of an answer without output; otherwise 0 */
       struct error *err)
{
    CLEANUP_SYNC_CALL struct sync_call sync_call = {0};
    struct sink sink = {0};
    int r = kctl_open(kctl, err);

    *ret_code = 0;
    if (r < 0)
        return r;
    for (;;) {
        r = stream_once(kctl, o, pod, &sink, &sync_call, err);
        if (r == 0 || sink.result < 0 || !can_resume(o) || !sink.has_begun
            || !wait_to_resume(&sink, r, &sync_call))
            break;
        sync_call_fini(&sync_call);
    }
    if (r < 0 && r != -EKEYREJECTED && sink.has_begun)
        return error_set(err, r,
                         "the output was interrupted before its end: the "
                         "agent of its node or the controller went away; try "
                         "again");
    *ret_code = sync_call.code;
    if (r < 0)
        return connection_advise(r, err);
    if (sink.result < 0)
        return error_set(err, sink.result, "writing to standard output: %s",
                         strerror(-sink.result));
    return 0;
}

/* Finds the pod of a task, or the pod of an earlier attempt; the Job if that is
 * gone.
 */
static int
find_task(struct kctl *kctl, const struct logs_options *o, char *operand, struct arena *arena,
          struct target_object *ret_target, struct error *err)
{
    const struct json *before;
    struct json *pod = NULL, *pods = NULL;
    const char *index;
    int r = resource_parse_one(kctl, &job_kind, 1, &operand, arena, ret_target, err);

    if (r < 0)
        return r;
    if (ret_target->kind == &job_kind || (!o->previous && o->attempt == 0))
        return 0;
    r = kctl_get(kctl, ret_target, arena, &pod, err);
    if (r < 0)
        return r;
    index = json_get_text(json_get_path(pod, "metadata.labels"), INDEX);
    r = job_pods_of_index(
        kctl,
        &(struct target_object){
            .kind = &job_kind,
            .namespace = ret_target->namespace,
            .name = json_get_text(json_get_path(pod, "metadata.labels"), LABEL_JOB_NAME)},
        index != NULL ? strtoll(index, NULL, 10) : 0, arena, &pods, err);
    if (r < 0)
        return r;
    before = o->attempt > 0         ? log_pods_find_attempt(pods, o->attempt)
             : json_count(pods) > 1 ? json_at(pods, json_count(pods) - 2)
                                    : NULL;
    if (before == NULL) {
        ret_target->kind = &job_kind;
        ret_target->name = json_get_text(json_get_path(pod, "metadata.labels"), LABEL_JOB_NAME);
        return 0;
    }
    ret_target->name = json_path_text(before, "metadata.name");
    return 0;
}

/* Shows the output of a task whose pod is gone, from the task's file. */
static int
stream_task(struct kctl *kctl, const struct logs_options *o, const struct target_object *job,
            struct arena *arena, struct error *err)
{
    struct error why = {0};
    int code = 0;
    int r = stream(kctl, o, job, &code, &why);

    if (r < 0 && !o->previous && o->attempt == 0 && (code == 404 || code >= 500))
        return explain_gone_task(kctl, job, why.text, arena, err);
    if (r < 0)
        *err = why;
    return r;
}

/* A plain name may be that of a pod, as in kubectl, or of a job. */
static int
find_target(struct kctl *kctl, const struct logs_options *o, int n_operands, char **operands,
            struct arena *arena, struct target_object *ret_target, struct error *err)
{
    const bool is_plain = n_operands == 1 && strchr(operands[0], '/') == NULL;
    struct job_elements meant;
    struct json *pod = NULL;
    int r;

    if (is_plain && job_elements_looks_like(operands[0])
        && job_elements_parse(arena, operands[0], &meant, NULL) == 0 && meant.tasks.total != 1)
        return error_set(err, -EINVAL,
                         "'%s' names several tasks, but the output of only "
                         "one can be shown, such as 'kctl logs "
                         "%" PRId64 "_%" PRId64 "'",
                         operands[0], meant.job, task_list_at(&meant.tasks, 0));
    if (is_plain && job_elements_looks_like(operands[0]))
        return find_task(kctl, o, operands[0], arena, ret_target, err);
    if (is_plain && job_operands_is_step(operands[0]))
        return error_set(err, -EINVAL,
                         "'%s' is a step; what its tasks print goes to the krun or srun that "
                         "started it, mostly into the output of the job: 'kctl logs %.*s'",
                         operands[0], (int)strcspn(operands[0], "."), operands[0]);
    if (!is_plain)
        return resource_parse_one(kctl, NULL, n_operands, operands, arena, ret_target, err);
    r = resource_parse_one(kctl, &pod_kind, n_operands, operands, arena, ret_target, err);
    if (r == 0)
        r = kctl_find(kctl, ret_target, arena, &pod, err);
    if (r < 0 || pod != NULL)
        return r;
    return resource_parse_one(kctl, &job_kind, n_operands, operands, arena, ret_target, err);
}

static void
print_if_it_waits(const struct target_object *job, const struct json *object, struct arena *arena)
{
    const char *state = json_path_text(object, "status.state");

    if (state == NULL || strcmp(state, "Pending") == 0)
        fprintf(stderr, "%s waits ('kctl why' says why); its output is shown when it starts\n",
                kctl_job_words(job, arena));
}

/* Finds the pod whose output is shown, and waits for its start. Another pod
 * follows one that is deleted before it starts, unless the job ends.
 */
static int
wait_for_pod(struct kctl *kctl, const struct logs_options *o, const struct target_object *target,
             struct arena *arena, struct target_object *ret_pod, struct error *err)
{
    struct json *object = NULL;
    int r = 0;

    *ret_pod = *target;
    do {
        if (target->kind == &job_kind)
            r = kctl_get(kctl, target, arena, &object, err);
        if (r == 0 && target->kind == &job_kind && o->follows && isatty(STDERR_FILENO))
            print_if_it_waits(target, object, arena);
        if (r == 0 && target->kind == &job_kind)
            r = choose_pod(kctl, o, target, arena, ret_pod, err);
        if (r == 0 && !o->follows)
            return check_started(kctl, ret_pod, err);
        if (r == 0)
            r = wait_for_condition(kctl, ret_pod, 0, has_started, NULL, err);
        if (r == 0)
            r = kctl_find(kctl, ret_pod, arena, &object, err);
    } while (r == 0 && object == NULL && target->kind == &job_kind);
    return r;
}

static int
logs_run(struct kctl *kctl, const void *options, int n_operands, char **operands, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct logs_options *o = options;
    struct target_object target;
    struct target_object pod;
    int r, code;

    if (n_operands == 0)
        return error_set(err, -EINVAL, "which job?");
    r = check_times(o, err);
    if (r == 0 && o->attempt > 0 && o->previous)
        r = error_set(err, -EINVAL, "give either --attempt or --previous, not both");
    if (r < 0)
        return r;
    kctl->takes_tasks = true;
    r = find_target(kctl, o, n_operands, operands, arena, &target, err);
    if (r < 0)
        return r;
    if (target.kind != &job_kind && target.kind != &pod_kind)
        return error_set(err, -EINVAL, "%s has no output; only jobs and pods have",
                         kctl_label(&target, arena));
    if (o->node != NULL && (target.kind == &pod_kind || target.task != NULL))
        return error_set(err, -EINVAL,
                         "--node is for jobs of several nodes; a pod or a task has one");
    if (target.kind == &pod_kind && target.task == NULL && o->attempt > 0)
        return error_set(err, -EINVAL,
                         "--attempt is for jobs and tasks: a pod is a single "
                         "attempt, and %s has its own output",
                         kctl_label(&target, arena));
    if (target.kind == &job_kind && target.task != NULL)
        return stream_task(kctl, o, &target, arena, err);
    r = wait_for_pod(kctl, o, &target, arena, &pod, err);
    if (r == 0)
        r = stream(kctl, o, &pod, &code, err);
    return r;
}

const struct command logs_command = {
    .name = "logs",
    .options = &table,
    .options_size = sizeof(struct logs_options),
    .run = logs_run,
};
