/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/job_uncounted.h"

#include <string.h>

#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/removed_pod.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/json/json.h"

static bool
is_counted_by_kiln(const struct job *job)
{
    return job->spec.managed_by == NULL || strcmp(job->spec.managed_by, MANAGED_BY_KILN) == 0;
}

/* The Job that has yet to count the pod, or NULL. */
static const struct object *
find_job(const struct request *q, const struct object *pod)
{
    const struct owner_reference *owner = meta_controller_of(pod->meta, &job_kind);
    const struct object *job = owner != NULL
                                   ? store_find(q->server->store, STORE_PENDING, &job_kind,
                                                pod->meta->namespace, owner->name)
                                   : NULL;

    return job != NULL && strcmp(job->meta->uid, owner->uid) == 0 && job->meta->deleted_at_us == 0
                   && !job_is_finished(job_of(job)) && !job_is_array(job_of(job))
                   && is_counted_by_kiln(job_of(job))
               ? job
               : NULL;
}

bool
job_uncounted_note(struct request *q, struct store_txn *txn, const struct object *object,
                   const struct json *tree)
{
    const struct object *job;
    struct json *job_tree;

    job = find_job(q, object);
    if (job == NULL)
        return true;
    job_tree = object_tree(job, q->arena);
    removed_pod_add(q->arena, json_make_object(q->arena, job_tree, "status"), tree);
    return write_put_other(q, txn, &job_kind, job_tree, object_tree(job, q->arena));
}
