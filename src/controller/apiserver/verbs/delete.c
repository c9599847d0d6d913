/* SPDX-License-Identifier: Apache-2.0 */
/* delete.c - DELETE: removes the object at once, or marks it when somebody has
 * to finish first
 *
 * A pod on a node is removed when its agent has ended it, an object with
 * finalizers when the last of them is removed, a namespace when it is empty.
 * Until then it has a deletionTimestamp.
 */
#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/objects/selection.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/request/time_slice.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define US 1000000

#define FINALIZER_FOREGROUND "foregroundDeletion"
#define FINALIZER_ORPHAN     "orphan"

/* A deletion in progress. */
struct deletion {
    struct request *q;
    struct store_txn *txn; /* begun when there is something to write */
    const struct object *object;
    struct json *tree;
    struct json *meta;
};

static bool
refuse_precondition(struct request *q, const char *what, const char *given, const char *is,
                    const char *hint)
{
    struct json *tree;

    reply_conflict(&q->reply, q->route.kind, "", q->route.name,
                   "the %s in the precondition (%s) does not match the %s in "
                   "record (%s). The object might have been %s",
                   what, given, what, is, hint);
    /* Upstream writes the kind here, not the resource. */
    tree = q->reply.tree;
    json_set(q->arena, tree, "message",
             json_stringf(q->arena,
                          "Operation cannot be fulfilled on %s \"%s\": the %s "
                          "in the precondition (%s) does not match the %s in "
                          "record (%s). The object might have been %s",
                          q->route.kind->name, q->route.name, what, given, what, is, hint));
    json_set_string(q->arena, json_get(tree, "details"), "kind", q->route.kind->name);
    return false;
}

bool
delete_is_meant(struct request *q, const struct object *object)
{
    const struct options *o = &q->options;

    if (o->precondition_uid != NULL && strcmp(o->precondition_uid, object->meta->uid) != 0)
        return refuse_precondition(q, "UID", o->precondition_uid, object->meta->uid,
                                   "deleted and then recreated");
    if (o->precondition_version != NULL
        && strcmp(o->precondition_version, object->meta->resource_version) != 0)
        return refuse_precondition(q, "ResourceVersion", o->precondition_version,
                                   object->meta->resource_version, "modified");
    return true;
}

static void
remove_finalizer(struct json *list, const char *name)
{
    for (uint32_t i = json_count(list); i-- > 0;) {
        const char *text = json_text(json_at(list, i));

        if (text != NULL && strcmp(text, name) == 0)
            json_remove_at(list, i);
    }
}

static bool
has_finalizer(const struct json *list, const char *name)
{
    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *text = json_text(json_at(list, i));

        if (text != NULL && strcmp(text, name) == 0)
            return true;
    }
    return false;
}

/* Adds the finalizer of the propagation policy, which the garbage collector
 * processes and removes.
 */
static void
set_propagation(struct deletion *d)
{
    struct request *q = d->q;
    const char *policy = q->options.propagation;
    struct json *list = json_get(d->meta, "finalizers");
    const char *wanted = NULL;

    if (policy == NULL && q->route.kind->flags & KIND_ORPHANS_PODS
        && !has_finalizer(list, FINALIZER_FOREGROUND)) {
        policy = "Orphan";
        reply_warn(&q->reply, "child pods are preserved by default when jobs are "
                              "deleted; set propagationPolicy=Background to remove them "
                              "or set propagationPolicy=Orphan to suppress this warning");
    }
    if (policy == NULL)
        return;
    if (strcmp(policy, "Foreground") == 0)
        wanted = FINALIZER_FOREGROUND;
    else if (strcmp(policy, "Orphan") == 0)
        wanted = FINALIZER_ORPHAN;
    if (list != NULL) {
        if (wanted == NULL || strcmp(wanted, FINALIZER_ORPHAN) != 0)
            remove_finalizer(list, FINALIZER_ORPHAN);
        if (wanted == NULL || strcmp(wanted, FINALIZER_FOREGROUND) != 0)
            remove_finalizer(list, FINALIZER_FOREGROUND);
    }
    if (wanted == NULL || has_finalizer(list, wanted))
        return;
    if (!json_is(list, JSON_ARRAY)) {
        list = json_array(q->arena);
        json_set(q->arena, d->meta, "finalizers", list);
    }
    json_append(q->arena, list, json_string(q->arena, wanted));
}

static void
mark(struct deletion *d, int64_t at_us, int64_t grace_s)
{
    struct request *q = d->q;
    char text[TIME_TEXT_SIZE];

    time_format(at_us, false, text);
    json_set_string(q->arena, d->meta, "deletionTimestamp", text);
    json_set_int(q->arena, d->meta, "deletionGracePeriodSeconds", grace_s);
    if (d->object->meta->deleted_at_us == 0)
        signature_delete(q, d->meta);
    if (q->route.kind->flags & KIND_GENERATION && d->object->meta->deleted_at_us == 0)
        json_set_int(q->arena, d->meta, "generation", json_get_int(d->meta, "generation", 0) + 1);
}

static struct store_txn *
begin(struct deletion *d)
{
    if (d->txn == NULL)
        d->txn = store_begin(d->q->server->store);
    return d->txn;
}

/* Keeps the object, and stores it if it has changed. Returns false for a 500.
 */
static bool
keep(struct deletion *d)
{
    struct request *q = d->q;
    struct json *old_tree = write_tree(q, d->object);
    const struct object *object = d->object;

    if (q->options.is_dry_run && !json_equals(old_tree, d->tree)) {
        if (!write_normalize(q, d->tree, old_tree))
            return false;
        reply_tree(&q->reply, 200, d->tree);
        return true;
    }
    if (!json_equals(old_tree, d->tree))
        object = write_put(q, begin(d), d->tree, old_tree);
    if (object != NULL)
        reply_object(&q->reply, 200, object);
    return object != NULL;
}

static void
reply_gone(struct deletion *d)
{
    struct request *q = d->q;

    if (q->route.kind->flags & KIND_ANSWERS_DELETED) {
        reply_tree(&q->reply, 200, d->tree);
        return;
    }
    reply_deleted(&q->reply, q->route.kind, d->object->meta->name, d->object->meta->uid);
}

/* Writes the last version of a pod that was terminating, so that watchers see
 * its grace period become 0.
 */
static bool
put_last_state(struct deletion *d)
{
    struct request *q = d->q;

    return write_put(q, begin(d), json_dup(q->arena, d->tree), write_tree(q, d->object)) != NULL;
}

static bool
drop(struct deletion *d)
{
    const struct kind_hooks *hooks = kind_hooks_of_route(d->q);
    struct request *q = d->q;
    bool is_graceful = q->route.kind->flags & KIND_GRACEFUL_DELETION;

    if (!q->options.is_dry_run) {
        if (hooks->dropping != NULL && !hooks->dropping(q, begin(d), d->object))
            return false;
        if (is_graceful && d->object->meta->deleted_at_us != 0 && !put_last_state(d))
            return false;
        if (!write_remove(q, begin(d), d->object, d->tree))
            return false;
    }
    reply_gone(d);
    return true;
}

static bool
delete_gracefully(struct deletion *d, int64_t now_us)
{
    const struct meta *meta = d->object->meta;
    const struct options *o = &d->q->options;
    int64_t grace_s = d->object->kind->grace_s(d->object, o->has_grace ? &o->grace_s : NULL);

    if (meta->deleted_at_us != 0) {
        int64_t left_s = meta->deletion_grace_s != NULL ? *meta->deletion_grace_s : 0;

        /* A second deletion may shorten the grace period, never lengthen it. */
        if (grace_s < left_s)
            mark(d, meta->deleted_at_us + (grace_s - left_s) * US, grace_s);
        else
            grace_s = left_s;
    } else
        mark(d, now_us + grace_s * US, grace_s);
    if (grace_s > 0 || json_count(json_get(d->meta, "finalizers")) > 0)
        return keep(d);
    return drop(d);
}

static bool
delete_namespace(struct deletion *d, int64_t now_us)
{
    char text[TIME_TEXT_SIZE];
    struct request *q = d->q;

    if (d->object->meta->deleted_at_us == 0) {
        time_format(now_us, false, text);
        json_set_string(q->arena, d->meta, "deletionTimestamp", text);
        json_set_string(q->arena, json_make_object(q->arena, d->tree, "status"), "phase",
                        "Terminating");
    }
    if (json_count(json_get_path(d->tree, "spec.finalizers")) > 0
        || json_count(json_get(d->meta, "finalizers")) > 0)
        return keep(d);
    return drop(d);
}

/* Returns false when the reply is a 500 and the transaction is to be rolled
 * back.
 */
static bool
delete_object(struct deletion *d)
{
    const struct kind_hooks *hooks = kind_hooks_of_route(d->q);
    int64_t now_us = clock_real_us(d->q->server->clock);

    d->tree = write_tree(d->q, d->object);
    d->meta = json_get(d->tree, "metadata");
    set_propagation(d);
    if (hooks->deleting != NULL && !d->q->options.is_dry_run && d->object->meta->deleted_at_us == 0)
        hooks->deleting(d->q, begin(d), d->object);
    if (d->q->route.kind->flags & KIND_GRACEFUL_DELETION)
        return delete_gracefully(d, now_us);
    if (d->q->route.kind->flags & KIND_SPEC_FINALIZERS)
        return delete_namespace(d, now_us);
    if (json_count(json_get(d->meta, "finalizers")) == 0)
        return drop(d);
    if (d->object->meta->deleted_at_us == 0)
        mark(d, now_us, 0);
    return keep(d);
}

static void
finish(struct deletion *d, bool is_done)
{
    if (d->txn == NULL)
        request_finish_durably(d->q);
    else if (is_done)
        request_commit(d->q, d->txn);
    else
        request_rollback(d->q, d->txn);
}

void
delete_within(struct request *q, struct store_txn *txn TAKES)
{
    struct deletion d = {.q = q, .txn = txn, .object = write_find(q)};

    finish(&d, d.object != NULL && authorization_covers(q, d.object) && delete_is_meant(q, d.object)
                   && admission_delete(q, d.object) && delete_object(&d));
}

void
verb_delete(struct request *q)
{
    delete_within(q, NULL);
}

/* --- a collection --------------------------------------------------------- */

/* How many objects one turn examines and deletes: each takes some hundred
 * microseconds.
 */
#define LOOKED_AT 64
#define DELETED   4

/* The deletion of a collection in progress, a little at a time, because it may
 * have every object. Every few deletions are a transaction, so the deleted
 * objects remain deleted when a later one fails.
 */
struct collection {
    struct time_slice time_slice;
    struct request *q;
    struct reply chosen;
    size_t n_deleted; /* of `chosen` */
    bool is_chosen;
    int outcome;
    struct selection_place place;
};

static bool
add(const struct object *object, void *context)
{
    struct collection *c = context;
    const struct request *q = c->q;
    uid_t uid;

    /* Chooses only objects that the principal may delete. */
    if (q->scope != SCOPE_OWN || (object_owner(object, &uid) && uid == q->principal->uid))
        reply_add(&c->chosen, object);
    return true;
}

static void
choose_some(struct collection *c)
{
    selection_visit_some(c->q, &c->place, 0, LOOKED_AT, add, c);
    c->is_chosen = c->place.after[0] == '\0';
}

static void
some_stored(int outcome, void *context)
{
    struct collection *c = context;

    if (outcome < 0)
        c->outcome = outcome;
}

/* Nodes are deleted all or none, so that the reply names those that are in use.
 */
static bool
are_all_or_none(const struct request *q)
{
    return q->route.kind->flags & KIND_DELETED_TOGETHER;
}

/* Finishes the request with the reply that says why. */
static void
refuse_rest(struct collection *c, struct store_txn *txn)
{
    reply_fini(&c->chosen);
    if (txn != NULL)
        request_rollback(c->q, txn);
    else
        request_finish_durably(c->q);
}

/* Deletes the next few objects, each as its own request would, and frees their
 * memory after that. Returns false when an object is refused, which fails the
 * request.
 */
static bool
delete_some(struct collection *c)
{
    struct request *q = c->q;
    struct deletion d = {.q = q};
    struct arena_mark mark = arena_mark(q->arena);
    size_t end = c->chosen.n_objects;

    if (end - c->n_deleted > DELETED && !are_all_or_none(q))
        end = c->n_deleted + DELETED;
    for (; c->n_deleted < end; c->n_deleted++) {
        const struct meta *meta = c->chosen.objects[c->n_deleted]->meta;

        d.object = store_find(q->server->store, STORE_PENDING, kind_stored(q->route.kind),
                              meta->namespace, meta->name);
        q->route.name = meta->name;
        /* A newer object of that name was not chosen. */
        if (d.object == NULL || strcmp(d.object->meta->uid, meta->uid) != 0)
            continue;
        if (admission_delete(q, d.object) ? !delete_object(&d) : are_all_or_none(q)) {
            refuse_rest(c, d.txn);
            return false;
        }
        q->old_tree = NULL;
    }
    reply_fini(&q->reply);
    reply_init(&q->reply, q->arena);
    arena_rewind(q->arena, &mark);
    if (d.txn != NULL)
        store_commit(d.txn, some_stored, c);
    return true;
}

static void
all_stored(int outcome, void *context)
{
    struct collection *c = context;
    struct request *q = c->q;

    q->reply = c->chosen;
    if (outcome == 0)
        outcome = c->outcome;
    if (outcome < 0)
        reply_not_stored(&q->reply, outcome);
    request_finish(q);
}

static bool
delete_next(struct time_slice *time_slice)
{
    struct collection *c = container_of(time_slice, struct collection, time_slice);

    if (!c->is_chosen) {
        choose_some(c);
        return true;
    }
    if (c->n_deleted < c->chosen.n_objects)
        return delete_some(c);
    store_when_durable(c->q->server->store, all_stored, c);
    return false;
}

void
verb_delete_collection(struct request *q)
{
    struct collection *c = arena_alloc(q->arena, sizeof(*c));

    c->q = q;
    reply_init(&c->chosen, q->arena);
    reply_start_list(&c->chosen, q->route.kind);
    c->chosen.revision = store_revision(q->server->store);
    choose_some(c);
    time_slices_add(q->server->time_slices, &c->time_slice, delete_next);
}
