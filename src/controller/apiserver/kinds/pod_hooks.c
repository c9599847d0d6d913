/* SPDX-License-Identifier: Apache-2.0 */
/* pod_hooks.c - pods: what remains of them when they are removed, and who counts them
 *
 * A pod may be removed by anybody with the right, at any time. Its Job must
 * still learn how it ended, and its node must not be given away while processes
 * of the pod may run there; so both are written in the transaction that removes
 * the pod.
 */
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/access/user_counts.h"
#include "controller/apiserver/kinds/kinds.h"
#include "controller/apiserver/kinds/name_claims.h"
#include "controller/apiserver/objects/element_record.h"
#include "controller/apiserver/objects/job_uncounted.h"
#include "controller/apiserver/objects/retained_on_node.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/json/json.h"

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

const struct kind_hooks pod_hooks = {
    .kind = &pod_kind,
    .find_claim = name_claims_find_of_pod,
    .with_admitted = with_admitted,
    .dropping = retain,
    .removed = removed,
    .wants_node_selector = true,
    .is_on_node = is_bound_to_node,
    .measure = measure,
};
