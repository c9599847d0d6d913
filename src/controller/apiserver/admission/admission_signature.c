/* SPDX-License-Identifier: Apache-2.0 */
/* admission_signature.c - records who made changes that administrators ask
 * about later, and when, in annotations that clients cannot write
 *
 *   kiln.hpc/cordoned-by, -at   a Node that takes no more pods
 *   kiln.hpc/fenced-by, -at     a Node whose pods were given up
 *   kiln.hpc/tainted-by, -at    a Node with other taints
 *   kiln.hpc/suspended-by, -at  a Job that is held
 *   kiln.hpc/requeued-by, -at   a Job, or tasks of it, that were requeued
 *   kiln.hpc/tasks-cancelled-by, -at   an array of which tasks were cancelled
 *   kiln.hpc/cancel             a Job that is cancelled; also cancels it
 *   kiln.hpc/deleted-by         an object with a deletionTimestamp
 *
 * They are set with the change and removed when it is reverted.
 */
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/api_profile.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define PREFIX "kiln.hpc/"

static const struct json *
unschedulable(const struct json *tree, struct arena *arena)
{
    struct json *value = json_get_path(tree, "spec.unschedulable");

    (void)arena;
    return json_is_true(value) ? value : NULL;
}

static const struct json *
suspended(const struct json *tree, struct arena *arena)
{
    struct json *value = json_get_path(tree, "spec.suspend");

    (void)arena;
    return json_is_true(value) ? value : NULL;
}

/* The requeue of the whole job, and the count of requeues of tasks. */
static const struct json *
requeued(const struct json *tree, struct arena *arena)
{
    struct json *before =
        json_get(json_get_path(tree, "metadata.annotations"), ANNOTATION_REQUEUE_BEFORE);
    const int64_t count = json_get_int(json_get_path(tree, "spec.array"), "requeues", 0);
    struct json *both;

    if (count == 0)
        return before;
    both = json_array(arena);
    json_append(arena, both, json_int(arena, count));
    if (before != NULL)
        json_append(arena, both, before);
    return both;
}

/* The tasks of an array that are cancelled. */
static const struct json *
cancelled(const struct json *tree, struct arena *arena)
{
    struct json *value = json_get_path(tree, "spec.array.cancelled");
    const char *tasks = json_text(value);

    (void)arena;
    return tasks != NULL && tasks[0] != '\0' ? value : NULL;
}

/* The node's taints of a fence, or all others; NULL: none. */
static const struct json *
pick_taints(const struct json *tree, bool is_fence, struct arena *arena)
{
    const struct json *taints = json_get_path(tree, "spec.taints");
    struct json *picked = json_array(arena);

    for (uint32_t i = 0; i < json_count(taints); i++) {
        struct json *taint = json_at(taints, i);
        const char *key = json_get_text(taint, "key");

        if (key != NULL && (strcmp(key, TAINT_OUT_OF_SERVICE) == 0) == is_fence)
            json_append(arena, picked, taint);
    }
    return json_count(picked) > 0 ? picked : NULL;
}

static const struct json *
fenced(const struct json *tree, struct arena *arena)
{
    return pick_taints(tree, true, arena);
}

static const struct json *
tainted(const struct json *tree, struct arena *arena)
{
    return pick_taints(tree, false, arena);
}

/* `state` returns the state that the annotations are about, or NULL. */
static const struct signature {
    const struct kind *kind;
    const char *by;
    const char *at;
    const struct json *(*state)(const struct json *tree, struct arena *arena);
} signatures[] = {
    {&node_kind, PREFIX "cordoned-by", PREFIX "cordoned-at", unschedulable},
    {&node_kind, PREFIX "fenced-by", PREFIX "fenced-at", fenced},
    {&node_kind, PREFIX "tainted-by", PREFIX "tainted-at", tainted},
    {&job_kind, PREFIX "suspended-by", PREFIX "suspended-at", suspended},
    {&job_kind, ANNOTATION_REQUEUED_BY, PREFIX "requeued-at", requeued},
    {&job_kind, ANNOTATION_TASKS_CANCELLED, PREFIX "tasks-cancelled-at", cancelled},
};

/* Sets the value, whatever the request has; NULL removes the annotation. */
static void
set(struct request *q, struct json *tree, const char *name, const char *value)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    const char *is = json_get_text(json_get(meta, "annotations"), name);

    if (is == NULL ? value == NULL : value != NULL && strcmp(is, value) == 0)
        return; /* parts of the tree may be shared with the old tree */
    if (value != NULL)
        json_set_string(q->arena, json_make_object(q->arena, meta, "annotations"), name, value);
    else if (json_is(json_get(meta, "annotations"), JSON_OBJECT))
        json_remove(json_get(meta, "annotations"), name);
}

static const char *
annotation_of(const struct object *old_object, const char *name)
{
    return old_object != NULL ? string_map_find(&old_object->meta->annotations, name) : NULL;
}

static bool
is_same(const struct json *a, const struct json *b)
{
    return a == NULL || b == NULL ? a == b : json_equals(a, b);
}

static void
sign(struct request *q, struct json *tree, const struct object *old_object,
     const struct json *old_tree, const struct signature *s)
{
    const struct json *was = old_tree != NULL ? s->state(old_tree, q->arena) : NULL;
    const struct json *is = s->state(tree, q->arena);
    char now[TIME_TEXT_SIZE];

    if (is == NULL) {
        set(q, tree, s->by, NULL);
        set(q, tree, s->at, NULL);
    } else if (!is_same(was, is) && principal_is_person(q->principal)) {
        time_format(clock_real_us(q->server->clock), false, now);
        set(q, tree, s->by, q->principal->name);
        set(q, tree, s->at, now);
    } else {
        set(q, tree, s->by, annotation_of(old_object, s->by));
        set(q, tree, s->at, annotation_of(old_object, s->at));
    }
}

/* The value becomes the name of the principal who cancels. The first name stays:
 * nobody can say of another's cancellation that it was his own, and an operator's
 * is not taken back by the user.
 */
static void
sign_cancel(struct request *q, struct json *tree, const struct object *old_object)
{
    const char *before = annotation_of(old_object, ANNOTATION_CANCEL);
    const char *now = json_get_text(json_get_path(tree, "metadata.annotations"), ANNOTATION_CANCEL);

    if (!principal_is_person(q->principal))
        return;
    if (before == NULL && now != NULL)
        set(q, tree, ANNOTATION_CANCEL, q->principal->name);
    else if (before != NULL
             && (now != NULL
                 || (q->principal->type == PRINCIPAL_USER
                     && strcmp(before, q->principal->name) != 0)))
        set(q, tree, ANNOTATION_CANCEL, before);
}

static void
sign_all(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct json *old_tree = NULL;

    if (old_object != NULL)
        old_tree = request_old_tree(q, old_object);
    for (unsigned i = 0; i < ARRAY_SIZE(signatures); i++)
        if (signatures[i].kind == q->route.kind)
            sign(q, tree, old_object, old_tree, &signatures[i]);
}

/* Changes by the controller's own components leave the annotations unchanged.
 */
static bool
is_to_sign(const struct request *q)
{
    return q->principal->type != PRINCIPAL_SCHEDULER && q->principal->type != PRINCIPAL_LIFECYCLE;
}

bool
signature_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    if (!is_to_sign(q))
        return true;
    sign_all(q, tree, old_object);
    set(q, tree, ANNOTATION_DELETED_BY, annotation_of(old_object, ANNOTATION_DELETED_BY));
    return true;
}

bool
job_signature_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    if (!is_to_sign(q))
        return true;
    sign_all(q, tree, old_object);
    sign_cancel(q, tree, old_object);
    set(q, tree, ANNOTATION_DELETED_BY, annotation_of(old_object, ANNOTATION_DELETED_BY));
    return true;
}

void
signature_delete(struct request *q, struct json *meta)
{
    struct json *annotations;

    if (!q->server->profile->signs_changes || !principal_is_person(q->principal))
        return;
    annotations = json_get(meta, "annotations");
    annotations =
        json_is(annotations, JSON_OBJECT) ? json_dup(q->arena, annotations) : json_object(q->arena);
    json_set(q->arena, meta, "annotations", annotations);
    json_set_string(q->arena, annotations, ANNOTATION_DELETED_BY, q->principal->name);
}
