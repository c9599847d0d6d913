/* SPDX-License-Identifier: Apache-2.0 */
/* bind.c - POST pods/NAME/binding: the pod gets its node, and the exact
 * cores, memory nodes and devices there
 *
 * The one place that writes an allocation, and the one that makes sure that
 * no two pods of a node were given the same core.
 */
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/objects/retained_on_node.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/indexes.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
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
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static bool
check_name(struct request *q)
{
    const char *name = json_path_text(q->body, "metadata.name");

    if (q->route.name == NULL) /* the old collection of bindings */
        q->route.name = name != NULL ? arena_strdup(q->arena, name) : "";
    else if (name != NULL && name[0] != '\0'
             && strcmp(name, q->route.name) != 0) {
        reply_bad_request(&q->reply,
                          "name in URL does not match name in Binding object");
        return false;
    }
    return true;
}

static bool
read_target(struct request *q, struct binding *ret_binding)
{
    const char *kind;

    if (!body_normalize_as(q, "Binding", &binding_record, q->body))
        return false;
    record_decode(&binding_record, q->arena, q->body, ret_binding);
    kind = ret_binding->target.kind;
    if (kind != NULL && kind[0] != '\0' && strcmp(kind, "Node") != 0) {
        reply_internal(&q->reply,
                       "target.kind: Unsupported value: \"%s\": supported "
                       "values: \"Node\", \"<empty>\"",
                       kind);
        return false;
    }
    if (ret_binding->target.name == NULL
        || ret_binding->target.name[0] == '\0') {
        reply_internal(&q->reply, "target.name: Required value");
        return false;
    }
    return true;
}

static bool
refuse(struct request *q, const char *why)
{
    reply_conflict(&q->reply, &pod_kind, "/binding", q->route.name, "%s", why);
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
check_pod(struct request *q,
          const struct object *object,
          const struct binding *binding)
{
    const struct pod *pod = pod_of(object);
    const char *uid = json_path_text(q->body, "metadata.uid");
    const char *name = q->route.name;

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
            q,
            arena_printf(
                q->arena,
                "pod %s is being deleted, cannot be assigned to a host",
                name));
    if (pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0'
        && !is_adopted(pod, binding))
        return refuse(q,
                      arena_printf(q->arena,
                                   "pod %s is already assigned to node \"%s\"",
                                   name,
                                   pod->spec.node_name));
    if (pod->spec.scheduling_gates.count > 0)
        return refuse(q,
                      arena_printf(q->arena,
                                   "pod %s has non-empty .spec.schedulingGates",
                                   name));
    return true;
}

/* An allocation that cannot be read would block every later binding on the
 * node.
 */
static bool
check_allocation(struct request *q, const struct binding *binding)
{
    const struct allocation *a = binding->allocation;
    struct causes causes;

    if (a == NULL)
        return true;
    causes_init(&causes, q->arena);
    causes_enter(&causes, "allocation");
    allocation_check(a, json_get(q->body, "allocation"), &causes);
    if (causes.count > 0)
        reply_invalid(&q->reply, "", "Binding", q->route.name, &causes);
    return causes.count == 0;
}

/* A node that is not known, or says nothing of its topology, is taken to have
 * what it is said to.
 */
static bool
check_node(struct request *q, const struct binding *binding)
{
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
    return refuse(q,
                  arena_printf(q->arena,
                               "node %s does not have the CPUs %s, or keeps "
                               "them for the system: it has %s",
                               binding->target.name,
                               list.text,
                               there));
}

struct neighbours {
    struct request *q;
    const struct binding *binding;
    bool is_disjoint;
};

static bool
check_neighbour(const struct object *object, void *context)
{
    struct neighbours *n = context;
    const struct pod *pod = pod_of(object);
    struct error err = {0};

    if (pod->status.allocation == NULL || pod_is_finished(pod)
        || allocation_check_disjoint(n->binding->allocation,
                                     pod->status.allocation,
                                     &err)
               == 0)
        return true;
    n->is_disjoint = refuse(n->q,
                            arena_printf(n->q->arena,
                                         "the allocation overlaps that of pod "
                                         "%s/%s on node %s: %s",
                                         pod->meta.namespace,
                                         pod->meta.name,
                                         n->binding->target.name,
                                         err.text));
    return false;
}

static bool
check_disjoint(struct request *q, const struct binding *binding)
{
    struct neighbours n = {.q = q, .binding = binding, .is_disjoint = true};
    struct error err = {0};

    if (binding->allocation == NULL)
        return true;
    if (retained_on_node_check_disjoint(q,
                                        binding->target.name,
                                        binding->allocation,
                                        &err)
        < 0)
        return refuse(q, err.text);
    store_visit_index(q->server->store,
                      INDEX_PODS_BY_NODE,
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
copy_map(struct request *q, struct json *meta, const char *name)
{
    const struct json *from = json_get(json_get(q->body, "metadata"), name);

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
bind(struct request *q,
     const struct json *old_tree,
     const struct binding *binding)
{
    struct json *tree = json_copy(q->arena, old_tree);
    struct json *meta = take_part(q, tree, "metadata");
    struct json *status = take_part(q, tree, "status");
    struct json *spec = json_copy(q->arena, json_get(old_tree, "spec"));

    json_set(q->arena, tree, "spec", spec);
    copy_map(q, meta, "annotations");
    copy_map(q, meta, "labels");
    json_set_string(q->arena, spec, "nodeName", binding->target.name);
    if (binding->allocation != NULL)
        json_set(q->arena,
                 status,
                 "allocation",
                 json_get(q->body, "allocation"));
    set_scheduled(q, status);
    return tree;
}

void
verb_bind(struct request *q)
{
    struct binding binding = {0};
    const struct object *object;
    const struct json *old_tree;
    struct store_txn *txn;

    if (!check_name(q)) {
        request_finish(q);
        return;
    }
    object = write_find(q);
    if (object == NULL || !authorization_covers(q, object)
        || !read_target(q, &binding) || !check_pod(q, object, &binding)
        || !check_allocation(q, &binding) || !check_node(q, &binding)
        || !check_disjoint(q, &binding)) {
        request_finish_durably(q);
        return;
    }
    if (q->options.is_dry_run) {
        reply_success(&q->reply, 201);
        request_finish_durably(q);
        return;
    }
    old_tree = object_tree(object, q->arena);
    txn = store_begin(q->server->store);
    if (write_put(q, txn, bind(q, old_tree, &binding), old_tree) != NULL)
        request_commit_success(q, txn, 201);
    else
        request_rollback(q, txn);
}
