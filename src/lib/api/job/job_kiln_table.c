/* SPDX-License-Identifier: Apache-2.0 */
/* job_kiln_table.c - the columns of jobs for people who watch a queue: what a
 * job is doing, since when and where, or why it does not run
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_array_summary.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/job/job_strategy.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object/table.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECOND_US 1000000
#define MAX_NAME  40   /* bytes of a name; the object has all */
#define MAX_TASKS 24   /* bytes of a task list */
#define MAX_LIST  1000 /* bytes of a task list for programs */
#define MAX_ROWS  64   /* tasks of an array; the rest share one row */

/* ---- The nodes of a job of several pods ---- */

/* They are those of its pods. If pods of a job that has ended were deleted, they
 * are those that its PodGroup has recorded.
 */

/* Zero it. Borrows the names from the pods. */
struct nodes_of_job {
    const char **names;
    size_t count, capacity;
};

#define MOST_BYTES 60

/* The nodes that its pods have, or had if it has ended. */
static void
add_nodes_of_pod(struct nodes_of_job *nodes, const struct job *job, const struct pod *pod)
{
    if (pod->spec.node_name == NULL || pod->spec.node_name[0] == '\0'
        || (pod_is_finished(pod) && !job_is_finished(job)))
        return;
    xgrow(nodes->names, nodes->count, nodes->capacity);
    nodes->names[nodes->count++] = pod->spec.node_name;
}

static size_t
remove_equal(const char **names, size_t count)
{
    size_t kept = 0;

    if (count > 0)
        qsort(names, count, sizeof(*names), hostlist_compare);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(names[i], names[kept - 1]) != 0)
            names[kept++] = names[i];
    return kept;
}

/* The group of the attempt that ran last: that of the first has the job's name, another
 * "job-5-r1", and its pods "job-5-0-r1".
 */
static const char *
group_name(const struct table_row *row)
{
    const struct job_run *run = job_of(row->object)->status.last_run;
    const char *attempt = run != NULL && run->pod_name != NULL ? strrchr(run->pod_name, '-') : NULL;

    return attempt != NULL && attempt[1] == 'r'
               ? arena_printf(row->arena, "%s%s", row->object->meta->name, attempt)
               : row->object->meta->name;
}

/* Those of its group; 0: none are recorded. */
static size_t
read_recorded(const struct table_row *row, const char ***ret_names)
{
    const struct object *job = row->object, *group = NULL;
    const char *text = NULL;
    size_t count;

    if (job_of(job)->spec.scheduling != NULL && job_is_finished(job_of(job)))
        group = table_find(row, &pod_group_kind, job->meta->namespace, group_name(row));
    if (group != NULL && meta_is_controlled_by(group->meta, job))
        text = json_get_text(json_get(object_tree(group, row->arena), "status"), "nodes");
    return text != NULL && hostlist_expand(row->arena, text, ret_names, &count, NULL) == 0 ? count
                                                                                           : 0;
}

/* The short form, each once: "n[1-3]", in the arena of the job's row; NULL:
 * none are known. Count: how many they are. Frees the list.
 */
static const char *
take_nodes(struct nodes_of_job *nodes, const struct table_row *row, size_t *ret_count)
{
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    const size_t count = remove_equal(nodes->names, nodes->count);
    const char **recorded = NULL;
    const size_t n_recorded = read_recorded(row, &recorded);

    if (n_recorded > count)
        hostlist_format(recorded, n_recorded, MOST_BYTES, &list);
    else if (count > 0)
        hostlist_format(nodes->names, count, MOST_BYTES, &list);
    *ret_count = n_recorded > count ? n_recorded : count;
    free(nodes->names);
    *nodes = (struct nodes_of_job){.names = NULL};
    return list.length > 0 ? arena_strdup(row->arena, list.text) : NULL;
}

/* ---- The row ---- */

/* How the pod runs or ran; for a pod that is gone, the job's record of its last
 * run.
 */
struct run {
    const char *node_name;
    int64_t started_at_us; /* 0: the process has not started */
    int64_t finished_at_us;
    int64_t frozen_us; /* time suspended */
};

/* The job and the pod that represents it. */
struct summary {
    const struct job *job;
    const struct pod *pod; /* NULL: there is none */
    struct run run;
    enum job_reason reason;
    const char *words; /* description of the reason; or NULL */

    /* For an array: the row covers all waiting tasks, or a part of the tasks.
     */
    const char *id;       /* "1042_[57-999]"; NULL: the job's number */
    enum job_state state; /* NONE: the job's state */
    struct job_array_summary *tasks;
    const struct task_list *waiting; /* the tasks that the row covers; NULL: none that wait */
    struct table_row *row;

    /* For a job of several pods at a time that is no array */
    int64_t width; /* how many; 0: one */
    struct nodes_of_job nodes;
    size_t n_nodes; /* how many nodes these are */
};

static bool
visit_pod(const struct object *object, void *context)
{
    struct summary *s = context;

    if (s->tasks != NULL)
        job_array_summary_add(s->tasks, s->row->arena, object);
    if (s->width > 1)
        add_nodes_of_pod(&s->nodes, s->job, pod_of(object));
    s->pod = job_reason_prefer(s->pod, pod_of(object));
    return true;
}

static int64_t
find_width(const struct job *job)
{
    const struct job_spec *spec = &job->spec;
    int64_t width = spec->parallelism != NULL ? *spec->parallelism : 1;

    if (job_is_array(job))
        return 0;
    return spec->completions != NULL && *spec->completions < width ? *spec->completions : width;
}

static void
list_nodes(struct summary *s)
{
    const char *nodes = take_nodes(&s->nodes, s->row, &s->n_nodes);

    if (nodes != NULL)
        s->run.node_name = nodes;
}

static void
find_run(const struct summary *s, int64_t now_us, struct run *run)
{
    struct container_state state;

    if (s->pod == NULL) {
        const struct job_run *last = s->job->status.last_run;

        if (last != NULL)
            *run = (struct run){last->node_name, last->started_at_us, last->finished_at_us,
                                last->frozen_us};
        if (run->finished_at_us == 0) /* of a former release, with a lost node */
            run->finished_at_us = job_ended_at_us(s->job);
        return;
    }
    run->node_name = s->pod->spec.node_name;
    if (pod_main_state(s->pod, &state)) {
        run->started_at_us = state.started_at_us;
        run->finished_at_us = state.finished_at_us;
    }
    if (run->finished_at_us == 0 && pod_is_finished(s->pod)) /* its node is lost */
        run->finished_at_us = pod_last_transition_us(s->pod);
    run->frozen_us = pod_frozen_us(s->pod, now_us);
}

static void
find_words(const struct table_row *row, struct summary *s)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

    s->reason = job_reason_find(
        &(struct job_reason_facts){
            .job = s->job,
            .pod = s->pod,
            .now_us = row->now_us,
            .is_whole = table_reads_whole(row),
            .is_utc = row->east_s != NULL,
            .east_s = row->east_s != NULL ? *row->east_s : 0,
        },
        &words);
    if (words.length > 0)
        s->words = arena_strdup(row->arena, words.text);
}

/* The row of an array shows its waiting tasks. */
static void
summarize_waiting(const struct table_row *row, struct summary *s)
{
    const int64_t *throttle = s->job->spec.array->throttle;
    struct job_array_summary *tasks = s->tasks;
    const bool is_held = job_is_held(s->job);

    job_array_summary_finish(tasks, row->arena, s->job);
    if (tasks->waiting.total == 0)
        return;
    s->id = job_array_summary_waiting_text(row->arena, s->job->status.id, tasks, MAX_TASKS);
    s->waiting = &tasks->waiting;
    s->pod = tasks->first_waiting;
    s->run = (struct run){0};
    s->state = is_held ? JOB_STATE_HELD : JOB_STATE_PENDING;
    if (throttle != NULL && s->pod == NULL && !is_held && (int64_t)tasks->n_running >= *throttle)
        s->words = arena_printf(row->arena, "throttle of %" PRId64 " tasks", *throttle);
    else if (s->pod != NULL || tasks->n_running == 0 || is_held)
        find_words(row, s);
}

/* The text for an array that failed; the end of the task that ran last does not
 * explain it.
 */
static const char *
find_verdict(const struct table_row *row, const struct job *job)
{
    const struct job_condition *failed = job_find_condition(job, "Failed");

    if (failed != NULL && failed->message != NULL)
        return failed->message;
    return arena_printf(row->arena, "%" PRId64 " of %" PRId64 " tasks failed", job->status.failed,
                        job->spec.completions != NULL ? *job->spec.completions : 0);
}

static const void *
summarize(struct table_row *row)
{
    struct summary *s = arena_alloc(row->arena, sizeof(*s));

    s->job = job_of(row->object);
    s->row = row;
    if (job_is_array(s->job) && !job_is_finished(s->job))
        s->tasks = arena_alloc(row->arena, sizeof(*s->tasks));
    s->width = find_width(s->job);
    table_visit(row, &pod_kind, POD_BY_JOB, s->job->meta.uid, visit_pod, s);
    find_run(s, row->now_us, &s->run);
    if (s->width > 1)
        list_nodes(s);
    if (s->tasks != NULL)
        summarize_waiting(row, s);
    if (s->id == NULL)
        find_words(row, s);
    if (job_is_array(s->job) && s->tasks == NULL && s->job->status.failed > 0
        && job_find_state(s->job) == JOB_STATE_FAILED)
        s->words = find_verdict(row, s->job);
    return s;
}

static void
add_time(struct table_row *row)
{
    const struct summary *s = row->summary;
    int64_t end_us = s->run.finished_at_us;
    char text[DURATION_BRIEF_SIZE] = "";

    if (end_us == 0)
        end_us = row->now_us;
    if (s->run.started_at_us != 0)
        duration_format_brief((end_us - s->run.started_at_us - s->run.frozen_us) / SECOND_US, text);
    table_cell(row, text);
}

/* A pod that has a node keeps what it was placed with, even if its array was
 * changed for the tasks that wait.
 */
static const struct pod_spec *
find_spec(const struct table_row *row)
{
    const struct pod *pod = ((const struct summary *)row->summary)->pod;

    return pod != NULL && pod->spec.node_name != NULL ? &pod->spec
                                                      : job_of(row->object)->spec.template_.spec;
}

static void
add_limit(struct table_row *row)
{
    const int64_t *limit_s = find_spec(row)->active_deadline_seconds;
    char text[DURATION_BRIEF_SIZE] = "none";

    if (limit_s != NULL)
        duration_format_brief(*limit_s, text);
    table_cell(row, text);
}

static void
add_cpus(struct table_row *row)
{
    const struct pod_spec *spec = find_spec(row);
    const int64_t width = ((const struct summary *)row->summary)->width;
    const char *cpus = NULL;
    char whole[24] = "";
    int64_t milli;

    if (spec->containers.count > 0)
        cpus = string_map_find(&spec->containers.items[0].resources.requests, "cpu");
    /* "1000", where a quantity is "1k" */
    milli = cpus != NULL ? quantity_text_milli(cpus) : 0;
    if (milli > 0 && width > 1) {
        milli = milli < INT64_MAX / width ? milli * width : INT64_MAX;
        (void)snprintf(whole, sizeof(whole), "%" PRId64 "m", milli);
    }
    if (milli >= 1000 && milli % 1000 == 0)
        (void)snprintf(whole, sizeof(whole), "%" PRId64, milli / 1000);
    table_cell(row, whole[0] != '\0' ? whole : cpus != NULL ? cpus : "shared");
}

static const char *
find_name(const struct job *job)
{
    const char *name = string_map_find(&job->meta.annotations, "kiln.hpc/job-name");

    return name != NULL ? name : job->meta.name;
}

/* Names are free text: a long name would push the other columns off the screen.
 */
static void
add_name(struct table_row *row)
{
    const char *name = find_name(job_of(row->object));
    size_t length = strlen(name);
    char text[MAX_NAME + 2];

    if (length > MAX_NAME) {
        for (length = MAX_NAME; (name[length] & 0xc0) == 0x80;)
            length--;
        snprintf(text, sizeof(text), "%.*s+", (int)length, name);
        name = text;
    }
    table_cell(row, name);
}

static void
add_id(struct table_row *row)
{
    const struct summary *s = row->summary;
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, s->job->status.id);
    table_cell(row, s->id != NULL ? s->id : text);
}

static void
add_user(struct table_row *row)
{
    table_cell(row, string_map_find(&row->object->meta->annotations, ANNOTATION_USER));
}

static void
add_partition(struct table_row *row)
{
    /* If the job asked for several partitions, a pod with a node shows which
     * one it is.
     */
    table_cell(row, pod_spec_partition(find_spec(row)));
}

/* The Job's status may be some seconds behind its first pod. */
static enum job_state
find_state(const struct summary *s)
{
    enum job_state state = job_find_state(s->job);
    const struct pod *pod = s->pod;

    if (s->state != JOB_STATE_NONE)
        return s->state;
    if (pod != NULL && pod_is_ending(pod)
        && (state == JOB_STATE_RUNNING || state == JOB_STATE_FROZEN))
        return JOB_STATE_ENDING;
    if (pod == NULL || pod->meta.deleted_at_us != 0 || pod_is_finished(pod)
        || pod->spec.node_name == NULL || pod->spec.node_name[0] == '\0')
        return state;
    if (state == JOB_STATE_RUNNING || state == JOB_STATE_FROZEN)
        return pod_is_frozen(pod) ? JOB_STATE_FROZEN : JOB_STATE_RUNNING;
    if (job_state_words(state)->class != JOB_STATE_WAITS)
        return state;
    return pod->status.phase != NULL && strcmp(pod->status.phase, "Running") == 0
               ? JOB_STATE_RUNNING
               : JOB_STATE_STARTING;
}

static void
add_state(struct table_row *row)
{
    table_cell(row, job_state_words(find_state(row->summary))->name);
}

static void
add_node(struct table_row *row)
{
    const struct summary *s = row->summary;

    table_cell(row, s->run.node_name);
}

static void
add_reason(struct table_row *row)
{
    const struct summary *s = row->summary;

    table_cell(row, s->words);
}

static void
add_code(struct table_row *row)
{
    const struct summary *s = row->summary;

    table_cell(row, s->reason != JOB_REASON_NONE ? job_reason_name(s->reason) : "");
}

/* The time in the form that objects use; "" for none. */
static void
add_point(struct table_row *row, int64_t us)
{
    char text[TIME_TEXT_SIZE] = "";

    if (us != 0)
        time_format(us, false, text);
    table_cell(row, text);
}

static void
add_started(struct table_row *row)
{
    const struct summary *s = row->summary;

    add_point(row, s->run.started_at_us);
}

static void
add_ended(struct table_row *row)
{
    add_point(row, job_ended_at_us(job_of(row->object)));
}

/* The expected start of a waiting job: its begin time, or the time in the
 * cause.
 */
static void
add_start(struct table_row *row)
{
    const struct summary *s = row->summary;
    const struct pod_cause *cause =
        s->pod != NULL && !pod_is_finished(s->pod) ? s->pod->status.cause : s->job->status.cause;
    char text[TIME_TEXT_SIZE + 1] = "~";
    int64_t at_us = cause != NULL ? cause->from_us : 0;
    bool is_assumed = cause != NULL && cause->is_assumed;

    if (s->reason == JOB_REASON_BEGIN_TIME)
        at_us = s->job->spec.begin_at_us;
    if (job_state_words(find_state(s))->class != JOB_STATE_WAITS || at_us <= row->now_us) {
        table_cell(row, "");
        return;
    }
    time_format(at_us, false, text + 1);
    table_cell(row, is_assumed ? text : text + 1);
}

/* Each pod of a gang that waits counts as a node, as ksub -N has them. */
static void
add_nodes(struct table_row *row)
{
    const struct summary *s = row->summary;
    const int64_t least = job_gang_least(s->job);

    table_cell_int(row, s->n_nodes > 0 ? (int64_t)s->n_nodes : least > 1 ? least : 1);
}

/* For programs: "3-9,12%2", longer than in the id. */
static void
add_waiting(struct table_row *row)
{
    const struct summary *s = row->summary;

    table_cell(row, s->waiting == NULL
                        ? ""
                        : job_array_summary_list(row->arena, s->waiting,
                                                 s->job->spec.array->throttle, MAX_LIST));
}

static void
add_exit(struct table_row *row)
{
    const struct summary *s = row->summary;
    const int64_t *code = job_of(row->object)->status.exit_code;
    char text[24] = "";

    if (code != NULL && s->tasks == NULL)
        snprintf(text, sizeof(text), "%" PRId64, *code);
    table_cell(row, text);
}

static void
add_priority(struct table_row *row)
{
    const struct pod_spec *spec = find_spec(row);

    table_cell_int(row, spec->priority != NULL ? *spec->priority : 0);
}

static void
add_attempts(struct table_row *row)
{
    const struct job *job = job_of(row->object);
    const int64_t size = job_gang_size(job) > 0 ? job_gang_size(job) : 1;

    table_cell_int(row, (job->status.attempts + size - 1) / size);
}

/* clang-format off */
static const struct table_column columns[] = {
    COLUMN("ID", add_id, "The id that commands take."),
    COLUMN("Name", add_name, "The name its user gave it."),
    COLUMN("User", add_user, "Its owner."),
    COLUMN("Partition", add_partition, "The set of nodes it asked for, or got."),
    COLUMN("State", add_state, "What it is doing."),
    COLUMN("Time", add_time, "How long its process has run."),
    COLUMN("Limit", add_limit, "How long it may run."),
    COLUMN("CPUs", add_cpus, "The hardware threads it asked for, for all pods at a time."),
    COLUMN("Node", add_node, "Where it runs, or ran: a node, or a list such as n[1-4]."),
    COLUMN("Reason", add_reason, "Why it does not run, or how it ended."),
    TABLE_AGE,
    COLUMN("Exit", add_exit, "Its exit code.", WIDE),
    COLUMN("Priority", add_priority, "Higher goes first.", INTEGER, WIDE),
    COLUMN("Attempts", add_attempts, "How often it was started.", INTEGER, WIDE),
    COLUMN("Code", add_code, "The reason as a fixed word.", WIDE),
    COLUMN("Started", add_started, "When its process started.", WIDE),
    COLUMN("Ended", add_ended, "When the job ended.", WIDE),
    COLUMN("Start", add_start,
        "When it may start; ~ if running jobs have no time limit.", WIDE),
    COLUMN("Object", table_add_name, "Its name in the API.",
        FORMAT("name"), WIDE),
    COLUMN("Nodes", add_nodes, "How many nodes it has, or needs at a time.", INTEGER, WIDE),
    COLUMN("Waiting", add_waiting, "The tasks of an array that wait, and its throttle.", WIDE),
};
/* clang-format on */

/* ---- Rows of an array's tasks ---- */

static void
add_part(struct table_row *row, const struct summary *part)
{
    struct table_row cells = *row;

    strbuf_add_text(row->text, "{\"cells\":[");
    table_add_cells_of(&job_kiln_table, &cells, part);
    strbuf_add_text(row->text, "]}");
}

static enum job_state
state_of(const struct pod *pod)
{
    const char *phase = pod->status.phase;

    if (pod_is_ending(pod))
        return JOB_STATE_ENDING;
    if (phase != NULL && strcmp(phase, "Unknown") == 0)
        return JOB_STATE_UNKNOWN;
    if (phase == NULL || strcmp(phase, "Running") != 0)
        return JOB_STATE_STARTING;
    return pod_is_frozen(pod) ? JOB_STATE_FROZEN : JOB_STATE_RUNNING;
}

static void
add_held(struct table_row *row, const struct summary *s)
{
    add_part(row, &(struct summary){
                      .job = s->job,
                      .tasks = s->tasks,
                      .id = job_array_summary_text(row->arena, s->job->status.id, &s->tasks->held,
                                                   MAX_TASKS),
                      .waiting = &s->tasks->held,
                      .state = JOB_STATE_HELD,
                      .reason = JOB_REASON_HELD_USER,
                      .words = "held",
                  });
}

static void
add_running(struct table_row *row, const struct summary *s, const struct job_array_task *task)
{
    struct summary part = {
        .job = s->job,
        .pod = task->pod,
        .tasks = s->tasks,
        .id = arena_printf(row->arena, "%" PRId64 "_%" PRId64, s->job->status.id, task->id),
        .state = state_of(task->pod),
    };

    find_run(&part, row->now_us, &part.run);
    find_words(row, &part);
    add_part(row, &part);
}

/* The row for all tasks without their own row; it bounds the size of the table.
 */
static void
add_rest(struct table_row *row, const struct summary *s)
{
    add_part(row, &(struct summary){
                      .job = s->job,
                      .tasks = s->tasks,
                      .id = arena_printf(row->arena, "%" PRId64 "_[%" PRId64 ",...]",
                                         s->job->status.id, s->tasks->running[MAX_ROWS].id),
                      .state = JOB_STATE_RUNNING,
                      .run = {.node_name = arena_printf(row->arena, "%zu more tasks",
                                                        s->tasks->n_running - MAX_ROWS)},
                  });
}

static void
add_tasks(struct table_row *row)
{
    const struct summary *s = row->summary;
    const struct job_array_summary *tasks = s->tasks;

    if (tasks == NULL || (tasks->held.total == 0 && tasks->n_running == 0))
        return;
    strbuf_add_text(row->text, ",\"tasks\":[");
    if (tasks->held.total > 0)
        add_held(row, s);
    for (size_t i = 0; i < tasks->n_running && i <= MAX_ROWS; i++) {
        if (i > 0 || tasks->held.total > 0)
            strbuf_add_char(row->text, ',');
        if (i < MAX_ROWS)
            add_running(row, s, &tasks->running[i]);
        else
            add_rest(row, s);
    }
    strbuf_add_char(row->text, ']');
}

const struct table job_kiln_table = {
    TABLE_COLUMNS(columns),
    .summarize = summarize,
    .add_tasks = add_tasks,
};
