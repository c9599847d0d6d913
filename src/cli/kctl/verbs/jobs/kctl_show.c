/* SPDX-License-Identifier: Apache-2.0 */
/* kctl show - what a user wants to know of one job, on one screen
 *
 * State, node and reason are those of kctl jobs; files are shown with their
 * patterns resolved. History has the reason of the end and the usage, a moment
 * after the end and also when the job is gone.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/history_pages.h"
#include "cli/kctl/client/job_content.h"
#include "cli/kctl/client/job_pods.h"
#include "cli/kctl/client/job_tasks.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/job_operands.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/input/step_operand.h"
#include "cli/kctl/output/describe_output.h"
#include "cli/kctl/output/history_columns.h"
#include "cli/kctl/output/listing.h"
#include "cli/kctl/output/object_summary.h"
#include "cli/kctl/output/step_report.h"
#include "cli/kctl/verbs/jobs/job_file.h"
#include "cli/kctl/verbs/jobs/job_owner.h"
#include "cli/kctl/verbs/jobs/shown_job.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_dependency.h"
#include "lib/api/job/job_nodes.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/client/sync_call.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define MOST_SCRIPT 65536 /* bytes that are read to show the first command */
#define MOST_LINE   200
#define MOST_JOBS   1000

static const struct option_spec rows[] = {COMMON_OPTIONS};

static const struct option_table table = {
    .name = "kctl show",
    .usage = "[OPTION]... JOB...\n[OPTION]... JOB_TASK...\n[OPTION]... JOB.STEP...",
    .summary = "Show a job or a step of it on one screen: what it runs, where, its files and "
               "times, what it used, and how it ended.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl show 1042\n"
            "  kctl show 1043_7\n"
            "  kctl show 1042.0",
};

/* ---- What it runs ---- */

static const char *
annotation(const struct shown_job *s, const char *name)
{
    return json_get_text(json_get_path(s->tree, "metadata.annotations"), name);
}

/* Shows a script of one command as that command, another by its size. */
static void
add_script(struct shown_job *s)
{
    CLEANUP_SYNC_CALL struct sync_call content = {0};
    const struct json *script = json_get_path(s->tree, "spec.script");
    const int64_t size = json_get_int(script, "size", 0);
    const char *command;
    size_t length;

    if (script == NULL)
        return;
    if (size <= MOST_SCRIPT && job_content_fetch(s->kctl, s->job, "script", &content, NULL) == 0
        && (command = job_content_find_command(content.text, &length)) != NULL)
        describe_output_add(s->out, 0, "Command", "%.*s%s",
                            (int)(length < MOST_LINE ? length : MOST_LINE), command,
                            length > MOST_LINE ? "..." : "");
    describe_output_add(s->out, 0, "Script",
                        "%" PRId64 " bytes; 'kctl script %" PRId64 "' prints it", size, s->id);
}

/* The arguments of the script, or the command of a Job without a script. */
static void
add_command(struct shown_job *s)
{
    static const char *const parts[] = {"command", "args"};
    const struct json *container = json_at(json_get(shown_job_spec(s), "containers"), 0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const bool is_script = json_get_path(s->tree, "spec.script") != NULL;

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        const struct json *words = json_get(container, parts[i]);

        for (uint32_t k = 0; k < json_count(words); k++)
            strbuf_printf(&text, "%s%s", text.length > 0 ? " " : "", json_text(json_at(words, k)));
    }
    if (text.length > MOST_LINE) {
        strbuf_truncate(&text, MOST_LINE);
        strbuf_add_text(&text, "...");
    }
    if (text.length > 0)
        shown_job_add(s, is_script ? "Arguments" : "Command", text.text);
    add_script(s);
    shown_job_add(s, "Directory", json_get_text(container, "workingDir"));
}

/* ---- Files ---- */

static const char *
resolve(const struct shown_job *s, const char *pattern)
{
    const char *node = shown_job_node(s);
    const struct job_file file = {
        .job = s->tree,
        .name = s->job->name,
        .id = s->id,
        .task = s->task,
        .node = node != NULL && !hostlist_looks_like(node) ? node : NULL,
    };

    return job_file_resolve(&file, pattern, s->arena);
}

static void
add_files(struct shown_job *s)
{
    const struct json *execution = json_get(shown_job_spec(s), "execution");
    const char *input = json_get_text(execution, "stdinPath");
    const char *output = json_get_text(execution, "stdoutPath");
    const char *error = json_get_text(execution, "stderrPath");

    if (input != NULL)
        shown_job_add(s, "Input", resolve(s, input));
    if (output != NULL)
        shown_job_add(s, "Output", resolve(s, output));
    else if (!s->is_hidden)
        describe_output_add(s->out, 0, "Output",
                            "kept by the node; 'kctl logs %" PRId64 "' shows it", s->id);
    if (error != NULL)
        shown_job_add(s, "Error", resolve(s, error));
}

/* ---- How it is, or how it ended ---- */

static enum job_state
state_of(const struct shown_job *s)
{
    const char *state =
        s->item != NULL ? json_get_text(s->item, "state") : object_summary_cell(s->cells, "State");

    return job_state_of_name(state);
}

/* Whether it is an array of which some tasks run and others wait: the state in
 * its row is that of the waiting tasks.
 */
static bool
runs_in_part(const struct shown_job *s, enum job_state state)
{
    return s->item == NULL && json_get_path(s->tree, "spec.array") != NULL
           && job_state_words(state)->class == JOB_STATE_WAITS
           && json_get_int(json_get(s->tree, "status"), "ready", 0) > 0;
}

/* A job whose pods run side by side; its attempts would be their sum. */
static void
add_pods(struct shown_job *s, int64_t at_a_time)
{
    const struct json *status = json_get(s->tree, "status");
    const int64_t completed = json_get_int(status, "succeeded", 0);
    const int64_t failed = json_get_int(status, "failed", 0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    strbuf_printf(&out, "%" PRId64 " at a time", at_a_time);
    if (completed > 0)
        strbuf_printf(&out, ", %" PRId64 " completed", completed);
    if (failed > 0)
        strbuf_printf(&out, ", %" PRId64 " failed", failed);
    shown_job_add(s, "Pods", out.text);
}

/* Of several nodes, whose pods start and end together. */
static void
add_nodes_and_tasks(struct shown_job *s)
{
    const struct json *notes = json_get_path(s->tree, "spec.template.metadata.annotations");
    const char *each = json_get_text(notes, ANNOTATION_TASKS);
    const char *all = json_get_text(notes, ANNOTATION_TOTAL_TASKS);
    const char *runs = json_path_text(s->tree, "spec.template.spec.execution.runs");
    const int64_t nodes = shown_job_nodes(s);
    const int64_t tasks = all != NULL    ? strtoll(all, NULL, 10)
                          : each != NULL ? nodes * strtoll(each, NULL, 10)
                                         : nodes;

    describe_output_add(s->out, 0, "Nodes", "%" PRId64 "; %" PRId64 " tasks; the script runs on %s",
                        nodes, tasks,
                        strcmp(runs, EXECUTION_RUNS_EACH) == 0 ? "each of them" : "the first");
    if (strtoll(object_summary_cell(s->cells, "Attempts"), NULL, 10) > 1)
        shown_job_add(s, "Attempts", object_summary_cell(s->cells, "Attempts"));
}

static void
add_state(struct shown_job *s)
{
    const char *reason = s->item != NULL ? shown_job_column(s, s->item, "reason")
                                         : object_summary_cell(s->cells, "Reason");
    const struct json *status = json_get(s->tree, "status");
    const struct json *spec = json_get(s->tree, "spec");
    const char *by = s->item != NULL  ? json_get_text(s->item, "endedBy")
                     : s->row != NULL ? json_get_text(s->row, "endedBy")
                                      : NULL;
    const enum job_state state = state_of(s);
    const int64_t pods = s->item == NULL ? json_get_int(spec, "parallelism", 1) : 1;
    const int64_t attempts = json_get_int(s->item != NULL ? s->item : status,
                                          s->item != NULL ? "attempt" : "attempts", 0);

    describe_output_add(s->out, 0, "State", "%s%s%s%s",
                        runs_in_part(s, state) ? "Running, the rest is " : "",
                        state != JOB_STATE_NONE ? job_state_words(state)->name : "unknown",
                        reason[0] != '\0' ? ", " : "", reason);
    if (by == NULL)
        by = json_get_text(status, "cancelledBy");
    if (job_state_is_ended(state)) {
        shown_job_add(s, "Ended by", by);
        shown_job_add(s, "Exit code",
                      s->item != NULL ? shown_job_column(s, s->item, "exit")
                                      : object_summary_cell(s->cells, "Exit"));
    }
    if (s->item == NULL && json_path_text(s->tree, "spec.array.tasks") != NULL)
        describe_output_add(s->out, 0, "Tasks",
                            "%s: %" PRId64 " running, %" PRId64 " completed, %" PRId64 " failed",
                            json_path_text(s->tree, "spec.array.tasks"),
                            json_get_int(status, "active", 0), json_get_int(status, "succeeded", 0),
                            json_get_int(status, "failed", 0));
    else if (shown_job_nodes(s) > 1)
        add_nodes_and_tasks(s);
    else if (pods > 1)
        add_pods(s, pods);
    else if (attempts > 1)
        describe_output_add(s->out, 0, "Attempts", "%" PRId64, attempts);
}

/* In short form: "n[1-4,7]". */
static void
add_nodes(struct shown_job *s, const char *name, bool is_exclusion)
{
    const char *text = job_nodes_names(s->arena, shown_job_spec(s), is_exclusion);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const char **names = NULL;
    size_t count = 0;

    if (text[0] == '\0')
        return;
    if (hostlist_expand(s->arena, text, &names, &count, NULL) == 0)
        hostlist_format(names, count, MOST_LINE, &out);
    shown_job_add(s, name, out.length > 0 ? out.text : text);
}

/* Its requirements of nodes and of other jobs. */
static void
add_requirements(struct shown_job *s)
{
    const struct json *dependencies = json_get_path(s->tree, "spec.dependencies");
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct job_dependencies all = {0};

    add_nodes(s, "Nodelist", false);
    add_nodes(s, "Excluded", true);
    shown_job_add(s, "Constraint", job_nodes_features(s->arena, shown_job_spec(s)));
    if (dependencies == NULL)
        return;
    record_decode(&job_dependencies_record, s->arena, dependencies, &all);
    job_dependencies_format(&all, MOST_LINE, &out);
    shown_job_add(s, "Dependency", out.text);
}

/* The number has the nice value in it, which the reader may want to take back. */
static void
add_priority(struct shown_job *s)
{
    const char *number = object_summary_cell(s->cells, "Priority");
    const char *nice = annotation(s, ANNOTATION_NICE);

    if (nice != NULL && number != NULL)
        describe_output_add(s->out, 0, "Priority", "%s (nice %s)", number, nice);
    else
        shown_job_add(s, "Priority", number);
}

static void
add_job(struct shown_job *s)
{
    const char *name = annotation(s, ANNOTATION_JOB_NAME);
    const char *user = annotation(s, ANNOTATION_USER);
    const char *account = annotation(s, ANNOTATION_ACCOUNT);
    const bool has_ended = job_state_is_ended(state_of(s));

    if (s->task >= 0)
        describe_output_add(s->out, 0, "Job", "%" PRId64 "_%" PRId64 " (%s)", s->id, s->task,
                            name != NULL ? name : s->job->name);
    else
        describe_output_add(s->out, 0, "Job", "%" PRId64 " (%s)", s->id,
                            name != NULL ? name : s->job->name);
    describe_output_add(s->out, 0, "User", "%s, account %s", user != NULL ? user : "unknown",
                        account != NULL ? account : s->job->namespace);
    add_state(s);
    add_command(s);
    add_files(s);
    shown_job_add_times(s);
    shown_job_add_resources(s, has_ended);
    add_requirements(s);
    if (!has_ended)
        add_priority(s);
    if (json_is_true(json_get_path(s->tree, "spec.requeue")))
        shown_job_add(s, "Requeue", "yes");
    shown_job_add(s, "Comment", annotation(s, ANNOTATION_COMMENT));
}

/* ---- A job that is gone ---- */

/* A line of kctl show, and the column of kctl history that has its value. */
static const struct {
    const char *name, *column;
} gone_lines[] = {
    {"User", "user"},        {"Account", "account"},     {"State", "state"},
    {"Reason", "reason"},    {"Ended by", "by"},         {"Exit code", "exit"},
    {"Attempt", "attempt"},  {"Submitted", "submitted"}, {"Started", "started"},
    {"Ended", "ended"},      {"Time", "elapsed"},        {"Partition", "partition"},
    {"Node", "node"},        {"CPUs", "cpus"},           {"Memory asked", "memory"},
    {"Memory used", "peak"},
};

static void
add_gone(struct shown_job *s)
{
    describe_output_add(s->out, 0, "Job", "%s (%s), which was deleted; this is from history",
                        shown_job_column(s, s->row, "id"), shown_job_column(s, s->row, "name"));
    for (size_t i = 0; i < ARRAY_SIZE(gone_lines); i++)
        shown_job_add(s, gone_lines[i].name, shown_job_column(s, s->row, gone_lines[i].column));
}

/* ---- The data ---- */

static bool
keep_row(const struct json *row, void *context)
{
    struct shown_job *s = context;

    s->row = json_dup(s->arena, row);
    return true;
}

/* Fetches the last attempt from history, where it is a moment after the end. A
 * failure is not reported: the other lines are still worth showing.
 */
static void
fetch_row(struct shown_job *s)
{
    const struct timespec moment = {.tv_nsec = 250000000};
    CLEANUP_STRBUF struct strbuf query = STRBUF_INIT;

    history_query_add(&query, "job", arena_printf(s->arena, "%" PRId64, s->id));
    if (s->task < 0) {
        (void)history_pages_visit_job(s->kctl, s->id, query.text, keep_row, s, NULL);
        return;
    }
    history_query_add(&query, "task", arena_printf(s->arena, "%" PRId64, s->task));
    for (int i = 0; i < 4; i++) {
        if (i > 0)
            nanosleep(&moment, NULL);
        if (history_pages_visit(s->kctl, query.text, keep_row, s, NULL) < 0 || s->row != NULL)
            return;
    }
}

static int
fetch_job(struct shown_job *s, struct error *err)
{
    const struct listing_style style = {.form = LISTING_WIDE};
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = &job_kind,
        .namespace = s->job->namespace,
        .name = s->job->name,
        .accept = listing_accept(&style),
    };
    struct json *tree = NULL, *cells = NULL, *pods = NULL;
    int r = kctl_get(s->kctl, s->job, s->arena, &tree, err);

    if (r == 0)
        r = kctl_call(s->kctl, &request, s->arena, &cells, err);
    if (r < 0)
        return r;
    s->tree = tree;
    s->cells = cells;
    s->id = json_get_int(json_get(tree, "status"), "id", 0);
    if (json_get_path(tree, "spec.array") == NULL
        && json_get_int(json_get(tree, "spec"), "parallelism", 1) <= 1
        && job_pods(s->kctl, s->job, s->arena, &pods, NULL) == 0 && json_count(pods) > 0)
        s->pod = json_at(pods, json_count(pods) - 1);
    return 0;
}

/* The pod of the task, if it still has one. */
static int
fetch_task(struct shown_job *s, const char *task, struct error *err)
{
    struct json *items = NULL, *pod = NULL;
    int r = job_tasks_fetch(s->kctl, task, s->arena, &items, err);
    struct target_object of_task = {.kind = &pod_kind, .namespace = s->job->namespace};

    if (r < 0)
        return r;
    s->item = json_at(items, 0);
    s->task = json_get_int(s->item, "task", 0);
    of_task.name = json_get_text(s->item, "pod");
    if (of_task.name != NULL && kctl_find(s->kctl, &of_task, s->arena, &pod, NULL) == 0)
        s->pod = pod;
    return 0;
}

/* Shows a job; with `task` ("1043_7") that task of it. */
static int
show(struct kctl *kctl, const struct target_object *job, int64_t id, const char *task,
     struct strbuf *out, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct error missing = {0};
    struct shown_job s = {
        .kctl = kctl, .arena = arena, .out = out, .job = job, .id = id, .task = -1};
    int r = fetch_job(&s, &missing);

    if (r == -ENOENT && id > 0 && task == NULL) {
        fetch_row(&s);
        if (s.row != NULL) {
            add_gone(&s);
            return 0;
        }
    }
    if (r < 0) {
        *err = missing;
        return r;
    }
    s.is_hidden =
        json_get_path(s.tree, "spec.template.spec.execution") == NULL && !job_owner_is_self(s.tree);
    if (task != NULL) {
        r = fetch_task(&s, task, err);
        if (r == 0 && job_state_is_ended(state_of(&s)) && json_get(s.item, "startTime") != NULL)
            fetch_row(&s);
    } else if (json_get_path(s.tree, "spec.array") == NULL && job_state_is_ended(state_of(&s)))
        fetch_row(&s);
    if (r == 0)
        add_job(&s);
    return r;
}

static int
show_named(struct kctl *kctl, char *operand, int64_t id, bool *is_next, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *task = id == 0 && job_elements_looks_like(operand) ? operand : NULL;
    struct named_resources jobs;
    char *whole = task != NULL ? arena_strndup(arena, task, strcspn(task, "_")) : operand;
    int r = resource_parse(kctl, &job_kind, 1, &whole, arena, &jobs, err);

    for (size_t i = 0; r == 0 && i < jobs.count; i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        r = show(kctl, &jobs.items[i], id, task, &out, err);
        if (r < 0)
            return r;
        if (*is_next)
            putchar('\n');
        *is_next = true;
        fwrite(out.text, 1, out.length, stdout);
    }
    return r;
}

/* Jobs of a range that do not exist are passed over, if any does. */
static int
show_range(struct kctl *kctl, const struct id_range *range, bool *is_next, struct error *err)
{
    bool is_any = false;

    for (int64_t id = range->first; id <= range->last; id++) {
        char operand[24];
        int r;

        (void)snprintf(operand, sizeof(operand), "%" PRId64, id);
        r = show_named(kctl, operand, id, is_next, err);
        if (r < 0 && (r != -ENOENT || range->first == range->last))
            return r;
        is_any = is_any || r == 0;
    }
    if (is_any)
        return 0;
    return error_set(err, -ENOENT, "there is no job from %" PRId64 " to %" PRId64, range->first,
                     range->last);
}

static int
show_tasks(struct kctl *kctl, const struct job_elements *tasks, bool *is_next, struct error *err)
{
    int r = 0;

    for (int64_t i = 0; r == 0 && i < tasks->tasks.total; i++) {
        char operand[48];

        (void)snprintf(operand, sizeof(operand), "%" PRId64 "_%" PRId64, tasks->job,
                       task_list_at(&tasks->tasks, i));
        r = show_named(kctl, operand, 0, is_next, err);
    }
    return r;
}

static void
show_step(const struct json *step, bool *is_next, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    if (*is_next)
        putchar('\n');
    *is_next = true;
    step_report_add(arena, step, &out);
    fwrite(out.text, 1, out.length, stdout);
}

static int
show_run(struct kctl *kctl, const void *options, int n_operands, char **operands, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct job_operands jobs;
    struct json *steps = NULL;
    bool is_next = false;
    int64_t total;
    int r;

    (void)options;
    if (n_operands == 0)
        return error_set(err, -EINVAL, "which job?");
    r = step_operands_find(kctl, &n_operands, operands, arena, &steps, err);
    if (r < 0)
        return r;
    r = job_operands_read(n_operands, operands, arena, &jobs, err);
    if (r < 0)
        return r;
    total = jobs.ids.total;
    for (size_t i = 0; i < jobs.ids.n_elements; i++)
        total += jobs.ids.elements[i].tasks.total;
    if (total > MOST_JOBS)
        return error_set(err, -EINVAL, "these are %" PRId64 " jobs; at most %d can be shown", total,
                         MOST_JOBS);
    for (size_t i = 0; r == 0 && i < jobs.ids.count; i++)
        r = show_range(kctl, &jobs.ids.items[i], &is_next, err);
    for (size_t i = 0; r == 0 && i < jobs.ids.n_elements; i++)
        r = show_tasks(kctl, &jobs.ids.elements[i], &is_next, err);
    for (size_t i = 0; r == 0 && i < jobs.n_names; i++)
        r = show_named(kctl, arena_strdup(arena, jobs.names[i]), 0, &is_next, err);
    for (uint32_t i = 0; r == 0 && i < json_count(steps); i++)
        show_step(json_at(steps, i), &is_next, arena);
    return r;
}

const struct command show_command = {
    .name = "show",
    .options = &table,
    .options_size = sizeof(struct common_options),
    .run = show_run,
};
