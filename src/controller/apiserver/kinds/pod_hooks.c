/* SPDX-License-Identifier: Apache-2.0 */
/* pod_hooks.c - pods: whether they may be bound, what remains of them, who counts them
 *
 * A pod is bound long after it was admitted. Meanwhile its Job may have been held,
 * cancelled or updated, and its owner may have lost rights; the binding is where the
 * scheduler's decision and these changes are put into one order.
 *
 * A pod may be removed by anybody with the right, at any time. Its Job must
 * still learn how it ended, and its node must not be given away while processes
 * of the pod may run there; so both are written in the transaction that removes
 * the pod.
 */
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/access/start_rights.h"
#include "controller/apiserver/access/user_counts.h"
#include "controller/apiserver/kinds/kinds.h"
#include "controller/apiserver/kinds/name_claims.h"
#include "controller/apiserver/objects/barred_tasks.h"
#include "controller/apiserver/objects/binding_check.h"
#include "controller/apiserver/objects/element_record.h"
#include "controller/apiserver/objects/job_uncounted.h"
#include "controller/apiserver/objects/partition_choice.h"
#include "controller/apiserver/objects/retained_on_node.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_update.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* ---- Bindings ---- */

/* The scheduler names the update with which it placed the pod. Other binders do
 * not know updates.
 */
static bool
is_placed_as_it_is(struct bind_member *m, const struct object *pod)
{
    const char *placed =
        json_get_text(json_get_path(m->body, "metadata.annotations"), ANNOTATION_UPDATE);
    const char *is = string_map_find(&pod->meta->annotations, ANNOTATION_UPDATE);

    if (m->q->principal->type != PRINCIPAL_SCHEDULER)
        return true;
    return is == placed || (is != NULL && placed != NULL && strcmp(is, placed) == 0);
}

/* A task that was held or cancelled does not start, although the job controller, which
 * withdraws its pod, may not have done so yet: a restarted one reads all results of
 * the array first.
 */
static const char *
refuse_for_task(struct bind_member *m, const struct object *pod, const struct object *job)
{
    const char *task = string_map_find(&pod->meta->annotations, ANNOTATION_ARRAY_TASK);
    const char *how =
        task != NULL && job_is_array(job_of(job))
            ? barred_tasks_find(m->q->server->barred_tasks, job, strtoll(task, NULL, 10))
            : NULL;

    return how != NULL
               ? arena_printf(m->q->arena, "task %s of job %s is %s", task, job->meta->name, how)
               : NULL;
}

static const char *
refuse_for_job(struct bind_member *m, const struct object *pod, const struct object *job)
{
    struct request *q = m->q;
    const char *name = job->meta->name;

    if (string_map_find(&job->meta->annotations, ANNOTATION_HOLD) != NULL
        || job_find_freezer(job_of(job)) != NULL)
        return arena_printf(q->arena, "job %s is held", name);
    if (job_is_cancelled(job_of(job)) || job_find_condition(job_of(job), "FailureTarget") != NULL)
        return arena_printf(q->arena, "job %s is ending", name);
    if (job_of(job)->spec.begin_at_us > clock_real_us(q->server->clock))
        return arena_printf(q->arena, "job %s may not start yet", name);
    if (!job_update_is_current(pod->meta, job->meta) || !is_placed_as_it_is(m, pod))
        return arena_printf(q->arena,
                            "job %s was updated meanwhile: the pod will be "
                            "placed again",
                            name);
    return refuse_for_task(m, pod, job);
}

/* Bindings and changes of a Job (hold, cancel, later begin time, update) are ordered
 * here, whatever was in flight. A pod without a node is not bound once its Job
 * or task is held, cancelled or postponed, and not to a node that was chosen before its Job was
 * updated.
 */
static bool
check_job(struct bind_member *m, const struct object *pod)
{
    struct request *q = m->q;
    const struct owner_reference *owner = meta_controller_of(pod->meta, &job_kind);
    const char *node = pod_of(pod)->spec.node_name;
    const struct object *job;
    const char *why;

    if (owner == NULL || (node != NULL && node[0] != '\0'))
        return true;
    job = store_find(q->server->store, STORE_PENDING, &job_kind, pod->meta->namespace, owner->name);
    why = job != NULL && meta_is_controlled_by(pod->meta, job) ? refuse_for_job(m, pod, job) : NULL;
    return why == NULL || binding_check_refuse(m, why);
}

/* The rights of the pod's owner, who may have lost them since the submission. */
static bool
check_owner(struct bind_member *m, const struct object *pod)
{
    CLEANUP_STRBUF struct strbuf why = STRBUF_INIT;
    const char *node = pod_of(pod)->spec.node_name;

    return (node != NULL && node[0] != '\0')
           || start_rights_bind(m->q->server->start_rights, pod_of(pod), &why)
           || binding_check_refuse(m, arena_strdup(m->q->arena, why.text));
}

/* The node of a rootless agent gets only pods of its user: it would see scripts
 * and environments of others.
 */
static bool
check_node_owner(struct bind_member *m, const struct object *pod)
{
    const struct object *node =
        store_find(m->q->server->store, STORE_PENDING, &node_kind, NULL, m->binding.target.name);
    uid_t node_owner, owner;

    if (node == NULL || !node_find_owner(node_of(node), &node_owner)
        || (object_owner(pod, &owner) && owner == node_owner))
        return true;
    return binding_check_refuse(
        m, arena_printf(m->q->arena, "node %s is of uid %u, and runs only pods of that user",
                        node->meta->name, (unsigned)node_owner));
}

static bool
may_bind(struct bind_member *m, const struct object *pod)
{
    return check_job(m, pod) && check_owner(m, pod) && check_node_owner(m, pod);
}

static bool
look_up_owner(struct request *q, const struct object *pod, void (*then)(void *request))
{
    return start_rights_look_up(q->server->start_rights, pod_of(pod), then, q);
}

/* ---- Changes and removals ---- */

/* Bound pods may change only their time; pods that wait may change more. */
static const struct json *
with_admitted(struct request *q, const struct json *tree, const struct json *old_tree)
{
    static const char limit[] = "activeDeadlineSeconds";
    struct json *base = json_copy(q->arena, old_tree);
    struct json *spec = json_copy(q->arena, json_get(old_tree, "spec"));
    struct json *given = json_get_path(tree, "spec");

    if (json_get(spec, "nodeName") == NULL)
        spec = given;
    else if (json_get(given, limit) != NULL)
        json_set(q->arena, spec, limit, json_get(given, limit));
    else
        json_remove(spec, limit);
    json_set(q->arena, base, "spec", spec);
    return base;
}

static bool
retain(struct request *q, struct store_txn *txn, const struct object *pod)
{
    return !retained_on_node_expected(q, pod) || retained_on_node_leave(q, txn, pod);
}

static bool
removed(struct request *q, struct store_txn *txn, const struct object *pod, const struct json *tree)
{
    element_record_note_pod(q, txn, pod);
    return job_uncounted_note(q, txn, pod, tree);
}

static bool
is_bound_to_node(const struct request *q, const struct object *pod)
{
    const char *bound = pod_of(pod)->spec.node_name;

    return bound != NULL && strcmp(bound, q->principal->node) == 0;
}

/* Users cannot write references to a Job in pods (rule JobPod). */
static bool
measure(const struct object *object, uid_t *ret_uid, struct user_count *ret_count)
{
    if (!user_counts_measure(object, ret_uid, ret_count))
        return false;
    if (meta_controller_of(object->meta, &job_kind) != NULL)
        user_counts_measure_derived(object, ret_count);
    if (pod_is_finished(pod_of(object)))
        ret_count->objects = 0;
    ret_count->pods = ret_count->objects;
    return true;
}

static int64_t
count_itself(UNUSED const struct json *tree)
{
    return 1;
}

const struct kind_hooks pod_hooks = {
    .kind = &pod_kind,
    .agents_tell = true,
    .pods_at_once = count_itself,
    .find_claim = name_claims_find_of_pod,
    .look_up_binding = look_up_owner,
    .may_bind = may_bind,
    .changes_when_bound = partition_choice_is_open,
    .write_bound = partition_choice_write,
    .must_be_counted = true,
    .with_admitted = with_admitted,
    .dropping = retain,
    .removed = removed,
    .wants_node_selector = true,
    .is_on_node = is_bound_to_node,
    .measure = measure,
};
