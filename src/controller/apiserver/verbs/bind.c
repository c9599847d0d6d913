/* SPDX-License-Identifier: Apache-2.0 */
/* bind.c - POST pods/NAME/binding: the pod gets its node, and the exact
 * cores, memory nodes and devices there
 *
 * The one place that writes an allocation, and the one that makes sure that
 * no two pods of a node were given the same core.
 *
 * POST bindings takes a BindingList, too: a group of pods that are bound in
 * one transaction, all of them or none. Each is checked against what the ones
 * before it left, so members of one group cannot share a core either.
 */
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/objects/partition_choice.h"
#include "controller/apiserver/objects/retained_on_node.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_update.h"
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
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

/* A group is bound in one turn of the loop, so it may not be any length. */
#define GROUP_MAX 512

/* One pod of a request, which may bind several. */
struct member {
    struct request *q;
    const char *name;
    struct json *body; /* the Binding */
    struct binding binding;
};

/* The name of a single binding: the URL's, or the body's where it was sent to
 * the collection of bindings.
 */
static bool
find_name(struct member *m)
{
    struct request *q = m->q;
    const char *name = json_path_text(m->body, "metadata.name");

    if (q->route.name == NULL)
        q->route.name = name != NULL ? arena_strdup(q->arena, name) : "";
    else if (name != NULL && name[0] != '\0'
             && strcmp(name, q->route.name) != 0) {
        reply_bad_request(&q->reply,
                          "name in URL does not match name in Binding object");
        return false;
    }
    m->name = q->route.name;
    return true;
}

static bool
read_target(struct member *m)
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

static bool
refuse(struct member *m, const char *why)
{
    reply_conflict(&m->q->reply, &pod_kind, "/binding", m->name, "%s", why);
    return false;
}

/* Bound past the scheduler, without an allocation: the scheduler gives it one
 * by binding it again to where it is.
 */
static bool
is_adopted(const struct pod *pod, const struct binding *binding)
{
    return pod->status.allocation == NULL && binding->allocation != NULL
           && !pod_is_finished(pod)
           && strcmp(pod->spec.node_name, binding->target.name) == 0;
}

static bool
check_pod(struct member *m, const struct object *object)
{
    struct request *q = m->q;
    const struct pod *pod = pod_of(object);
    const char *uid = json_path_text(m->body, "metadata.uid");
    const char *name = m->name;

    if (uid != NULL && uid[0] != '\0' && strcmp(uid, pod->meta.uid) != 0) {
        reply_conflict(&q->reply,
                       &pod_kind,
                       "",
                       name,
                       "Precondition failed: UID in precondition: %s, UID in "
                       "object meta: %s",
                       uid,
                       pod->meta.uid);
        return false;
    }
    if (pod->meta.deleted_at_us != 0)
        return refuse(
            m,
            arena_printf(
                q->arena,
                "pod %s is being deleted, cannot be assigned to a host",
                name));
    if (pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0'
        && !is_adopted(pod, &m->binding))
        return refuse(m,
                      arena_printf(q->arena,
                                   "pod %s is already assigned to node \"%s\"",
                                   name,
                                   pod->spec.node_name));
    if (pod->spec.scheduling_gates.count > 0)
        return refuse(m,
                      arena_printf(q->arena,
                                   "pod %s has non-empty .spec.schedulingGates",
                                   name));
    return true;
}

/* The scheduler names the update that it placed the pod by; other binders know of
 * none.
 */
static bool
is_placed_as_it_is(struct member *m, const struct object *pod)
{
    const char *placed =
        json_get_text(json_get_path(m->body, "metadata.annotations"),
                      ANNOTATION_UPDATE);
    const char *is =
        string_map_find(&pod->meta->annotations, ANNOTATION_UPDATE);

    if (m->q->principal->type != PRINCIPAL_SCHEDULER)
        return true;
    return is == placed
           || (is != NULL && placed != NULL && strcmp(is, placed) == 0);
}

static const char *
refuse_for_job(struct member *m,
               const struct object *pod,
               const struct object *job)
{
    struct request *q = m->q;
    const char *name = job->meta->name;

    if (string_map_find(&job->meta->annotations, ANNOTATION_HOLD) != NULL
        || job_find_freezer(job_of(job)) != NULL)
        return arena_printf(q->arena, "job %s is held", name);
    if (job_of(job)->spec.begin_at_us > clock_real_us(q->server->clock))
        return arena_printf(q->arena, "job %s begins later", name);
    if (!job_update_is_current(pod->meta, job->meta)
        || !is_placed_as_it_is(m, pod))
        return arena_printf(q->arena,
                            "job %s was updated meanwhile: the pod is placed "
                            "anew",
                            name);
    return NULL;
}

/* The binding and a hold or an update of a Job come one after the other here,
 * whatever they crossed on their way: what has no node when its Job is held, put
 * off or changed gets none, or none that was chosen before.
 */
static bool
check_job(struct member *m, const struct object *pod)
{
    struct request *q = m->q;
    const struct owner_reference *owner =
        meta_controller_of(pod->meta, &job_kind);
    const char *node = pod_of(pod)->spec.node_name;
    const struct object *job;
    const char *why;

    if (owner == NULL || q->server->policy->is_conformance
        || (node != NULL && node[0] != '\0'))
        return true;
    job = store_find(q->server->store,
                     STORE_PENDING,
                     &job_kind,
                     pod->meta->namespace,
                     owner->name);
    why = job != NULL && meta_is_controlled_by(pod->meta, job)
              ? refuse_for_job(m, pod, job)
              : NULL;
    return why == NULL || refuse(m, why);
}

/* An allocation that cannot be read would block every later binding on the
 * node.
 */
static bool
check_allocation(struct member *m)
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

/* A node that is not known, or says nothing of its topology, is taken to have
 * what it is said to.
 */
static bool
check_node(struct member *m)
{
    struct request *q = m->q;
    const struct binding *binding = &m->binding;
    const struct object *node = store_find(q->server->store,
                                           STORE_PENDING,
                                           &node_kind,
                                           NULL,
                                           binding->target.name);
    const char *there =
        node != NULL ? json_get_text(node_of(node)->status.topology, "cpus")
                     : NULL;
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    struct bitset asked, has;

    if (there == NULL || binding->allocation == NULL
        || binding->allocation->cpus == NULL
        || cpuset_parse(there, &has, NULL) < 0
        || cpuset_parse(binding->allocation->cpus, &asked, NULL) < 0)
        return true;
    bitset_and_not(&asked, &has);
    if (bitset_is_empty(&asked))
        return true;
    cpuset_format(&asked, &list);
    return refuse(m,
                  arena_printf(q->arena,
                               "node %s does not have the CPUs %s, or keeps "
                               "them for the system: it has %s",
                               binding->target.name,
                               list.text,
                               there));
}

struct neighbours {
    struct member *member;
    bool is_disjoint;
};

static bool
check_neighbour(const struct object *object, void *context)
{
    struct neighbours *n = context;
    struct member *m = n->member;
    const struct pod *pod = pod_of(object);
    struct error err = {0};

    if (pod->status.allocation == NULL
        || allocation_check_disjoint(m->binding.allocation,
                                     pod->status.allocation,
                                     &err)
               == 0)
        return true;
    n->is_disjoint = refuse(m,
                            arena_printf(m->q->arena,
                                         "the allocation overlaps that of pod "
                                         "%s/%s on node %s: %s",
                                         pod->meta.namespace,
                                         pod->meta.name,
                                         m->binding.target.name,
                                         err.text));
    return false;
}

static bool
check_disjoint(struct member *m)
{
    struct request *q = m->q;
    const struct binding *binding = &m->binding;
    struct neighbours n = {.member = m, .is_disjoint = true};
    struct error err = {0};

    if (binding->allocation == NULL)
        return true;
    if (retained_on_node_check_disjoint(q,
                                        binding->target.name,
                                        binding->allocation,
                                        &err)
        < 0)
        return refuse(m, err.text);
    store_visit_index(q->server->store,
                      &pod_kind,
                      POD_LIVE_BY_NODE,
                      STORE_PENDING,
                      binding->target.name,
                      check_neighbour,
                      &n);
    return n.is_disjoint;
}

static void
set_scheduled(struct request *q, struct json *status)
{
    struct json *conditions = json_get(status, "conditions");
    struct json *condition = json_object(q->arena);
    char now[TIME_TEXT_SIZE];

    time_format(clock_real_us(q->server->clock), false, now);
    json_set_string(q->arena, condition, "type", "PodScheduled");
    json_set_string(q->arena, condition, "status", "True");
    json_set(q->arena, condition, "lastProbeTime", json_null(q->arena));
    json_set_string(q->arena, condition, "lastTransitionTime", now);
    if (!json_is(conditions, JSON_ARRAY)) {
        conditions = json_array(q->arena);
        json_set(q->arena, status, "conditions", conditions);
    }
    for (uint32_t i = 0; i < conditions->count; i++) {
        const char *type = json_get_text(conditions->items[i], "type");

        if (type != NULL && strcmp(type, "PodScheduled") == 0) {
            conditions->items[i] = condition;
            return;
        }
    }
    json_append(q->arena, conditions, condition);
}

static void
copy_map(struct member *m, struct json *meta, const char *name)
{
    const struct json *from = json_get(json_get(m->body, "metadata"), name);
    struct request *q = m->q;

    for (uint32_t i = 0; json_is(from, JSON_OBJECT) && i < from->count; i++)
        json_set(q->arena,
                 json_make_object(q->arena, meta, name),
                 from->members[i].name,
                 from->members[i].value);
}

/* A copy of the member to be edited, or an empty object. */
static struct json *
take_part(struct request *q, struct json *tree, const char *name)
{
    struct json *part = json_get(tree, name);

    if (!json_is(part, JSON_OBJECT))
        return json_make_object(q->arena, tree, name);
    part = json_dup(q->arena, part);
    json_set(q->arena, tree, name, part);
    return part;
}

/* The spec's own parts are those of the old tree. */
static struct json *
bound_tree(struct member *m,
           const struct object *pod,
           const struct json *old_tree)
{
    struct request *q = m->q;
    struct json *tree = json_copy(q->arena, old_tree);
    struct json *meta = take_part(q, tree, "metadata");
    struct json *status = take_part(q, tree, "status");
    struct json *spec = json_copy(q->arena, json_get(old_tree, "spec"));

    json_set(q->arena, tree, "spec", spec);
    copy_map(m, meta, "annotations");
    copy_map(m, meta, "labels");
    json_set_string(q->arena, spec, "nodeName", m->binding.target.name);
    partition_choice_write(q, pod, spec, m->binding.target.name);
    if (m->binding.allocation != NULL)
        json_set(q->arena,
                 status,
                 "allocation",
                 json_get(m->body, "allocation"));
    set_scheduled(q, status);
    json_remove(status, "cause"); /* of its wait, which has ended */
    return tree;
}

/* Everything that may refuse. */
static bool
check(struct member *m, const struct object *pod)
{
    return authorization_covers(m->q, pod) && read_target(m)
           && check_pod(m, pod) && check_job(m, pod) && check_allocation(m)
           && check_node(m) && check_disjoint(m);
}

static bool
put(struct member *m, struct store_txn *txn, const struct object *pod)
{
    const struct json *old_tree = object_tree(pod, m->q->arena);

    return write_put(m->q, txn, bound_tree(m, pod, old_tree), old_tree) != NULL;
}

/* The audit log reads the names after the commit, and they stand in the
 * request's memory alone: it is kept.
 */
static void
commit_unnamed(struct request *q, struct store_txn *txn TAKES)
{
    reply_success(&q->reply, 201);
    request_commit(q, txn);
}

static void
bind_one(struct request *q)
{
    struct member m = {.q = q, .body = q->body};
    bool is_named = q->route.name != NULL;
    const struct object *pod;
    struct store_txn *txn;

    if (!find_name(&m)) {
        request_finish(q);
        return;
    }
    pod = write_find(q);
    if (pod == NULL || !check(&m, pod)) {
        request_finish_durably(q);
        return;
    }
    if (q->options.is_dry_run) {
        reply_success(&q->reply, 201);
        request_finish_durably(q);
        return;
    }
    txn = store_begin(q->server->store);
    if (!put(&m, txn, pod))
        request_rollback(q, txn);
    else if (is_named)
        request_commit_success(q, txn, 201);
    else
        commit_unnamed(q, txn);
}

/* --- a group -------------------------------------------------------------- */

static bool
is_group(const struct request *q)
{
    const char *kind = json_get_text(q->body, "kind");

    return q->route.name == NULL && !q->server->policy->is_conformance
           && kind != NULL && strcmp(kind, "BindingList") == 0;
}

static bool
check_list(struct request *q, const struct json *items)
{
    if (json_is(items, JSON_ARRAY) && items->count > 0
        && items->count <= GROUP_MAX)
        return true;
    reply_bad_request(&q->reply, "a BindingList has 1 to %d items", GROUP_MAX);
    return false;
}

static bool
find_member_name(struct member *m, unsigned place)
{
    const char *namespace = json_path_text(m->body, "metadata.namespace");

    m->name = json_path_text(m->body, "metadata.name");
    if (m->name == NULL || m->name[0] == '\0')
        reply_bad_request(&m->q->reply,
                          "items[%u].metadata.name: Required value",
                          place);
    else if (namespace != NULL && namespace[0] != '\0'
             && strcmp(namespace, m->q->route.namespace) != 0)
        reply_bad_request(&m->q->reply,
                          "items[%u]: the namespace of pod %s does not match "
                          "the namespace sent on the request",
                          place,
                          m->name);
    else
        return true;
    return false;
}

/* `first`: the transaction's first revision, so a pod that has one as new was
 * bound by it already.
 */
static bool
bind_member(struct member *m, struct store_txn *txn, int64_t first)
{
    const struct object *pod = write_find_named(m->q, m->name);

    if (pod == NULL)
        return false;
    if (pod->revision >= first) {
        reply_bad_request(&m->q->reply,
                          "pod %s is in the BindingList twice",
                          m->name);
        return false;
    }
    return check(m, pod) && put(m, txn, pod);
}

static bool
bind_members(struct request *q, struct store_txn *txn, const struct json *items)
{
    int64_t first = store_txn_revision(txn);

    for (uint32_t i = 0; i < items->count; i++) {
        struct member m = {.q = q, .body = items->items[i]};
        struct arena_mark mark = arena_mark(q->arena);

        if (!find_member_name(&m, i) || !bind_member(&m, txn, first))
            return false;
        arena_rewind(q->arena, &mark);
    }
    return true;
}

/* "a,b,c"; before the members are bound, which reuses their memory. */
static const char *
list_names(struct request *q, const struct json *items)
{
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;

    for (uint32_t i = 0; i < items->count; i++) {
        const char *name = json_path_text(items->items[i], "metadata.name");

        strbuf_printf(&names,
                      "%s%s",
                      i > 0 ? "," : "",
                      name != NULL ? name : "");
    }
    return arena_strdup(q->arena, names.text);
}

static void
bind_group(struct request *q)
{
    const struct json *items = json_get(q->body, "items");
    const char *names;
    struct store_txn *txn;

    if (!check_list(q, items)) {
        request_finish(q);
        return;
    }
    names = list_names(q, items);
    txn = store_begin(q->server->store);
    if (!bind_members(q, txn, items)) {
        request_rollback(q, txn);
    } else if (q->options.is_dry_run) {
        reply_success(&q->reply, 201);
        request_rollback(q, txn);
    } else {
        q->group = names;
        commit_unnamed(q, txn);
    }
}

void
verb_bind(struct request *q)
{
    if (is_group(q))
        bind_group(q);
    else
        bind_one(q);
}
