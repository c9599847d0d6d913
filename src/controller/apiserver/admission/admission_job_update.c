/* SPDX-License-Identifier: Apache-2.0 */
/* admission_job_update.c - a Job's template may change while none of its pods
 * has a node, and its time limit after that
 *
 * Upstream never allows this, so the rule is Kiln's: validation does not see an
 * admitted part as a change, and judges all others. The job controller changes
 * the waiting pods. The binding of a pod that it has not changed yet is refused
 * (bind.c), so the two are ordered here.
 */
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/objects/update_refusal.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_update.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/macro.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

static bool
refuse(struct request *q, const struct json *tree, const char *why)
{
    return admission_refuse(q, tree, "JobUpdate", why);
}

static bool
is_suspended(const struct object *old_object, const struct json *tree)
{
    return job_of(old_object)->spec.suspend || json_is_true(json_get_path(tree, "spec.suspend"));
}

/* The deadline and what the Job was admitted to are in the waiting pods, too. */
static bool
has_other_terms(const struct json *tree, const struct json *old)
{
    static const char *const names[] = {ANNOTATION_CLASS_UID, ANNOTATION_PARTITION_UID,
                                        ANNOTATION_RESERVATION_UID};
    const struct json *is = json_get_path(tree, "metadata.annotations");
    const struct json *was = json_get_path(old, "metadata.annotations");

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (!text_equals_loosely(json_get_text(is, names[i]), json_get_text(was, names[i])))
            return true;
    return !text_equals_loosely(json_path_text(tree, "spec.deadline"),
                                json_path_text(old, "spec.deadline"));
}

/* The pods of a suspended Job end and are created again, so upstream's rules
 * are enough there.
 */
bool
job_update_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct json *old = request_old_tree(q, old_object);
    const struct json *was = json_get_path(old, "spec.template");
    const struct json *is = json_get_path(tree, "spec.template");
    enum job_update what;
    const char *why;

    if (q->route.subresource != SUBRESOURCE_NONE)
        return true;
    job_update_keep_number(q->arena, tree, old);
    what = is != was ? job_update_compare(q->arena, is, was) : JOB_UPDATE_NONE;
    if (what == JOB_UPDATE_NONE && has_other_terms(tree, old))
        job_update_count(q->arena, tree, old);
    if (what == JOB_UPDATE_NONE || what == JOB_UPDATE_OTHER)
        return true;
    why = update_refusal(q->server, q->principal, old_object, what, json_get(is, "spec"), q->arena);
    if (why != NULL)
        return is_suspended(old_object, tree) || refuse(q, tree, why);
    job_update_count(q->arena, tree, old);
    q->is_update_admitted = true;
    return true;
}

static const struct object *
find_job(struct request *q, const struct object *pod)
{
    const struct owner_reference *owner = meta_controller_of(pod->meta, &job_kind);
    const struct object *job = owner != NULL
                                   ? store_find(q->server->store, STORE_PENDING, &job_kind,
                                                pod->meta->namespace, owner->name)
                                   : NULL;

    return job != NULL && meta_is_controlled_by(pod->meta, job) ? job : NULL;
}

/* The job controller changes a pod to its Job's present template. For a pod
 * with a node, validation allows only the time limit to change.
 */
bool
pod_update_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const char *number =
        json_get_text(json_get_path(tree, "metadata.annotations"), ANNOTATION_UPDATE);
    const char *was = string_map_find(&old_object->meta->annotations, ANNOTATION_UPDATE);
    const struct object *job;
    const char *wanted;

    if (q->principal->type != PRINCIPAL_LIFECYCLE || q->route.subresource != SUBRESOURCE_NONE
        || number == NULL || (was != NULL && strcmp(was, number) == 0))
        return true;
    job = find_job(q, old_object);
    wanted = job != NULL ? string_map_find(&job->meta->annotations, ANNOTATION_UPDATE) : NULL;
    if (wanted == NULL || strcmp(wanted, number) != 0)
        return refuse(q, tree, "its Job has changed again");
    q->is_update_admitted = true;
    return true;
}
