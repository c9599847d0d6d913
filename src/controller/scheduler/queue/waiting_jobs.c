/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/queue/waiting_jobs.h"

#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/list.h"
#include "lib/base/map.h"

struct waiting_job {
    struct list pods;
    size_t count;
};

struct waiting_jobs {
    struct map *jobs; /* uid to struct waiting_job */
};

struct waiting_jobs *
waiting_jobs_new(void)
{
    struct waiting_jobs *w = xnew(struct waiting_jobs);

    w->jobs = map_new();
    return w;
}

void
waiting_jobs_free(struct waiting_jobs *w)
{
    size_t at = 0;
    void *value;

    if (w == NULL)
        return;
    while (map_next(w->jobs, &at, NULL, &value))
        free(value);
    map_free(w->jobs);
    free(w);
}

static const char *
uid_of(const struct pod_view *pod)
{
    const struct owner_reference *owner =
        meta_controller_of(pod->object->meta, &job_kind);

    return owner != NULL ? owner->uid : NULL;
}

void
waiting_jobs_add(struct waiting_jobs *w, struct queued_pod *pod)
{
    const char *uid = uid_of(pod->pod);
    struct waiting_job *job;

    if (uid == NULL)
        return;
    job = map_find(w->jobs, uid);
    if (job == NULL) {
        job = xnew(struct waiting_job);
        list_init(&job->pods);
        map_put(w->jobs, uid, job);
    }
    list_add_last(&job->pods, &pod->of_job);
    job->count++;
}

void
waiting_jobs_remove(struct waiting_jobs *w, struct queued_pod *pod)
{
    const char *uid = uid_of(pod->pod);
    struct waiting_job *job = uid != NULL ? map_find(w->jobs, uid) : NULL;

    if (job == NULL)
        return;
    list_remove(&pod->of_job);
    if (--job->count == 0)
        free(map_remove(w->jobs, uid));
}

bool
waiting_jobs_is_same_job(const struct pod_view *a, const struct pod_view *b)
{
    const char *of_a = uid_of(a), *of_b = uid_of(b);

    return of_a == NULL || of_b == NULL ? of_a == of_b
                                        : strcmp(of_a, of_b) == 0;
}

const struct queued_pod *
waiting_jobs_find(const struct waiting_jobs *w,
                  const char *job_uid,
                  size_t *ret_count)
{
    const struct waiting_job *job = map_find(w->jobs, job_uid);

    *ret_count = job != NULL ? job->count : 0;
    return job != NULL ? container_of(job->pods.next, struct queued_pod, of_job)
                       : NULL;
}
