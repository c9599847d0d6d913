/* SPDX-License-Identifier: Apache-2.0 */
/* bind.c - POST pods/NAME/binding: gives the pod its node and the exact cores,
 * memory nodes and devices there
 *
 * This is the only place that writes an allocation, and that makes sure that no
 * two pods of a node have the same core.
 *
 * POST bindings also takes a BindingList: a group of pods that are bound in one
 * transaction, all of them or none. Each is checked after the earlier ones of
 * the list, so members of one group cannot share a core either.
 */
#include <string.h>

#include "controller/apiserver/access/scheduling_pause.h"
#include "controller/apiserver/objects/binding_check.h"
#include "controller/apiserver/objects/put.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/api_profile.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/bind.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/node/allocation.h"
#include "lib/api/node/binding.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_records.h"
#include "lib/api/policy/pod_group.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/bitset.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

/* Bounded, because a group is bound in one turn of the loop. */
#define GROUP_MAX 512

/* The pod's name: from the URL, or from the body for a POST to the collection
 * of bindings.
 */
static bool
find_name(struct bind_member *m)
{
    struct request *q = m->q;
    const char *name = json_path_text(m->body, "metadata.name");

    if (q->route.name == NULL)
        q->route.name = name != NULL ? arena_strdup(q->arena, name) : "";
    else if (name != NULL && name[0] != '\0' && strcmp(name, q->route.name) != 0) {
        reply_bad_request(&q->reply, "name in URL does not match name in Binding object");
        return false;
    }
    m->name = q->route.name;
    return true;
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
copy_map(struct bind_member *m, struct json *meta, const char *name)
{
    const struct json *from = json_get(json_get(m->body, "metadata"), name);
    struct request *q = m->q;

    for (uint32_t i = 0; json_is(from, JSON_OBJECT) && i < from->count; i++)
        json_set(q->arena, json_make_object(q->arena, meta, name), from->members[i].name,
                 from->members[i].value);
}

/* Replaces the member by a copy that may be edited, or by an empty object. */
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

/* Copies the spec only at its top level: its members belong to the old tree. */
struct json *
bind_make_tree(struct bind_member *m, const struct object *pod, const struct json *old_tree)
{
    struct request *q = m->q;
    const struct kind_hooks *hooks = kind_hooks_served(q, &pod_kind);
    struct json *tree = json_copy(q->arena, old_tree);
    struct json *meta = take_part(q, tree, "metadata");
    struct json *status = take_part(q, tree, "status");
    struct json *spec = json_copy(q->arena, json_get(old_tree, "spec"));

    json_set(q->arena, tree, "spec", spec);
    copy_map(m, meta, "annotations");
    copy_map(m, meta, "labels");
    json_set_string(q->arena, spec, "nodeName", m->binding.target.name);
    if (hooks->write_bound != NULL)
        hooks->write_bound(q, pod, spec, &m->binding);
    if (m->binding.allocation != NULL)
        json_set(q->arena, status, "allocation", json_get(m->body, "allocation"));
    set_scheduled(q, status);
    json_remove(status, "cause"); /* of its wait, which has ended */
    return tree;
}

/* Whether the pod has none of the fields that a binding sets, as most pods:
 * then the binding can be a patch, which has the same outcome (test_bind).
 */
static bool
is_patch(const struct bind_member *m, const struct object *object)
{
    const struct kind_hooks *hooks = kind_hooks_served(m->q, &pod_kind);
    const struct json *meta = json_get(m->body, "metadata");
    const struct pod_status *status = &pod_of(object)->status;

    return status->conditions.count == 0 && status->allocation == NULL && status->cause == NULL
           && json_get(meta, "annotations") == NULL && json_get(meta, "labels") == NULL
           && (hooks->changes_when_bound == NULL || !hooks->changes_when_bound(object));
}

static bool
put_patched(struct bind_member *m, struct store_txn *txn, const struct object *pod)
{
    struct request *q = m->q;
    struct json *patch = json_object(q->arena), *status;

    (void)json_make_object(q->arena, patch, "metadata");
    json_set_string(q->arena, json_make_object(q->arena, patch, "spec"), "nodeName",
                    m->binding.target.name);
    status = json_make_object(q->arena, patch, "status");
    set_scheduled(q, status);
    if (m->binding.allocation != NULL)
        json_set(q->arena, status, "allocation", json_get(m->body, "allocation"));
    return record_normalize(&pod_status_record, q->arena, status, NULL, NULL) == 0
           && put_patch(q->arena, txn, pod, patch) != NULL;
}

static bool
put(struct bind_member *m, struct store_txn *txn, const struct object *pod)
{
    if (is_patch(m, pod) && put_patched(m, txn, pod))
        return true;
    const struct json *old_tree = object_tree(pod, m->q->arena);

    return write_put(m->q, txn, bind_make_tree(m, pod, old_tree), old_tree) != NULL;
}

/* Commits with a Success but without request_commit_success, which would free
 * the request's memory: the audit log reads the names in it after the commit.
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
    struct bind_member m = {.q = q, .body = q->body};
    bool is_named = q->route.name != NULL;
    const struct object *pod;
    struct store_txn *txn;

    if (!find_name(&m)) {
        request_finish(q);
        return;
    }
    pod = write_find(q);
    if (pod == NULL || !binding_check(&m, pod)) {
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

    return q->route.name == NULL && q->server->profile->has_additions && kind != NULL
           && strcmp(kind, "BindingList") == 0;
}

static bool
check_list(struct request *q, const struct json *items)
{
    if (json_is(items, JSON_ARRAY) && items->count > 0 && items->count <= GROUP_MAX)
        return true;
    reply_bad_request(&q->reply, "a BindingList has 1 to %d items", GROUP_MAX);
    return false;
}

static bool
find_member_name(struct bind_member *m, unsigned place)
{
    const char *namespace = json_path_text(m->body, "metadata.namespace");

    m->name = json_path_text(m->body, "metadata.name");
    if (m->name == NULL || m->name[0] == '\0')
        reply_bad_request(&m->q->reply, "items[%u].metadata.name: Required value", place);
    else if (namespace != NULL && namespace[0] != '\0'
             && strcmp(namespace, m->q->route.namespace) != 0)
        reply_bad_request(&m->q->reply,
                          "items[%u]: the namespace of pod %s does not match "
                          "the namespace sent on the request",
                          place, m->name);
    else
        return true;
    return false;
}

/* `first` is the transaction's first revision: a pod with a revision from there
 * on was bound by the same transaction.
 */
static bool
bind_member(struct bind_member *m, struct store_txn *txn, int64_t first)
{
    const struct object *pod = write_find_named(m->q, m->name);

    if (pod == NULL)
        return false;
    if (pod->revision >= first) {
        reply_bad_request(&m->q->reply, "pod %s is in the BindingList twice", m->name);
        return false;
    }
    return binding_check(m, pod) && put(m, txn, pod);
}

static bool
bind_members(struct request *q, struct store_txn *txn, const struct json *items)
{
    int64_t first = store_txn_revision(txn);

    for (uint32_t i = 0; i < items->count; i++) {
        struct bind_member m = {.q = q, .body = items->items[i]};
        struct arena_mark mark = arena_mark(q->arena);

        if (!find_member_name(&m, i) || !bind_member(&m, txn, first))
            return false;
        arena_rewind(q->arena, &mark);
    }
    return true;
}

/* Formats "a,b,c". Call it before the members are bound, which reuses their
 * memory.
 */
static const char *
list_names(struct request *q, const struct json *items)
{
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;

    for (uint32_t i = 0; i < items->count; i++) {
        const char *name = json_path_text(items->items[i], "metadata.name");

        strbuf_printf(&names, "%s%s", i > 0 ? "," : "", name != NULL ? name : "");
    }
    return arena_strdup(q->arena, names.text);
}

/* The PodGroup whose pods the list binds, if it binds all that the group wants and
 * each has its own node; NULL: not so.
 */
static const struct object *
find_pod_group(const struct request *q, const struct object *first, uint32_t count)
{
    const char *name = first != NULL ? pod_group_named_by(first) : NULL;
    const struct object *group =
        name != NULL
            ? store_find(q->server->store, STORE_PENDING, &pod_group_kind, q->route.namespace, name)
            : NULL;

    return group != NULL && pod_group_is_one_per_node(group)
                   && pod_group_least(group) == (int64_t)count && object_owner_is_same(group, first)
               ? group
               : NULL;
}

/* Writes the list of nodes into the group, so that an agent that learns of its
 * pod finds it there. Of groups that are bound in parts the lifecycle writes it
 * (lifecycle/gang), and if it cannot be written here. `names` is list_names's.
 */
static void
note_nodes(struct request *q, struct store_txn *txn, const char *names, uint32_t count)
{
    CLEANUP_FREE struct group_member *members = xnew_array(struct group_member, count);
    CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT;
    struct put put = {.kind = &pod_group_kind, .keeps_spec = true};
    const struct object *group = NULL;

    for (uint32_t i = 0; i < count; i++) {
        const size_t length = strcspn(names, ",");
        const struct object *pod =
            store_find(q->server->store, STORE_PENDING, &pod_kind, q->route.namespace,
                       arena_strndup(q->arena, names, length));
        const char *named = pod != NULL ? pod_group_named_by(pod) : NULL;

        if (i == 0)
            group = find_pod_group(q, pod, count);
        if (group == NULL || named == NULL || strcmp(named, group->meta->name) != 0)
            return;
        members[i] = pod_group_member(pod);
        names += length + (names[length] == ',');
    }
    pod_group_format_nodes(members, count, &nodes);
    put.old_tree = object_tree(group, q->arena);
    put.tree = json_copy(q->arena, put.old_tree);
    json_set_string(q->arena, take_part(q, put.tree, "status"), "nodes", nodes.text);
    (void)put_object(q->arena, txn, &put, NULL);
}

static void
bind_group(struct request *q)
{
    const struct json *items = json_get(q->body, "items");
    const uint32_t count = json_count(items);
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
        note_nodes(q, txn, names, count);
        q->group = names;
        commit_unnamed(q, txn);
    }
}

/* The pod at this place of the request; NULL: there is none, which is refused
 * later.
 */
static const struct object *
find_pod(const struct request *q, uint32_t place)
{
    const struct json *item = is_group(q)  ? json_at(json_get(q->body, "items"), place)
                              : place == 0 ? q->body
                                           : NULL;
    const char *name =
        q->route.name != NULL ? q->route.name : json_path_text(item, "metadata.name");

    return item == NULL || name == NULL
               ? NULL
               : store_find(q->server->store, STORE_PENDING, &pod_kind, q->route.namespace, name);
}

static void
bind_again(void *request)
{
    verb_bind(request);
}

/* Whether the request continues when an owner of its pods has been looked up. */
static bool
waits_for_owner(struct request *q)
{
    const uint32_t count = is_group(q) ? json_count(json_get(q->body, "items")) : 1;

    const struct kind_hooks *hooks = kind_hooks_served(q, &pod_kind);

    for (uint32_t i = 0; hooks->look_up_binding != NULL && i < count && i < GROUP_MAX; i++) {
        const struct object *pod = find_pod(q, i);

        if (pod != NULL && hooks->look_up_binding(q, pod, bind_again))
            return true;
    }
    return false;
}

/* NULL: pods may be bound. */
static const char *
find_obstacle(struct request *q)
{
    const char *paused = scheduling_pause_describe(q->server, q->arena);

    if (paused != NULL)
        return arena_printf(q->arena, "scheduling is paused %s", paused);
    return q->server->holds_scheduling
               ? "the controller has started and waits until the nodes have reported which pods "
                 "they run; try again"
               : NULL;
}

void
verb_bind(struct request *q)
{
    const char *obstacle = find_obstacle(q);

    if (obstacle != NULL) {
        reply_fail(&q->reply, &(struct reply_failure){
                                  .code = 503,
                                  .reason = "ServiceUnavailable",
                                  .message = obstacle,
                                  .retry_after_s = 1,
                              });
        request_finish_durably(q);
        return;
    }
    if (waits_for_owner(q))
        return;
    if (is_group(q))
        bind_group(q);
    else
        bind_one(q);
}
