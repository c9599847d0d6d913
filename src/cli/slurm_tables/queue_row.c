/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/queue_row.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/verbs/jobs/job_file.h"
#include "cli/slurm_tables/slurm_time.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/api/job/job_nodes.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/api/storage/storage_class.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/quantity.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECOND_US INT64_C(1000000)

/* Slurm's $SLURM_BITSTR_LEN: so many bytes of a list of tasks, 0 for all. */
#define MOST_TASK_BYTES 64

bool
queue_row_is_waiting(const struct queue_row *row)
{
    return row->state == JOB_STATE_NONE
           || (job_state_words(row->state)->class == JOB_STATE_WAITS
               && row->state != JOB_STATE_STARTING);
}

bool
queue_row_is_ended(const struct queue_row *row)
{
    return job_state_is_ended(row->state);
}

/* ---- Ids ---- */

static size_t
most_task_bytes(void)
{
    const char *text = getenv("SLURM_BITSTR_LEN");
    const long n = text != NULL && text[0] != '\0' ? atol(text) : MOST_TASK_BYTES;

    return n > 0 ? (size_t)n : SIZE_MAX;
}

/* Slurm writes a step only for a list that is nothing else, and is long: "1-199:2", but "5,7,9".
 * The list is cut after `most` bytes.
 */
static void
add_list(const struct task_list *list, size_t most, struct strbuf *out)
{
    const size_t start = out->length;

    if (list->count == 1 && list->ranges[0].step > 1 && list->total > 2
        && list->ranges[0].last - list->ranges[0].first > 10) {
        task_list_format(list, out);
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct task_range *r = &list->ranges[i];

        if (r->step == 1 && r->last > r->first) {
            strbuf_printf(out, "%s%" PRId64 "-%" PRId64, out->length > start ? "," : "", r->first,
                          r->last);
            continue;
        }
        for (int64_t id = r->first; id <= r->last && out->length - start <= most; id += r->step)
            strbuf_printf(out, "%s%" PRId64, out->length > start ? "," : "", id);
    }
    if (out->length - start > most) {
        strbuf_truncate(out, start + (most > 4 ? most - 4 : 0));
        strbuf_add_text(out, "...");
    }
}

void
queue_row_add_tasks(const struct queue_row *row, struct strbuf *out)
{
    CLEANUP(arena_freep) struct arena *arena = NULL;
    struct task_list list;

    if (row->tasks == NULL) {
        if (row->task >= 0)
            strbuf_add_int(out, row->task);
        else
            strbuf_add_text(out, "N/A");
        return;
    }
    arena = arena_new(0);
    if (task_list_parse(arena, row->tasks, &list, NULL) == 0)
        add_list(&list, most_task_bytes(), out);
    else
        strbuf_add_text(out, row->tasks);
    if (row->throttle > 0)
        strbuf_printf(out, "%%%" PRId64, row->throttle);
}

void
queue_row_add_id(const struct queue_row *row, struct strbuf *out)
{
    strbuf_add_int(out, row->id);
    if (row->tasks != NULL) {
        strbuf_add_text(out, "_[");
        queue_row_add_tasks(row, out);
        strbuf_add_char(out, ']');
    } else if (row->task >= 0)
        strbuf_printf(out, "_%" PRId64, row->task);
    if (row->steps != NULL)
        strbuf_printf(out, ".%s", row->steps);
}

/* ---- Steps ---- */

/* The script runs on the first node. */
static void
keep_first_node(struct queue_row *step, struct arena *arena)
{
    const char **names = NULL;
    size_t count = 0;

    if (step->nodes < 2 || hostlist_expand(arena, step->node, &names, &count, NULL) < 0
        || count == 0)
        return;
    step->node = names[0];
    step->cpus /= step->nodes;
    step->nodes = 1;
}

struct queue_row
queue_row_step(const struct queue_row *job, const char *name, struct arena *arena)
{
    struct queue_row step = *job;

    step.name = step.steps = name;
    step.limit_s = 0; /* of its own */
    if (strcmp(name, "batch") == 0)
        keep_first_node(&step, arena);
    step.step_tasks = step.nodes;
    return step;
}

struct queue_row
queue_row_numbered_step(const struct queue_row *job, const struct json *record, struct arena *arena)
{
    const int64_t now_us = clock_real_us(&clock_system);
    struct queue_row step = *job;
    const char *name = json_get_text(record, "name");
    const char *nodes = json_get_text(record, "nodes");
    const char *start = json_get_text(record, "startTime");

    step.steps = arena_printf(arena, "%" PRId64, json_get_int(record, "step", 0));
    step.record = record;
    step.limit_s = json_get_int(record, "timeLimitSeconds", 0);
    step.name = name != NULL ? name : "";
    step.node = nodes != NULL ? nodes : "";
    step.nodes = json_get_int(record, "nodeCount", 1);
    step.cpus = json_get_int(record, "cpus", 1);
    step.step_tasks = json_get_int(record, "tasks", 1);
    if (start == NULL || time_parse(start, &step.start_us) < 0)
        step.start_us = job->start_us;
    step.elapsed_s = now_us > step.start_us ? (now_us - step.start_us) / SECOND_US : 0;
    return step;
}

static const struct json *
keep_for_steps(const struct json *job, struct arena *arena)
{
    const struct json *containers = json_get_path(job, "spec.template.spec.containers");
    struct json *kept = json_object(arena);
    struct json *meta = json_make_object(arena, kept, "metadata");
    struct json *spec = json_make_object(
        arena, json_make_object(arena, json_make_object(arena, kept, "spec"), "template"), "spec");

    if (json_get_path(job, "metadata.annotations") != NULL)
        json_set(arena, meta, "annotations",
                 json_dup(arena, json_get_path(job, "metadata.annotations")));
    if (containers != NULL)
        json_set(arena, spec, "containers", json_dup(arena, containers));
    return kept;
}

void
queue_row_keep(struct queue_row *row, bool with_steps, struct arena *arena)
{
    row->name = arena_strdup(arena, row->name);
    row->user = arena_strdup(arena, row->user);
    row->account = arena_strdup(arena, row->account);
    row->partition = arena_strdup(arena, row->partition);
    row->node = arena_strdup(arena, row->node);
    row->reason = arena_strdup(arena, row->reason);
    row->tasks = row->tasks != NULL ? arena_strdup(arena, row->tasks) : NULL;
    row->object = with_steps ? keep_for_steps(row->object, arena) : NULL;
}

/* ---- Times ---- */

int64_t
queue_row_end_us(const struct queue_row *row)
{
    if (queue_row_is_ended(row))
        return row->end_us;
    if (row->limit_s == 0)
        return 0;
    if (queue_row_is_waiting(row)) {
        const int64_t start_us = queue_row_start_us(row);

        return start_us != 0 ? start_us + queue_row_limit_s(row) * SECOND_US : 0;
    }
    if (row->start_us == 0)
        return 0;
    return clock_real_us(&clock_system) + (row->limit_s - row->elapsed_s) * SECOND_US;
}

void
queue_row_add_time_left(const struct queue_row *row, struct strbuf *out)
{
    if (row->limit_s == 0)
        strbuf_add_text(out, "UNLIMITED");
    else
        slurm_time_add_length(queue_row_limit_s(row) - row->elapsed_s, out);
}

int64_t
queue_row_limit_s(const struct queue_row *row)
{
    return (row->limit_s + 59) / 60 * 60;
}

/* ---- Reasons ---- */

void
queue_row_add_reason_or_nodes(const struct queue_row *row, struct strbuf *out)
{
    switch (row->state) {
    case JOB_STATE_FAILED:
    case JOB_STATE_TIMED_OUT:
    case JOB_STATE_OUT_OF_MEMORY:
    case JOB_STATE_DEADLINE:
        strbuf_printf(out, "(%s)", row->reason);
        break;
    default:
        if (queue_row_is_waiting(row))
            strbuf_printf(out, "(%s)", row->reason);
        else
            strbuf_add_text(out, row->node);
    }
}

/* ---- What the Job asks for ---- */

static const struct json *
template_of(const struct queue_row *row)
{
    return json_get_path(row->object, "spec.template");
}

const char *
queue_row_pod_text(const struct queue_row *row, const char *path)
{
    return json_path_text(json_get(template_of(row), "spec"), path);
}

const char *
queue_row_annotation(const struct queue_row *row, const char *name)
{
    const char *text = json_get_text(json_get_path(row->object, "metadata.annotations"), name);

    return text != NULL
               ? text
               : json_get_text(json_get_path(template_of(row), "metadata.annotations"), name);
}

/* The most that one of the job's nodes has. */
static int64_t
tasks_of_node(const struct queue_row *row)
{
    const char *text = queue_row_annotation(row, ANNOTATION_TASKS);
    const int64_t n = text != NULL ? strtoll(text, NULL, 10) : 1;

    return n > 0 ? n : 1;
}

int64_t
queue_row_tasks_asked(const struct queue_row *row)
{
    const char *all = queue_row_annotation(row, ANNOTATION_TOTAL_TASKS);
    const int64_t total = all != NULL ? strtoll(all, NULL, 10) : 0;

    return total > 0 ? total : tasks_of_node(row) * (row->nodes > 0 ? row->nodes : 1);
}

int64_t
queue_row_tasks_per_node(const struct queue_row *row)
{
    const char *text = queue_row_annotation(row, ANNOTATION_TASKS_PER_NODE);
    const int64_t tasks = text != NULL ? strtoll(text, NULL, 10) : 0;

    return tasks > 0 ? tasks : 0;
}

int64_t
queue_row_uid(const struct queue_row *row)
{
    const char *text = queue_row_annotation(row, ANNOTATION_UID);
    const struct passwd *user = text == NULL ? getpwnam(row->user) : NULL;

    return text != NULL ? strtoll(text, NULL, 10) : user != NULL ? (int64_t)user->pw_uid : -1;
}

int64_t
queue_row_gid(const struct queue_row *row)
{
    const int64_t gid =
        json_get_int(json_get_path(template_of(row), "spec.securityContext"), "runAsGroup", -1);
    const struct passwd *user = gid < 0 ? getpwnam(row->user) : NULL;

    return user != NULL ? (int64_t)user->pw_gid : gid;
}

/* A job has the priority 0 if it is held, and only then, as in Slurm. */
int64_t
queue_row_priority(const struct queue_row *row)
{
    if (row->state == JOB_STATE_HELD)
        return 0;
    return row->priority < 1 ? 1 : row->priority;
}

/* The tasks that wait in one line were never started. */
int64_t
queue_row_restarts(const struct queue_row *row)
{
    return row->tasks == NULL && row->attempts > 1 ? row->attempts - 1 : 0;
}

/* As wait(2) has it. */
int64_t
queue_row_wait_status(const struct queue_row *row)
{
    if (!queue_row_is_ended(row))
        return 0;
    return row->signal > 0 ? row->signal : (row->exit_code & 0xff) << 8;
}

/* A time in the Job's spec; 0: it has none. */
static int64_t
time_in_spec(const struct queue_row *row, const char *name)
{
    const char *text = json_get_text(json_get(row->object, "spec"), name);
    int64_t us;

    return text != NULL && time_parse(text, &us) == 0 ? us : 0;
}

int64_t
queue_row_deadline_us(const struct queue_row *row)
{
    return time_in_spec(row, "deadline");
}

/* Somebody or another job decides when it may start. */
static bool
is_kept_back(const struct queue_row *row)
{
    return queue_row_is_waiting(row)
           && (row->state == JOB_STATE_HELD || strcmp(row->reason, "Dependency") == 0);
}

int64_t
queue_row_accrue_us(const struct queue_row *row)
{
    return is_kept_back(row) ? 0 : queue_row_eligible_us(row);
}

int64_t
queue_row_eligible_us(const struct queue_row *row)
{
    const char *text = queue_row_annotation(row, ANNOTATION_ELIGIBLE_AT);
    int64_t us;

    if (is_kept_back(row))
        return time_in_spec(row, "beginTime");
    return text != NULL && time_parse(text, &us) == 0 ? us : row->submit_us;
}

int64_t
queue_row_start_us(const struct queue_row *row)
{
    if (queue_row_is_waiting(row) && row->expected_us == 0) {
        const int64_t begin_us = time_in_spec(row, "beginTime");

        return begin_us > clock_real_us(&clock_system) ? begin_us : 0;
    }
    if (queue_row_is_waiting(row))
        return row->expected_us;
    return row->start_us != 0 ? row->start_us : row->end_us;
}

int64_t
queue_row_cpus_per_task(const struct queue_row *row)
{
    const int64_t cpus = row->cpus / (row->nodes > 0 ? row->nodes : 1);
    const int64_t tasks = tasks_of_node(row);

    return cpus >= tasks ? cpus / tasks : cpus;
}

/* Its program only holds what it has. */
bool
queue_row_is_allocation(const struct queue_row *row)
{
    const struct json *main =
        json_at(json_get_path(row->object, "spec.template.spec.containers"), 0);
    const char *command = json_text(json_at(json_get(main, "command"), 0));

    return command != NULL && strcmp(command, POD_PAUSE_COMMAND) == 0;
}

int64_t
queue_row_nice(const struct queue_row *row)
{
    const char *nice = queue_row_annotation(row, ANNOTATION_NICE);

    return nice != NULL ? strtoll(nice, NULL, 10) : 0;
}

const char *
queue_row_qos(const struct queue_row *row)
{
    const char *class = queue_row_pod_text(row, "priorityClassName");

    return class != NULL && class[0] != '\0' ? class : "normal";
}

bool
queue_row_may_restart(const struct queue_row *row)
{
    const struct json *spec = json_get(row->object, "spec");

    return json_is_true(json_get(spec, "requeue")) || json_get_int(spec, "backoffLimit", 0) > 0;
}

/* The script's file and its arguments, as Slurm shows them. */
const char *
queue_row_command(const struct queue_row *row, struct arena *arena)
{
    const struct json *containers = json_get_path(template_of(row), "spec.containers");
    const struct json *arguments = json_get(json_at(containers, 0), "args");
    const char *path = queue_row_annotation(row, ANNOTATION_SCRIPT_PATH);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    if (path == NULL)
        return NULL;
    strbuf_add_text(&out, path);
    for (uint32_t i = 0; i < json_count(arguments); i++)
        strbuf_printf(&out, " %s", json_text(json_at(arguments, i)));
    return arena_strdup(arena, out.text);
}

const char *
queue_row_file(const struct queue_row *row, enum queue_row_stream stream, struct arena *arena)
{
    static const char *const members[] = {"stdinPath", "stdoutPath", "stderrPath"};
    const struct json *execution = json_get_path(template_of(row), "spec.execution");
    const char *pattern = json_get_text(execution, members[stream]);
    const struct job_file file = {
        .job = row->object,
        .name = json_path_text(row->object, "metadata.name"),
        .id = row->id,
        .task = row->task,
        .node = row->node[0] != '\0' ? row->node : NULL,
    };

    if (queue_row_is_allocation(row))
        return "";
    if (pattern == NULL && stream == QUEUE_ROW_STDERR)
        return queue_row_file(row, QUEUE_ROW_STDOUT, arena);
    if (execution == NULL) /* another user's job, or one without such files */
        return "(null)";
    return pattern == NULL ? "/dev/null" : job_file_resolve(&file, pattern, arena);
}

static const struct json *
requests_of(const struct queue_row *row)
{
    const struct json *containers = json_get_path(template_of(row), "spec.containers");

    return json_get_path(json_at(containers, 0), "resources.requests");
}

int64_t
queue_row_memory(const struct queue_row *row)
{
    const char *text = json_get_text(requests_of(row), "memory");

    return text != NULL ? quantity_text_value(text) : 0;
}

int64_t
queue_row_gpus(const struct queue_row *row, const char **ret_model)
{
    const struct json *requests = requests_of(row);
    const char *model = json_get_text(json_get_path(template_of(row), "spec.placement"), "gpuType");
    const char *count = json_get_text(requests, "kiln.hpc/gpu");

    *ret_model = model;
    return count != NULL ? quantity_text_value(count) : 0;
}

/* Of the volume on the node's own disk that --tmp makes. */
int64_t
queue_row_scratch(const struct queue_row *row)
{
    const struct json *volumes = json_get_path(template_of(row), "spec.volumes");

    for (uint32_t i = 0; i < json_count(volumes); i++) {
        const struct json *spec =
            json_get_path(json_at(volumes, i), "ephemeral.volumeClaimTemplate.spec");
        const char *class = json_get_text(spec, "storageClassName");
        const char *size = json_path_text(spec, "resources.requests.storage");

        if (class != NULL && strcmp(class, STORAGE_CLASS_SCRATCH) == 0 && size != NULL)
            return quantity_text_value(size);
    }
    return 0;
}

const char *
queue_row_features(const struct queue_row *row, struct arena *arena)
{
    return job_nodes_features(arena, json_get(template_of(row), "spec"));
}

const char *
queue_row_nodes_named(const struct queue_row *row, bool is_exclusion, struct arena *arena)
{
    const char *list = job_nodes_names(arena, json_get(template_of(row), "spec"), is_exclusion);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const char **names = NULL;
    size_t count = 0;

    if (list[0] == '\0' || hostlist_expand(arena, list, &names, &count, NULL) < 0)
        return list;
    hostlist_format(names, count, 0, &out);
    return arena_strdup(arena, out.text);
}

void
queue_row_add_tres(const struct queue_row *row, struct strbuf *out)
{
    const int64_t memory = queue_row_memory(row);
    const int64_t nodes = row->nodes > 0 ? row->nodes : 1;
    const char *model;
    const int64_t gpus = queue_row_gpus(row, &model);

    strbuf_printf(out, "cpu=%" PRId64, row->cpus);
    if (memory > 0) {
        strbuf_add_text(out, ",mem=");
        slurm_words_add_memory(memory * nodes, 0, out);
    }
    strbuf_printf(out, ",node=%" PRId64 ",billing=%" PRId64, nodes, row->cpus);
    if (gpus > 0)
        strbuf_printf(out, ",gres/gpu=%" PRId64, gpus * nodes);
}

/* "afterok:1(unfulfilled),afterany:2_*(unfulfilled)" */
void
queue_row_add_dependency(const struct queue_row *row, struct strbuf *out)
{
    const struct json *all = json_get_path(row->object, "spec.dependencies");
    const char *require = json_get_text(all, "require");
    const struct json *jobs = json_get(all, "jobs");
    const char separator = require != NULL && strcmp(require, "Any") == 0 ? '?' : ',';

    if (json_count(jobs) == 0 || !queue_row_is_waiting(row)) {
        strbuf_add_text(out, "(null)");
        return;
    }
    for (uint32_t i = 0; i < json_count(jobs); i++) {
        const struct json *d = json_at(jobs, i);
        const char *type = json_get_text(d, "type");
        const char *tasks = json_get_text(d, "tasks");
        const int64_t delay_s = json_get_int(d, "delaySeconds", 0);

        if (i > 0)
            strbuf_add_char(out, separator);
        strbuf_add_text(out, type != NULL ? type : "");
        if (json_get(d, "job") != NULL)
            strbuf_printf(out, ":%" PRId64, json_get_int(d, "job", 0));
        if (tasks != NULL)
            strbuf_printf(out, strpbrk(tasks, ",-:") != NULL ? "_[%s]" : "_%s", tasks);
        if (delay_s > 0)
            strbuf_printf(out, "+%" PRId64, delay_s / 60);
        strbuf_add_text(out, "(unfulfilled)");
    }
}
