/* SPDX-License-Identifier: Apache-2.0 */
/* delete.c - DELETE: at once, or by mark, when somebody has to finish first
 *
 * A pod on a node goes when its agent says so; an object with finalizers when
 * the last of them has gone; a namespace when it is empty. Until then it
 * carries a deletionTimestamp.
 */
#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/admission.h"
#include "controller/apiserver/remnants.h"
#include "controller/apiserver/request.h"
#include "controller/apiserver/selection.h"
#include "controller/apiserver/server.h"
#include "controller/apiserver/verbs.h"
#include "controller/apiserver/write.h"
#include "controller/store/store.h"
#include "lib/api/kind.h"
#include "lib/api/meta.h"
#include "lib/api/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define US              1000000
#define GRACE_DEFAULT_S 30

#define FINALIZER_FOREGROUND "foregroundDeletion"
#define FINALIZER_ORPHAN     "orphan"

/* Their deletion answers the object, also when it is gone. */
static const char *const answers_object[] = {
    "persistentvolumeclaims",
    "persistentvolumes",
    "pods",
    "resourcequotas",
    "storageclasses",
};

/* One deletion on its way. */
struct deletion {
    struct request *q;
    struct store_txn *txn; /* begun when there is something to write */
    const struct object *object;
    struct json *tree;
    struct json *meta;
};

static bool
refuse_precondition(struct request *q,
                    const char *what,
                    const char *given,
                    const char *is,
                    const char *hint)
{
    struct json *tree;

    reply_conflict(&q->reply,
                   q->route.kind,
                   "",
                   q->route.name,
                   "the %s in the precondition (%s) does not match the %s in "
                   "record (%s). The object might have been %s",
                   what,
                   given,
                   what,
                   is,
                   hint);
    /* Upstream names the kind here, not the resource. */
    tree = q->reply.tree;
    json_set(q->arena,
             tree,
             "message",
             json_stringf(q->arena,
                          "Operation cannot be fulfilled on %s \"%s\": the %s "
                          "in the precondition (%s) does not match the %s in "
                          "record (%s). The object might have been %s",
                          q->route.kind->name,
                          q->route.name,
                          what,
                          given,
                          what,
                          is,
                          hint));
    json_set_string(q->arena,
                    json_get(tree, "details"),
                    "kind",
                    q->route.kind->name);
    return false;
}

static bool
check_preconditions(struct request *q, const struct object *object)
{
    const struct options *o = &q->options;

    if (o->precondition_uid != NULL
        && strcmp(o->precondition_uid, object->meta->uid) != 0)
        return refuse_precondition(q,
                                   "UID",
                                   o->precondition_uid,
                                   object->meta->uid,
                                   "deleted and then recreated");
    if (o->precondition_version != NULL
        && strcmp(o->precondition_version, object->meta->resource_version) != 0)
        return refuse_precondition(q,
                                   "ResourceVersion",
                                   o->precondition_version,
                                   object->meta->resource_version,
                                   "modified");
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

/* What becomes of dependents is a finalizer that the collector works off. */
static void
set_propagation(struct deletion *d)
{
    struct request *q = d->q;
    const char *policy = q->options.propagation;
    struct json *list = json_get(d->meta, "finalizers");
    const char *wanted = NULL;

    if (policy == NULL && q->route.kind == &job_kind
        && !has_finalizer(list, FINALIZER_FOREGROUND)) {
        policy = "Orphan";
        reply_warn(&q->reply,
                   "child pods are preserved by default when jobs are "
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

/* Seconds that a pod is given; 0: nobody needs any. */
static int64_t
grace_of(const struct deletion *d)
{
    const struct options *o = &d->q->options;
    const struct pod *pod = pod_of(d->object);
    int64_t grace_s = GRACE_DEFAULT_S;

    if (o->has_grace)
        grace_s = o->grace_s;
    else if (pod->spec.termination_grace_seconds != NULL)
        grace_s = *pod->spec.termination_grace_seconds;
    if (grace_s < 0)
        grace_s = 1;
    if (pod->spec.node_name == NULL || pod->spec.node_name[0] == '\0'
        || pod_is_finished(pod))
        grace_s = 0;
    return grace_s;
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
    if (q->route.kind->flags & KIND_GENERATION
        && d->object->meta->deleted_at_us == 0)
        json_set_int(q->arena,
                     d->meta,
                     "generation",
                     json_get_int(d->meta, "generation", 0) + 1);
}

static struct store_txn *
begin(struct deletion *d)
{
    if (d->txn == NULL)
        d->txn = store_begin(d->q->server->store);
    return d->txn;
}

/* The object stays: with what was changed, or as it was. */
static void
keep(struct deletion *d)
{
    struct request *q = d->q;
    struct json *old_tree = write_tree(q, d->object);

    if (json_equals(old_tree, d->tree))
        reply_object(&q->reply, 200, d->object);
    else if (q->options.is_dry_run)
        reply_tree(&q->reply, 200, d->tree);
    else
        reply_object(&q->reply, 200, write_put(q, begin(d), d->tree, old_tree));
}

static void
reply_gone(struct deletion *d)
{
    struct request *q = d->q;

    for (unsigned i = 0; i < ARRAY_SIZE(answers_object); i++)
        if (strcmp(answers_object[i], q->route.kind->plural) == 0) {
            reply_tree(&q->reply, 200, d->tree);
            return;
        }
    reply_deleted(&q->reply,
                  q->route.kind,
                  d->object->meta->name,
                  d->object->meta->uid);
}

static void
drop(struct deletion *d)
{
    struct request *q = d->q;

    if (!q->options.is_dry_run) {
        if (q->route.kind == &pod_kind && remnants_expected(q, d->object))
            remnants_leave(q, begin(d), d->object);
        /* Watchers of a pod that was going see that it has no time left. */
        if (q->route.kind == &pod_kind && d->object->meta->deleted_at_us != 0)
            write_put(q,
                      begin(d),
                      json_dup(q->arena, d->tree),
                      write_tree(q, d->object));
        write_remove(q, begin(d), d->object, d->tree);
    }
    reply_gone(d);
}

static void
delete_pod(struct deletion *d, int64_t now_us)
{
    const struct meta *meta = d->object->meta;
    int64_t grace_s = grace_of(d);

    if (meta->deleted_at_us != 0) {
        int64_t left_s =
            meta->deletion_grace_s != NULL ? *meta->deletion_grace_s : 0;

        /* Never longer than it was once told. */
        if (grace_s < left_s)
            mark(d, meta->deleted_at_us + (grace_s - left_s) * US, grace_s);
        else
            grace_s = left_s;
    } else
        mark(d, now_us + grace_s * US, grace_s);
    if (grace_s > 0 || json_count(json_get(d->meta, "finalizers")) > 0)
        keep(d);
    else
        drop(d);
}

static void
delete_namespace(struct deletion *d, int64_t now_us)
{
    char text[TIME_TEXT_SIZE];
    struct request *q = d->q;

    if (d->object->meta->deleted_at_us == 0) {
        time_format(now_us, false, text);
        json_set_string(q->arena, d->meta, "deletionTimestamp", text);
        json_set_string(q->arena,
                        json_make_object(q->arena, d->tree, "status"),
                        "phase",
                        "Terminating");
    }
    if (json_count(json_get_path(d->tree, "spec.finalizers")) > 0
        || json_count(json_get(d->meta, "finalizers")) > 0)
        keep(d);
    else
        drop(d);
}

static void
delete_object(struct deletion *d)
{
    int64_t now_us = clock_real_us(d->q->server->clock);

    d->tree = write_tree(d->q, d->object);
    d->meta = json_get(d->tree, "metadata");
    set_propagation(d);
    if (d->q->route.kind == &pod_kind)
        delete_pod(d, now_us);
    else if (d->q->route.kind == &namespace_kind)
        delete_namespace(d, now_us);
    else if (json_count(json_get(d->meta, "finalizers")) > 0) {
        if (d->object->meta->deleted_at_us == 0)
            mark(d, now_us, 0);
        keep(d);
    } else
        drop(d);
}

static void
finish(struct deletion *d)
{
    if (d->txn != NULL)
        write_commit(d->q, d->txn);
    else
        request_finish_durably(d->q);
}

void
verb_delete(struct request *q)
{
    struct deletion d = {.q = q, .object = write_find(q)};

    if (d.object != NULL && authorization_covers(q, d.object)
        && check_preconditions(q, d.object) && admission_delete(q, d.object))
        delete_object(&d);
    finish(&d);
}

static bool
add(const struct object *object, void *context)
{
    struct request *q = context;
    uid_t uid;

    /* A collection is what the caller may delete of it. */
    if (q->scope != SCOPE_OWN
        || (object_owner(object, &uid) && uid == q->caller->uid))
        reply_add(&q->reply, object);
    return true;
}

/* Of nodes all go or none, so that nobody misses which are in use. */
static void
refuse_all(struct deletion *d, struct reply *chosen)
{
    if (d->txn != NULL)
        store_rollback(d->txn);
    reply_fini(chosen);
    request_finish_durably(d->q);
}

/* Deletes each as a request of its own would, in one transaction. */
void
verb_delete_collection(struct request *q)
{
    struct deletion d = {.q = q};
    struct reply chosen;

    reply_start_list(&q->reply, q->route.kind);
    q->reply.revision = store_revision(q->server->store);
    selection_visit(q, NULL, 0, add, q);
    chosen = q->reply;
    reply_init(&q->reply, q->arena);
    for (size_t i = 0; i < chosen.n_objects; i++) {
        const struct meta *meta = chosen.objects[i]->meta;

        d.object = store_find(q->server->store,
                              STORE_PENDING,
                              kind_stored(q->route.kind),
                              meta->namespace,
                              meta->name);
        q->route.name = meta->name;
        if (d.object == NULL)
            continue;
        if (admission_delete(q, d.object))
            delete_object(&d);
        else if (q->route.kind == &node_kind) {
            refuse_all(&d, &chosen);
            return;
        }
    }
    reply_fini(&q->reply);
    q->reply = chosen;
    finish(&d);
}
