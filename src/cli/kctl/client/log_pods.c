/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/client/log_pods.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define INDEX ANNOTATION_INDEX /* the annotation is also a label */

/* Attempts are numbered from 1; the annotation counts the attempts before it. */
static int64_t
attempt_of(const struct json *pod)
{
    const char *text =
        json_get_text(json_get_path(pod, "metadata.annotations"), ANNOTATION_ATTEMPT);

    return text != NULL ? strtoll(text, NULL, 10) + 1 : 1;
}

int
log_pods_refuse_attempt(const struct target_object *job, int64_t attempt, const struct json *newest,
                        struct arena *arena, struct error *err)
{
    if (newest != NULL && attempt_of(newest) > attempt)
        return error_set(err, -ENOENT,
                         "the output of attempt %" PRId64 " of %s can no "
                         "longer be found: its pod is gone; 'kctl history' "
                         "shows how it ended",
                         attempt, kctl_job_words(job, arena));
    return error_set(err, -ENOENT, "%s has no attempt %" PRId64 "; 'kctl history' lists them",
                     kctl_job_words(job, arena), attempt);
}

static bool
runs_first(const struct json *pod)
{
    const char *runs = json_path_text(pod, "spec.execution.runs");

    return runs != NULL && strcmp(runs, EXECUTION_RUNS_FIRST) == 0;
}

static bool
is_pause(const struct json *pod)
{
    const char *index = json_get_text(json_get_path(pod, "metadata.labels"), INDEX);

    return runs_first(pod) && index != NULL && strcmp(index, "0") != 0;
}

void
log_pods_leave_out_pauses(struct json *pods)
{
    for (uint32_t i = json_count(pods); i-- > 0;)
        if (is_pause(json_at(pods, i)))
            json_remove_at(pods, i);
}

static struct json *
select_pods(const struct json *pods, struct arena *arena, const char *path, const char *value)
{
    struct json *found = json_array(arena);

    for (uint32_t i = 0; i < json_count(pods); i++) {
        const struct json *pod = json_at(pods, i);
        const char *text = path != NULL
                               ? json_path_text(pod, path)
                               : json_get_text(json_get_path(pod, "metadata.labels"), INDEX);

        if (text != NULL && strcmp(text, value) == 0)
            json_append(arena, found, pods->items[i]);
    }
    return found;
}

bool
log_pods_keep_node(struct json *pods, struct arena *arena, const char *node)
{
    const struct json *found = select_pods(pods, arena, "spec.nodeName", node);

    if (json_count(found) == 0)
        return false;
    *pods = *found;
    return true;
}

struct json *
log_pods_of_first(struct json *pods, struct arena *arena)
{
    const char *runs = json_path_text(json_at(pods, 0), "spec.execution.runs");
    struct json *first;

    if (runs == NULL || strcmp(runs, EXECUTION_RUNS_EACH) != 0)
        return pods;
    first = select_pods(pods, arena, NULL, "0");
    return json_count(first) > 0 ? first : pods;
}

const struct json *
log_pods_find_attempt(const struct json *pods, int64_t attempt)
{
    for (uint32_t i = json_count(pods); i-- > 0;)
        if (attempt_of(json_at(pods, i)) == attempt)
            return json_at(pods, i);
    return NULL;
}

const struct json *
log_pods_find_appended(const struct json *pods, int64_t number)
{
    const struct json *newest = json_at(pods, json_count(pods) - 1);
    const char *index = json_get_text(json_get_path(newest, "metadata.labels"), INDEX);
    const char *mode = json_path_text(newest, "spec.execution.openMode");
    const int64_t attempt = attempt_of(newest);
    const int64_t wanted = number == 0 ? attempt - 1 : number;

    if ((index != NULL && !runs_first(newest)) || wanted < 1 || wanted >= attempt
        || (mode != NULL && strcmp(mode, "append") != 0))
        return NULL;
    fprintf(stderr,
            "kctl: logs: the pod of attempt %" PRId64
            " is gone; attempts append to one file, which "
            "is shown from its start\n",
            wanted);
    return newest;
}

void
log_pods_print_others(const struct target_object *job, const struct json *pods,
                      const struct json *chosen)
{
    const char *index = json_get_text(json_get_path(chosen, "metadata.labels"), INDEX);
    unsigned others = 0;

    for (uint32_t i = 0; index != NULL && i < json_count(pods); i++) {
        const char *other =
            json_get_text(json_get_path(json_at(pods, i), "metadata.labels"), INDEX);

        others += other != NULL && strcmp(other, index) != 0;
    }
    if (others > 0)
        fprintf(stderr,
                "kctl: logs: this is %s of the %u pods of job/%s; 'kctl logs "
                "pod NAME' shows another one (of a job of several nodes, --node NAME; for a job "
                "array, 'kctl logs JOB_TASK')\n",
                json_path_text(chosen, "metadata.name"), others + 1, job->name);
}
