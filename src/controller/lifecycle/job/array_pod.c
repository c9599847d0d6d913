/* SPDX-License-Identifier: Apache-2.0 */
/* The agent knows nothing of arrays: what differs between elements is written into the pod, so
 * a pod of an array is like any other. Two numbers must not be mixed (decision 220): the
 * index, from 0, is the API's, and the task's id is what its user wrote.
 */
#include "controller/lifecycle/job/array_pod.h"

#include <inttypes.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_array_path.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

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

void
array_pod_fill(struct arena *arena, const struct job *job, int64_t index, struct json *meta,
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
