/* SPDX-License-Identifier: Apache-2.0 */
/* held_pods.c - POST nodes/NAME/mark: the pods that the node has, with the
 * mark of its cluster (marks/cluster_mark.h)
 *
 * A pod that waited when a copy of the store was made may run, or have ended, by
 * the time that the copy is put back. A pod is never unbound, so a node that has
 * it was given it by a binding that the store has lost. The binding is written
 * again, with the allocation that the node holds: otherwise the pod would be
 * bound, and run, a second time. Whatever else has the same cores in the store
 * has ended. If the pod has ended, its agent reports that when it sees the pod.
 *
 * A pod that the store has lost with its binding is the next pod of that name
 * that its Job gets (marks/lost_pods.h): it gets the uid that it has on the node,
 * and its binding, when it is made. A pod of that name that was made meanwhile and
 * has no node becomes it: watchers see a change to another uid, as after a watch
 * that missed a deletion, and nobody counts a pod that was removed.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/marks/cluster_mark.h"
#include "controller/apiserver/marks/lost_pods.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/bind.h"
#include "controller/apiserver/verbs/held_pods.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/directory/backup.h"
#include "controller/store/lineage/revision_ranges.h"
#include "controller/store/store.h"
#include "lib/api/node/node.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

/* One pod of a node's list. */
struct held_pod {
    const char *node;
    const char *namespace;
    const char *name;
    const char *uid;
    const char *job_uid;           /* or NULL */
    const struct json *allocation; /* or NULL */
};

/* The list of one node. */
struct held_list {
    struct request *q;
    struct store_txn *txn; /* NULL: nothing is written yet */
    struct revision_ranges lost, skipped;
    unsigned n_left_out;
};

/* The node of a rootless agent has only pods of its user, whatever it says. */
static bool
may_have(const struct request *q, const char *name, const struct object *object)
{
    const struct object *node = store_find(q->server->store, STORE_PENDING, &node_kind, NULL, name);
    uid_t node_owner, owner;

    return node != NULL
           && (!node_find_owner(node_of(node), &node_owner)
               || (object_owner(object, &owner) && owner == node_owner));
}

static bool
is_unbound(const struct object *pod)
{
    const char *node = pod_of(pod)->spec.node_name;

    return pod->meta->deleted_at_us == 0 && !pod_is_finished(pod_of(pod))
           && (node == NULL || node[0] == '\0');
}

/* ---- Bindings ---- */

/* Returns false when the allocation cannot be read. */
static bool
make_binding(struct bind_member *m, const struct held_pod *held)
{
    struct request *q = m->q;
    struct json *target;
    struct causes causes;

    m->body = json_object(q->arena);
    (void)json_make_object(q->arena, m->body, "metadata");
    target = json_make_object(q->arena, m->body, "target");
    json_set_string(q->arena, target, "kind", "Node");
    json_set_string(q->arena, target, "name", arena_strdup(q->arena, held->node));
    json_set(q->arena, m->body, "allocation", json_dup(q->arena, held->allocation));
    if (record_normalize(&binding_record, q->arena, m->body, NULL, NULL) != 0)
        return false;
    record_decode(&binding_record, q->arena, m->body, &m->binding);
    if (m->binding.allocation == NULL)
        return false;
    causes_init(&causes, q->arena);
    allocation_check(m->binding.allocation, json_get(m->body, "allocation"), &causes);
    return causes.count == 0;
}

/* Returns false when the reply is a 500. */
static bool
bind(struct request *q, struct store_txn *txn, const struct object *pod,
     const struct held_pod *held)
{
    struct bind_member m = {.q = q, .name = pod->meta->name};
    struct json *tree, *old_tree;

    if (!make_binding(&m, held)) {
        log_error("node '%s' has pod '%s/%s', which the store has without a node, but its "
                  "allocation there cannot be read",
                  held->node, pod->meta->namespace, pod->meta->name);
        return true;
    }
    log_warning("pod '%s/%s' waits in the store, but node '%s' has it: the store has lost its "
                "binding, which is written again",
                pod->meta->namespace, pod->meta->name, held->node);
    old_tree = object_tree(pod, q->arena);
    tree = bind_make_tree(&m, pod, old_tree);
    json_remove(json_get(tree, "spec"), "schedulingGates"); /* they were removed before */
    json_set_string(q->arena, json_get(tree, "metadata"), "uid", arena_strdup(q->arena, held->uid));
    return write_put_other(q, txn, &pod_kind, tree, old_tree);
}

/* ---- Pods that are made later ---- */

/* Attempts that may be missing between two that nodes know. */
#define ATTEMPTS_ON 8

/* Whether a later attempt of the task was started: then this one is over, whether or
 * not its node can say so.
 */
static bool
has_later_attempt(const struct request *q, const struct meta *meta, const char *job_uid)
{
    const char *text = string_map_find(&meta->annotations, ANNOTATION_ATTEMPT);
    const int64_t attempt = text != NULL ? strtoll(text, NULL, 10) : 0;
    CLEANUP_FREE char *suffix = xasprintf("-r%" PRId64, attempt);
    const size_t length = strlen(meta->name), cut = attempt > 0 ? strlen(suffix) : 0;

    if (text == NULL || length <= cut
        || (cut > 0 && strcmp(meta->name + length - cut, suffix) != 0))
        return false;
    for (int64_t i = 1; i <= ATTEMPTS_ON; i++) {
        CLEANUP_FREE char *name =
            xasprintf("%.*s-r%" PRId64, (int)(length - cut), meta->name, attempt + i);

        if (lost_pods_find(q->server->lost_pods, meta->namespace, name, job_uid) != NULL)
            return true;
    }
    return false;
}

/* The pod has the mark of a requeued one, whose end does not count. Returns false when
 * the reply is a 500.
 */
static bool
end_earlier(struct request *q, struct store_txn *txn, const struct object *pod)
{
    static const char message[] = "a later attempt was started before the controller's state was "
                                  "put back";
    struct json *old_tree = object_tree(pod, q->arena);
    struct json *tree = json_dup(q->arena, old_tree), *status, *meta;

    meta = json_get(tree, "metadata");
    json_set_string(q->arena, json_make_object(q->arena, meta, "annotations"),
                    ANNOTATION_REQUEUE_BEFORE, "true");
    status = json_make_object(q->arena, tree, "status");
    json_set_string(q->arena, status, "phase", "Failed");
    json_set_string(q->arena, status, "reason", REASON_STATE_LOST);
    json_set_string(q->arena, status, "message", message);
    log_warning("pod '%s/%s' is over: %s", pod->meta->namespace, pod->meta->name, message);
    return write_put_other(q, txn, &pod_kind, tree, old_tree);
}

static const struct lost_pod *
find_lost(const struct request *q, const struct json *tree)
{
    const struct json *meta = json_get(tree, "metadata"), *owners;

    if (lost_pods_are_none(q->server->lost_pods) || q->principal->type != PRINCIPAL_LIFECYCLE)
        return NULL;
    owners = json_get(meta, "ownerReferences");
    for (uint32_t i = 0; i < json_count(owners); i++)
        if (json_is_true(json_get(json_at(owners, i), "controller")))
            return lost_pods_find(q->server->lost_pods, q->route.namespace,
                                  json_get_text(meta, "name"),
                                  json_get_text(json_at(owners, i), "uid"));
    return NULL;
}

void
held_pods_take_uid(const struct request *q, struct json *tree)
{
    const struct lost_pod *lost = find_lost(q, tree);

    if (lost != NULL)
        json_set_string(q->arena, json_get(tree, "metadata"), "uid",
                        arena_strdup(q->arena, lost->uid));
}

static bool
bind_lost(struct request *q, struct store_txn *txn, const struct object *pod,
          const struct lost_pod *lost)
{
    const char *text = arena_strdup(q->arena, lost->allocation);
    const struct held_pod held = {
        .node = lost->node,
        .uid = lost->uid,
        .allocation = json_parse(q->arena, text, strlen(text), NULL, NULL),
    };

    return bind(q, txn, pod, &held);
}

const struct object *
held_pods_bind(struct request *q, struct store_txn *txn, const struct object *object)
{
    const struct owner_reference *owner = object != NULL ? meta_controller(object->meta) : NULL;
    const struct lost_pod *lost;
    bool is_fine;

    if (owner == NULL || lost_pods_are_none(q->server->lost_pods)
        || q->principal->type != PRINCIPAL_LIFECYCLE)
        return object;
    lost = lost_pods_find(q->server->lost_pods, object->meta->namespace, object->meta->name,
                          owner->uid);
    if (has_later_attempt(q, object->meta, owner->uid))
        is_fine = end_earlier(q, txn, object);
    else if (lost != NULL && strcmp(lost->uid, object->meta->uid) == 0
             && may_have(q, lost->node, object))
        is_fine = bind_lost(q, txn, object, lost);
    else
        return object;
    return is_fine ? store_find(q->server->store, STORE_PENDING, &pod_kind, object->meta->namespace,
                                object->meta->name)
                   : NULL;
}

/* The Job exists that had the pod. */
static const struct object *
find_job(const struct request *q, const struct held_pod *held, const struct json *item)
{
    const char *name = json_path_text(item, "job.name");
    const struct object *job =
        name != NULL && held->job_uid != NULL
            ? store_find(q->server->store, STORE_PENDING, &job_kind, held->namespace, name)
            : NULL;

    return job != NULL && strcmp(job->meta->uid, held->job_uid) == 0 ? job : NULL;
}

static void
note_lost(struct held_list *l, const struct held_pod *held)
{
    CLEANUP_STRBUF struct strbuf allocation = STRBUF_INIT;

    json_print(held->allocation, &allocation);
    if (!lost_pods_note(l->q->server->lost_pods, held->namespace, held->name,
                        &(struct lost_pod){
                            .uid = held->uid,
                            .job_uid = held->job_uid,
                            .node = held->node,
                            .allocation = allocation.text,
                        }))
        l->n_left_out++;
}

/* ---- The list ---- */

static bool
has(const struct revision_ranges *ranges, int64_t revision)
{
    for (size_t i = 0; i < ranges->count; i++)
        if (revision > ranges->list[i].after && revision < ranges->list[i].before)
            return true;
    return false;
}

/* Whether the pod was of a state that the store has lost. Another pod that it
 * does not have was deleted, and its node has not noticed.
 */
static bool
is_lost(const struct held_list *l, const struct json *item)
{
    const int64_t revision = json_get_int(item, "revision", 0);

    return has(&l->lost, revision) || has(&l->skipped, revision);
}

static void
begin(struct held_list *l)
{
    if (l->txn == NULL)
        l->txn = store_begin(l->q->server->store);
}

/* The store has a pod of that name, which may be another one. */
static bool
take_known(struct held_list *l, const struct object *pod, const struct held_pod *held,
           const struct json *item)
{
    const struct owner_reference *owner = meta_controller(pod->meta);
    const char *node = pod_of(pod)->spec.node_name;
    const bool is_same = strcmp(pod->meta->uid, held->uid) == 0;

    if (pod->meta->deleted_at_us != 0 || pod_is_finished(pod_of(pod))
        || !may_have(l->q, held->node, pod))
        return true;
    if (!is_same
        && (owner == NULL || held->job_uid == NULL || strcmp(owner->uid, held->job_uid) != 0
            || !is_lost(l, item)))
        return true;
    if (is_unbound(pod)) {
        begin(l);
        return bind(l->q, l->txn, pod, held);
    }
    if (!is_same || strcmp(node, held->node) != 0)
        log_warning("pod '%s/%s' is bound to node '%s', and node '%s' has it, too: one of the two "
                    "bindings was made with another store",
                    held->namespace, held->name, node, held->node);
    return true;
}

/* The "-r2" at the end of a name; NULL: it has none. A Job's own name may have more. */
static const char *
find_suffix(const char *name)
{
    const char *digits = name + strlen(name);

    while (digits > name && isdigit((unsigned char)digits[-1]))
        digits--;
    return *digits != '\0' && digits - name > 2 && strncmp(digits - 2, "-r", 2) == 0 ? digits - 2
                                                                                     : NULL;
}

/* A later attempt is known: an earlier one that was made meanwhile, and has no node, is
 * over.
 */
static bool
end_earlier_made(struct held_list *l, const struct held_pod *held)
{
    const char *suffix = find_suffix(held->name);
    const int64_t attempt = suffix != NULL ? strtoll(suffix + 2, NULL, 10) : 0;
    bool is_fine = true;

    for (int64_t i = attempt - 1; is_fine && i >= 0 && i >= attempt - ATTEMPTS_ON; i--) {
        CLEANUP_FREE char *name =
            i > 0 ? xasprintf("%.*s-r%" PRId64, (int)(suffix - held->name), held->name, i)
                  : xstrndup(held->name, (size_t)(suffix - held->name));
        const struct object *pod =
            store_find(l->q->server->store, STORE_PENDING, &pod_kind, held->namespace, name);
        const struct owner_reference *owner = pod != NULL ? meta_controller(pod->meta) : NULL;

        if (owner == NULL || strcmp(owner->uid, held->job_uid) != 0 || !is_unbound(pod))
            continue;
        begin(l);
        is_fine = end_earlier(l->q, l->txn, pod);
    }
    return is_fine;
}

static bool
take_lost(struct held_list *l, const struct held_pod *held, const struct json *item)
{
    const struct object *job = is_lost(l, item) ? find_job(l->q, held, item) : NULL;

    if (job == NULL || !may_have(l->q, held->node, job))
        return true;
    note_lost(l, held);
    return end_earlier_made(l, held);
}

/* It names directories and rows, and the agent may be a user's. */
static bool
is_uid(const char *text)
{
    return strlen(text) == UUID_SIZE - 1 && strspn(text, "0123456789abcdef-") == UUID_SIZE - 1;
}

/* Takes the item if the store has a pod of that name, or if it has none. */
static bool
take(struct held_list *l, const struct json *item, bool is_known)
{
    const struct held_pod held = {
        .node = l->q->route.name,
        .namespace = json_get_text(item, "namespace"),
        .name = json_get_text(item, "name"),
        .uid = json_get_text(item, "uid"),
        .job_uid = json_path_text(item, "job.uid"),
        .allocation = json_get(item, "allocation"),
    };
    const struct object *pod;

    if (held.namespace == NULL || held.name == NULL || held.uid == NULL || !is_uid(held.uid)
        || held.allocation == NULL)
        return true;
    pod = store_find(l->q->server->store, STORE_PENDING, &pod_kind, held.namespace, held.name);
    if ((pod != NULL) != is_known)
        return true;
    return is_known ? take_known(l, pod, &held, item) : take_lost(l, &held, item);
}

static bool
take_all(struct held_list *l, bool is_known)
{
    static const char *const lists[] = {"pods", "ended"};
    bool is_fine = true;

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        const struct json *items = json_get(l->q->body, lists[i]);

        for (uint32_t at = 0; is_fine && json_is(items, JSON_ARRAY) && at < items->count; at++)
            is_fine = take(l, json_at(items, at), is_known);
    }
    return is_fine;
}

static bool
take_held(struct request *q, struct store_txn **txn)
{
    struct held_list l = {.q = q, .txn = *txn};
    bool is_fine;

    if (q->principal->type != PRINCIPAL_AGENT)
        return true;
    revision_ranges_parse(store_find_secret(q->server->store, STORE_LOST_REVISIONS), &l.lost);
    revision_ranges_parse(store_find_secret(q->server->store, STORE_SKIPPED_REVISIONS), &l.skipped);
    /* Later attempts come first: they tell that earlier ones are over. */
    is_fine = take_all(&l, false) && take_all(&l, true);
    *txn = l.txn;
    if (l.n_left_out > 0)
        log_warning("node '%s' has told of more pods that the store has lost than are noted for a "
                    "node (%u MiB): %u were left out, and may run again",
                    q->route.name, LOST_PODS_NODE_BYTES >> 20, l.n_left_out);
    return is_fine;
}

void
verb_mark(struct request *q)
{
    cluster_mark_serve(q, take_held);
}
