/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/queue/waiting_jobs.h"

#include <string.h>

#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "lib/api/object/item_map.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/list.h"

/* The pods of a Job form a ring, which is found by the pod that came first. */
struct waiting_jobs {
    struct item_map *first; /* pods, by the uid of their Job */
};

static const char *
uid_of(const struct pod_view *pod)
{
    const struct owner_reference *owner = meta_controller_of(pod->object->meta, &job_kind);

    return owner != NULL ? owner->uid : NULL;
}

static const char *
job_uid_of(const void *pod)
{
    return uid_of(((const struct queued_pod *)pod)->pod);
}

struct waiting_jobs *
waiting_jobs_new(void)
{
    struct waiting_jobs *w = xnew(struct waiting_jobs);

    w->first = item_map_new(job_uid_of);
    return w;
}

void
waiting_jobs_free(struct waiting_jobs *w)
{
    if (w == NULL)
        return;
    item_map_free(w->first);
    free(w);
}

void
waiting_jobs_add(struct waiting_jobs *w, struct queued_pod *pod)
{
    const char *uid = uid_of(pod->pod);
    struct queued_pod *first;

    list_init(&pod->of_job);
    pod->n_of_job = 0;
    if (uid == NULL)
        return;
    first = item_map_find(w->first, uid);
    if (first == NULL) {
        item_map_put(w->first, pod);
        first = pod;
    } else {
        list_add_last(&first->of_job, &pod->of_job);
    }
    first->n_of_job++;
}

static void
remove_first(struct waiting_jobs *w, struct queued_pod *pod, const char *uid)
{
    struct queued_pod *next = container_of(pod->of_job.next, struct queued_pod, of_job);

    if (next == pod) {
        item_map_remove(w->first, uid);
        return;
    }
    next->n_of_job = pod->n_of_job - 1;
    item_map_put(w->first, next);
    list_remove(&pod->of_job);
}

void
waiting_jobs_remove(struct waiting_jobs *w, struct queued_pod *pod)
{
    const char *uid = uid_of(pod->pod);
    struct queued_pod *first = uid != NULL ? item_map_find(w->first, uid) : NULL;

    if (first == pod) {
        remove_first(w, pod, uid);
    } else if (first != NULL) {
        list_remove(&pod->of_job);
        first->n_of_job--;
    }
}

bool
waiting_jobs_is_same_job(const struct pod_view *a, const struct pod_view *b)
{
    const char *of_a = uid_of(a), *of_b = uid_of(b);

    return of_a == NULL || of_b == NULL ? of_a == of_b : strcmp(of_a, of_b) == 0;
}

const struct queued_pod *
waiting_jobs_find(const struct waiting_jobs *w, const char *job_uid, size_t *ret_count)
{
    const struct queued_pod *first = item_map_find(w->first, job_uid);

    *ret_count = first != NULL ? first->n_of_job : 0;
    return first;
}
