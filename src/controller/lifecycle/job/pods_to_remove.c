/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/pods_to_remove.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/job/job_pod.h"
#include "controller/lifecycle/job/job_verdict.h"
#include "lib/api/job/job.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"

/* Pods of lower worth are removed first. */
static int
worth(const struct job *job, const struct pod *pod, int64_t index)
{
    const struct pod_condition *ready = pod_find_condition(pod, "Ready");

    if (string_map_find(&pod->meta.annotations, ANNOTATION_SURPLUS) != NULL)
        return 0;
    if (job_is_indexed(job) && index >= job_completions(job))
        return 1;
    if (pod->spec.node_name == NULL || pod->spec.node_name[0] == '\0')
        return 2;
    if (pod->status.phase == NULL || strcmp(pod->status.phase, "Running") != 0)
        return 3;
    return ready == NULL || strcmp(ready->status, "True") != 0 ? 4 : 5;
}

static int
order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int
by_worth(const void *a, const void *b, void *context)
{
    const struct object *const *x = a, *const *y = b;
    const struct job *job = *(const struct job **)context;
    const struct pod *pods[] = {pod_of(*x), pod_of(*y)};
    int64_t index[] = {-1, -1}, attempt;
    int r;

    for (int i = 0; i < 2; i++)
        job_pod_name_parse(job->meta.name, pods[i]->meta.name, &index[i], &attempt);
    r = order(worth(job, pods[0], index[0]), worth(job, pods[1], index[1]));
    if (r == 0)
        r = order(pods[1]->meta.created_at_us, pods[0]->meta.created_at_us);
    return r != 0 ? r : order(index[1], index[0]);
}

void
pods_to_remove_sort(const struct job *job, const struct object **pods, size_t n_pods)
{
    qsort_r(pods, n_pods, sizeof(struct object *), by_worth, &job);
}
