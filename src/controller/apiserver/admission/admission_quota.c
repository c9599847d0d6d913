/* SPDX-License-Identifier: Apache-2.0 */
/* admission_quota.c - enforces the ResourceQuotas of a namespace
 *
 * This is the last rule, because the values that others fill in count, too. The
 * quotas are charged in the transaction that creates the object, so two objects
 * never use the same remaining quota. The lifecycle component recounts after
 * deletions.
 */
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/quota.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

struct quota_change {
    struct json *was;
    struct json *is;
    struct quota_change *next;
};

static bool
add_change(struct request *q, const struct object *quota, const struct json *object,
           const struct json *old)
{
    struct json *tree = object_tree(quota, q->arena);
    const int64_t now_us = clock_real_us(q->server->clock);
    const char *why = NULL;
    const struct json *used =
        quota_charge(q->arena, tree, q->route.kind, object, old, now_us, &why);
    struct quota_change *change;

    /* A new quota is counted within moments. Until then a job waits; what people create
     * themselves is not refused.
     */
    if (why == NULL && kind_hooks_of_route(q)->must_be_counted)
        why = quota_find_uncounted(q->arena, tree, q->route.kind, object, now_us);
    if (why != NULL) {
        reply_forbidden(&q->reply, q->route.kind, json_path_text(object, "metadata.name"), "%s",
                        why);
        return false;
    }
    if (used == NULL || json_equals(used, json_get_path(tree, "status.used")))
        return true;
    change = arena_alloc(q->arena, sizeof(*change));
    change->was = tree;
    change->is = json_dup(q->arena, tree);
    json_set(q->arena, json_make_object(q->arena, change->is, "status"), "used",
             json_dup(q->arena, used));
    change->next = q->quota_changes;
    q->quota_changes = change;
    return true;
}

struct visit_quotas {
    struct request *q;
    const struct json *object;
    const struct json *old; /* before the update, or NULL */
    bool is_fine;
};

static bool
visit(const struct object *quota, void *context)
{
    struct visit_quotas *v = context;

    v->is_fine = add_change(v->q, quota, v->object, v->old);
    return v->is_fine;
}

static bool
admit(struct request *q, const struct json *tree, const struct json *old)
{
    struct visit_quotas v = {
        .q = q,
        .object = tree,
        .old = old,
        .is_fine = true,
    };

    if (!(q->route.kind->flags & KIND_NAMESPACED) || q->route.namespace == NULL
        || q->route.kind->flags & (KIND_TRANSIENT | KIND_VOLATILE))
        return true;
    store_visit_index(q->server->store, &resource_quota_kind, RESOURCE_QUOTA_BY_NAMESPACE,
                      STORE_PENDING, q->route.namespace, visit, &v);
    return v.is_fine;
}

bool
quota_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    (void)old_object;
    return admit(q, tree, NULL);
}

/* For the update of a pod to its Job's present template. */
bool
quota_update_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    return !q->is_update_admitted || admit(q, tree, request_old_tree(q, old_object));
}

bool
quota_put(struct request *q, struct store_txn *txn)
{
    for (struct quota_change *c = q->quota_changes; c != NULL; c = c->next)
        if (!write_put_other(q, txn, &resource_quota_kind, c->is, c->was))
            return false;
    return true;
}
