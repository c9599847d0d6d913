/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a pod is computed from the Job, the index and the attempt, so that creating it
 * twice is refused by the API and not prevented by a memory (decision 8). The agent sees pods
 * only, so whatever it needs of the Job is copied into the pod (decision 5); a template that
 * claims to have such a copy loses it first.
 */
#include "controller/lifecycle/job/job_pod.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/job/job_plan.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

/* ---- Pods of an array ---- */

/* The agent knows nothing of arrays: what differs between elements is written into the pod, so
 * a pod of an array is like any other. Two numbers must not be mixed (decision 220): the
 * index, from 0, is the API's, and the task's id is what its user wrote.
 */

/* ---- Variables ---- */

static void
remove_variable(struct json *variables, const char *name)
{
    for (uint32_t i = 0; i < json_count(variables);) {
        const char *is = json_get_text(json_at(variables, i), "name");

        if (is != NULL && strcmp(is, name) == 0)
            json_remove_at(variables, i);
        else
            i++;
    }
}

static void
set_variable(struct arena *arena, struct json *variables, const char *name, int64_t value)
{
    struct json *variable = json_object(arena);

    remove_variable(variables, name);
    json_set_string(arena, variable, "name", name);
    json_set(arena, variable, "value", json_stringf(arena, "%" PRId64, value));
    json_append(arena, variables, variable);
}

/* The distance of the first two tasks, as in Slurm, even if the list has
 * several steps.
 */
static int64_t
find_step(const struct task_list *tasks)
{
    return tasks->total > 1 ? task_list_at(tasks, 1) - task_list_at(tasks, 0) : 1;
}

static void
add_variables(struct arena *arena, const struct job *job, const struct task_list *tasks,
              int64_t task, bool is_slurms, struct json *container)
{
    const struct {
        const char *ours, *theirs;
        int64_t value;
    } rows[] = {
        {"KILN_ARRAY_JOB_ID", "SLURM_ARRAY_JOB_ID", job->status.id},
        {"KILN_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_ID", task},
        {"KILN_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_COUNT", tasks->total},
        {"KILN_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MIN", task_list_at(tasks, 0)},
        {"KILN_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_MAX", task_list_at(tasks, tasks->total - 1)},
        {"KILN_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_STEP", find_step(tasks)},
    };
    struct json *variables = json_get(container, "env");

    if (!json_is(variables, JSON_ARRAY)) {
        variables = json_array(arena);
        json_set(arena, container, "env", variables);
    }
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        set_variable(arena, variables, rows[i].ours, rows[i].value);
        if (is_slurms)
            set_variable(arena, variables, rows[i].theirs, rows[i].value);
    }
}

/* ---- Names of files ---- */

static void
name_files(struct arena *arena, int64_t id, int64_t task, struct json *spec)
{
    static const char *const paths[] = {"stdinPath", "stdoutPath", "stderrPath"};
    struct json *execution = json_get(spec, "execution");

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        const char *path = json_get_text(execution, paths[i]);

        if (path != NULL && strchr(path, '%') != NULL)
            json_set_string(arena, execution, paths[i], job_array_path(arena, path, id, task));
    }
}

static bool
is_slurms(const struct json *meta)
{
    const char *words = json_get_text(json_get(meta, "annotations"), ANNOTATION_VARIABLES);

    return words != NULL && strcmp(words, "slurm") == 0;
}

/* Does nothing if the Job is not an array. In names of files %A is the job's
 * id, %a the task's, %j both (1042_7), each padded by zeros ("%4a").
 */
static void
fill_array_pod(struct arena *arena, const struct job *job, int64_t index, struct json *meta,
               struct json *spec)
{
    struct json *containers = json_get(spec, "containers");
    struct task_list tasks;
    int64_t task;

    if (!job_is_array(job) || task_list_parse(arena, job->spec.array->tasks, &tasks, NULL) < 0
        || index >= tasks.total)
        return;
    task = task_list_at(&tasks, index);
    json_set_string(arena, json_make_object(arena, meta, "annotations"), ANNOTATION_ARRAY_TASK,
                    arena_printf(arena, "%" PRId64, task));
    if (json_count(containers) > 0)
        add_variables(arena, job, &tasks, task, is_slurms(meta), json_at(containers, 0));
    name_files(arena, job->status.id, task, spec);
}

/* ---- The pod ---- */

char *
job_pod_name(struct arena *arena, const char *job, int64_t index, int64_t attempt)
{
    if (attempt == 0)
        return arena_printf(arena, "%s-%" PRId64, job, index);
    return arena_printf(arena, "%s-%" PRId64 "-r%" PRId64, job, index, attempt);
}

const char *
job_pod_group(struct arena *arena, const struct object *job, int64_t attempt)
{
    if (attempt == 0 || job_gang_size(job_of(job)) == 0)
        return job->meta->name;
    return arena_printf(arena, "%s-r%" PRId64, job->meta->name, attempt);
}

static bool
take_int(const char **text, int64_t *ret)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    *ret = strtoll(*text, &end, 10);
    *text = end;
    return true;
}

bool
job_pod_name_parse(const char *job, const char *pod, int64_t *ret_index, int64_t *ret_attempt)
{
    size_t length = strlen(job);
    const char *at = pod + length + 1;
    int64_t index, attempt = 0;

    if (strncmp(pod, job, length) != 0 || pod[length] != '-' || !take_int(&at, &index))
        return false;
    if (at[0] == '-' && at[1] == 'r') {
        at += 2;
        if (!take_int(&at, &attempt))
            return false;
    }
    if (*at != '\0')
        return false;
    *ret_index = index;
    *ret_attempt = attempt;
    return true;
}

struct json *
job_pod_owner(struct arena *arena, const struct object *job)
{
    struct json *owners = json_array(arena);
    struct json *owner = json_object(arena);

    json_set_string(arena, owner, "apiVersion", job_kind.api_version);
    json_set_string(arena, owner, "kind", job_kind.name);
    json_set_string(arena, owner, "name", job->meta->name);
    json_set_string(arena, owner, "uid", job->meta->uid);
    json_set_bool(arena, owner, "controller", true);
    json_set_bool(arena, owner, "blockOwnerDeletion", true);
    json_append(arena, owners, owner);
    return owners;
}

static void
annotate(struct arena *arena, struct json *meta, const char *name, const char *value)
{
    json_set_string(arena, json_make_object(arena, meta, "annotations"), name, value);
}

static void
number(struct arena *arena, struct json *meta, const char *name, int64_t n)
{
    annotate(arena, meta, name, arena_printf(arena, "%" PRId64, n));
}

static void
copy_annotation(struct arena *arena, struct json *meta, const struct object *job, const char *name)
{
    const char *value = string_map_find(&job->meta->annotations, name);

    if (value != NULL)
        annotate(arena, meta, name, value);
}

static struct json *
make_meta(struct arena *arena, struct json *template_, const struct object *job,
          const char *pod_name)
{
    struct json *meta = json_make_object(arena, template_, "metadata");
    struct json *labels;
    const char *user = string_map_find(&job->meta->labels, LABEL_USER);

    /* The user's template may not claim what the controller says about a pod. */
    meta_remove_reserved(json_get(meta, "labels"));
    meta_remove_reserved(json_get(meta, "annotations"));
    json_remove(meta, "creationTimestamp");
    json_set_string(arena, meta, "name", pod_name);
    json_set_string(arena, meta, "namespace", job->meta->namespace);
    labels = json_make_object(arena, meta, "labels");
    json_set_string(arena, labels, LABEL_JOB_NAME, job->meta->name);
    json_set_string(arena, labels, LABEL_JOB_UID, job->meta->uid);
    if (user != NULL)
        json_set_string(arena, labels, LABEL_USER, user);
    copy_annotation(arena, meta, job, ANNOTATION_USER);
    copy_annotation(arena, meta, job, ANNOTATION_UID);
    copy_annotation(arena, meta, job, ANNOTATION_JOB_NAME);
    copy_annotation(arena, meta, job, ANNOTATION_ELIGIBLE_AT);
    copy_annotation(arena, meta, job, ANNOTATION_REPELS);
    copy_annotation(arena, meta, job, ANNOTATION_UPDATE);
    copy_annotation(arena, meta, job, ANNOTATION_CLASS_UID);
    copy_annotation(arena, meta, job, ANNOTATION_PARTITION_UID);
    copy_annotation(arena, meta, job, ANNOTATION_RESERVATION_UID);
    json_set(arena, meta, "ownerReferences", job_pod_owner(arena, job));
    return meta;
}

/* Copies for the agent, so that it need not read the Job. */
static void
annotate_for_agent(struct arena *arena, struct json *meta, const struct job *job, int64_t attempt,
                   bool is_pause)
{
    if (job->spec.deadline_us > 0) {
        char deadline[TIME_TEXT_SIZE];

        time_format(job->spec.deadline_us, false, deadline);
        annotate(arena, meta, ANNOTATION_DEADLINE, deadline);
    }
    number(arena, meta, ANNOTATION_JOB_ID, job->status.id);
    number(arena, meta, ANNOTATION_ATTEMPT, attempt);
    if (job_gang_size(job) > 1)
        number(arena, meta, ANNOTATION_GANG_SIZE, job_gang_size(job));
    if (is_pause)
        return;
    if (job->spec.script != NULL && job->spec.script->digest != NULL)
        annotate(arena, meta, ANNOTATION_SCRIPT, job->spec.script->digest);
    if (job->spec.environment != NULL && job->spec.environment->digest != NULL)
        annotate(arena, meta, ANNOTATION_ENVIRONMENT, job->spec.environment->digest);
}

/* A dependency that was met must not move the pod forward in the queue, so an
 * eligible time that is later stays.
 */
static void
annotate_eligible(struct arena *arena, struct json *meta, int64_t at_us)
{
    const char *was = json_get_text(json_get(meta, "annotations"), ANNOTATION_ELIGIBLE_AT);
    char text[TIME_TEXT_SIZE];
    int64_t was_us;

    if (at_us == 0 || (was != NULL && time_parse(was, &was_us) == 0 && was_us > at_us))
        return;
    time_format(at_us, true, text);
    annotate(arena, meta, ANNOTATION_ELIGIBLE_AT, text);
}

static void
number_index(struct arena *arena, struct json *meta, const struct job *job,
             const struct job_plan_pod *plan)
{
    if (job->spec.completion_mode == NULL || strcmp(job->spec.completion_mode, "Indexed") != 0)
        return;
    number(arena, meta, ANNOTATION_INDEX, plan->index);
    json_set_string(arena, json_make_object(arena, meta, "labels"), ANNOTATION_INDEX,
                    arena_printf(arena, "%" PRId64, plan->index));
    if (job->spec.backoff_limit_per_index == NULL)
        return;
    number(arena, meta, ANNOTATION_INDEX_FAILURES, plan->failures);
    if (plan->ignored > 0)
        number(arena, meta, ANNOTATION_INDEX_IGNORED, plan->ignored);
}

/* Replaces the member by a shallow copy that may be changed; the copy's members
 * are shared.
 */
static struct json *
open_member(struct arena *arena, struct json *tree, const char *name)
{
    struct json *part = json_get(tree, name);

    if (part == NULL)
        return NULL;
    part = json_copy(arena, part);
    json_set(arena, tree, name, part);
    return part;
}

/* The pod only holds its resources: the files, the signals and the checkpoint are
 * those of the script. Open_template has copied what is changed here.
 */
static void
pause_pod(struct arena *arena, struct json *pod_spec)
{
    static const char *const of_script[] = {"stdinPath", "stderrPath", "openMode", "signal",
                                            "checkpointCommand"};
    struct json *execution = json_make_object(arena, pod_spec, "execution");
    struct json *main = json_at(json_get(pod_spec, "containers"), 0);
    struct json *command = json_array(arena);

    for (size_t i = 0; i < ARRAY_SIZE(of_script); i++)
        json_remove(execution, of_script[i]);
    json_set_string(arena, execution, "stdoutPath", "/dev/null");
    json_append(arena, command, json_string(arena, POD_PAUSE_COMMAND));
    json_set(arena, main, "command", command);
    json_remove(main, "args");
}

/* Copies the parts of the template that differ between pods. */
static struct json *
open_template(struct arena *arena, struct json *spec)
{
    struct json *template_ = open_member(arena, spec, "template");
    struct json *meta = json_get(template_, "metadata");
    struct json *pod_spec = open_member(arena, template_, "spec");
    struct json *containers = open_member(arena, pod_spec, "containers");

    if (meta != NULL)
        json_set(arena, template_, "metadata", json_dup(arena, meta));
    (void)open_member(arena, pod_spec, "execution");
    if (json_count(containers) > 0) {
        containers->items[0] = json_copy(arena, json_at(containers, 0));
        (void)open_member(arena, json_at(containers, 0), "env");
    }
    return template_;
}

struct json *
job_pod_make_of(struct arena *arena, const struct object *job, const struct json *job_tree,
                const struct job_plan_pod *plan)
{
    struct json *spec = json_copy(arena, json_get(job_tree, "spec"));
    struct json *template_ = open_template(arena, spec);
    struct json *pod = json_object(arena);
    const char *name = job_pod_name(arena, job->meta->name, plan->index, plan->attempt);
    struct json *meta = make_meta(arena, template_, job, name);
    const bool is_pause = job_gang_runs_first(job_of(job)) && plan->index > 0;

    json_set_string(arena, pod, "apiVersion", pod_kind.api_version);
    json_set_string(arena, pod, "kind", pod_kind.name);
    annotate_eligible(arena, meta, plan->eligible_at_us);
    annotate_for_agent(arena, meta, job_of(job), plan->attempt, is_pause);
    number_index(arena, meta, job_of(job), plan);
    fill_array_pod(arena, job_of(job), plan->index, meta, json_get(template_, "spec"));
    if (job_gang_size(job_of(job)) > 1)
        number(arena, meta, ANNOTATION_START_BARRIER, job_gang_size(job_of(job)));
    if (job_of(job)->spec.scheduling != NULL)
        json_set_string(arena,
                        json_make_object(arena, json_get(template_, "spec"), "schedulingGroup"),
                        "podGroupName", job_pod_group(arena, job, plan->attempt));
    if (is_pause)
        pause_pod(arena, json_get(template_, "spec"));
    json_set(arena, pod, "metadata", meta);
    json_set(arena, pod, "spec", json_get(template_, "spec"));
    return pod;
}

struct json *
job_pod_make(struct arena *arena, const struct object *job, const struct job_plan_pod *plan)
{
    return job_pod_make_of(arena, job, object_tree(job, arena), plan);
}

int64_t
job_pod_number(const struct pod *pod, const char *annotation)
{
    const char *text = string_map_find(&pod->meta.annotations, annotation);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}
