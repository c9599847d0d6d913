/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler decides by what it knew some milliseconds ago, and users act meanwhile. This
 * is where both are put in order: in the transaction of the binding, against the pending
 * state. A job that was held, cancelled, postponed or updated, an owner who has lost a right,
 * and cores that somebody else has got are refused here, and the pod is scheduled again.
 * Therefore the scheduler needs no locks and may be fast and a little late.
 *
 * Only sets of cores are compared, not how well they fit: the choice is the scheduler's, and
 * must not be made twice.
 */
#include "controller/apiserver/objects/binding_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/objects/retained_on_node.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/node/allocation.h"
#include "lib/api/node/binding.h"
#include "lib/api/node/node.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/arena.h"
#include "lib/base/bitset.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static bool
read_target(struct bind_member *m)
{
    struct request *q = m->q;
    const struct object_reference *target = &m->binding.target;
    const char *kind;

    if (!body_normalize_as(q, "Binding", &binding_record, m->body))
        return false;
    record_decode(&binding_record, q->arena, m->body, &m->binding);
    kind = target->kind;
    if (kind != NULL && kind[0] != '\0' && strcmp(kind, "Node") != 0) {
        reply_internal(&q->reply,
                       "target.kind: Unsupported value: \"%s\": supported "
                       "values: \"Node\", \"<empty>\"",
                       kind);
        return false;
    }
    if (target->name == NULL || target->name[0] == '\0') {
        reply_internal(&q->reply, "target.name: Required value");
        return false;
    }
    return true;
}

bool
binding_check_refuse(struct bind_member *m, const char *why)
{
    reply_conflict(&m->q->reply, &pod_kind, "/binding", m->name, "%s", why);
    return false;
}

/* Whether the pod was bound without the scheduler and so without an allocation.
 * The scheduler gives it one by binding it again to the same node.
 */
static bool
is_adopted(const struct pod *pod, const struct binding *binding)
{
    return pod->status.allocation == NULL && binding->allocation != NULL && !pod_is_finished(pod)
           && strcmp(pod->spec.node_name, binding->target.name) == 0;
}

static bool
check_pod(struct bind_member *m, const struct object *object)
{
    struct request *q = m->q;
    const struct pod *pod = pod_of(object);
    const char *uid = json_path_text(m->body, "metadata.uid");
    const char *name = m->name;

    if (uid != NULL && uid[0] != '\0' && strcmp(uid, pod->meta.uid) != 0) {
        reply_conflict(&q->reply, &pod_kind, "", name,
                       "Precondition failed: UID in precondition: %s, UID in "
                       "object meta: %s",
                       uid, pod->meta.uid);
        return false;
    }
    if (pod->meta.deleted_at_us != 0)
        return binding_check_refuse(
            m,
            arena_printf(q->arena, "pod %s is being deleted, cannot be assigned to a host", name));
    if (pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0'
        && !is_adopted(pod, &m->binding))
        return binding_check_refuse(m, arena_printf(q->arena,
                                                    "pod %s is already assigned to node \"%s\"",
                                                    name, pod->spec.node_name));
    if (pod->spec.scheduling_gates.count > 0)
        return binding_check_refuse(
            m, arena_printf(q->arena, "pod %s has non-empty .spec.schedulingGates", name));
    return true;
}

static bool
check_kilns_rules(struct bind_member *m, const struct object *pod)
{
    const struct kind_hooks *hooks = kind_hooks_served(m->q, pod->kind);

    return hooks->may_bind == NULL || hooks->may_bind(m, pod);
}

/* Refuses an allocation that cannot be read: it would block every later binding
 * on the node.
 */
static bool
check_allocation(struct bind_member *m)
{
    struct request *q = m->q;
    const struct allocation *a = m->binding.allocation;
    struct causes causes;

    if (a == NULL)
        return true;
    causes_init(&causes, q->arena);
    causes_enter(&causes, "allocation");
    allocation_check(a, json_get(m->body, "allocation"), &causes);
    if (causes.count > 0)
        reply_invalid(&q->reply, "", "Binding", m->name, &causes);
    return causes.count == 0;
}

/* Checks that the node has the CPUs. An unknown node, or one without a
 * topology, is assumed to have them.
 */
static bool
check_node(struct bind_member *m)
{
    struct request *q = m->q;
    const struct binding *binding = &m->binding;
    const struct object *node =
        store_find(q->server->store, STORE_PENDING, &node_kind, NULL, binding->target.name);
    const char *there = node != NULL ? json_get_text(node_of(node)->status.topology, "cpus") : NULL;
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    struct bitset asked, has;

    if (there == NULL || binding->allocation == NULL || binding->allocation->cpus == NULL
        || cpuset_parse(there, &has, NULL) < 0
        || cpuset_parse(binding->allocation->cpus, &asked, NULL) < 0)
        return true;
    bitset_and_not(&asked, &has);
    if (bitset_is_empty(&asked))
        return true;
    cpuset_format(&asked, &list);
    return binding_check_refuse(m, arena_printf(q->arena,
                                                "node %s does not have the CPUs %s, or "
                                                "reserves them for the system: it has %s",
                                                binding->target.name, list.text, there));
}

struct neighbours {
    struct bind_member *member;
    bool is_disjoint;
};

static bool
check_neighbour(const struct object *object, void *context)
{
    struct neighbours *n = context;
    struct bind_member *m = n->member;
    const struct pod *pod = pod_of(object);
    struct error err = {0};

    if (pod->status.allocation == NULL
        || (pod_has_yielded(pod)
                ? allocation_check_beside(m->binding.allocation, pod->status.allocation, &err)
                : allocation_check_disjoint(m->binding.allocation, pod->status.allocation, &err))
               == 0)
        return true;
    n->is_disjoint = binding_check_refuse(m, arena_printf(m->q->arena,
                                                          "the allocation overlaps that of pod "
                                                          "%s/%s on node %s: %s",
                                                          pod->meta.namespace, pod->meta.name,
                                                          m->binding.target.name, err.text));
    return false;
}

static bool
check_disjoint(struct bind_member *m)
{
    struct request *q = m->q;
    const struct binding *binding = &m->binding;
    struct neighbours n = {.member = m, .is_disjoint = true};
    struct error err = {0};

    if (binding->allocation == NULL)
        return true;
    if (retained_on_node_check_disjoint(q, binding->target.name, binding->allocation, &err) < 0)
        return binding_check_refuse(m, err.text);
    store_visit_index(q->server->store, &pod_kind, POD_LIVE_BY_NODE, STORE_PENDING,
                      binding->target.name, check_neighbour, &n);
    return n.is_disjoint;
}

struct resumption {
    const struct object *pod;
    struct error *err;
    int r;
};

static bool
check_user_of_cores(const struct object *object, void *context)
{
    struct resumption *m = context;
    const struct pod *pod = pod_of(object);
    struct error why = {0};

    if (pod->status.allocation == NULL || strcmp(pod->meta.uid, m->pod->meta->uid) == 0
        || pod_has_yielded(pod)
        || allocation_check_disjoint(pod_of(m->pod)->status.allocation, pod->status.allocation,
                                     &why)
               == 0)
        return true;
    m->r = error_set(m->err, -EEXIST, "pod %s/%s runs on its cores: %s", pod->meta.namespace,
                     pod->meta.name, why.text);
    return false;
}

int
binding_check_may_resume(const struct request *q, const struct object *pod, struct error *err)
{
    const struct allocation *a = pod_of(pod)->status.allocation;
    const char *node = pod_of(pod)->spec.node_name;
    struct resumption m = {.pod = pod, .err = err};

    if (a == NULL || node == NULL || pod_is_finished(pod_of(pod)))
        return 0;
    m.r = retained_on_node_check_disjoint(q, node, a, err);
    if (m.r == 0)
        store_visit_index(q->server->store, &pod_kind, POD_LIVE_BY_NODE, STORE_PENDING, node,
                          check_user_of_cores, &m);
    return m.r;
}

bool
binding_check(struct bind_member *m, const struct object *pod)
{
    return authorization_covers(m->q, pod) && read_target(m) && check_pod(m, pod)
           && check_kilns_rules(m, pod) && check_allocation(m) && check_node(m)
           && check_disjoint(m);
}
