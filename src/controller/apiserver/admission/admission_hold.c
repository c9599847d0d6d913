/* SPDX-License-Identifier: Apache-2.0 */
/* admission_hold.c - who holds a job, and who may release it
 *
 * A hold is the annotation kiln.hpc/hold of the Job. Whatever a request writes
 * there, the value becomes the name of the holder, and kiln.hpc/hold-at the
 * time. A user may release own holds, an operator all holds; an operator who
 * holds a job that its owner holds takes over the hold.
 *
 * Earlier releases held a Job by spec.suspend, with the name of an operator in
 * kiln.hpc/held-by. Stores still have such Jobs, and clients of Kubernetes
 * write spec.suspend. The name of an operator who suspends another user's Job
 * is recorded there, too, and the owner may not resume the Job.
 *
 * The annotation kiln.hpc/freeze suspends a running job. Operators write and
 * remove it; users may not, even on their own jobs, because a suspended job
 * keeps its cores and memory from others. Its value is the name of the
 * principal who asked first. The job controller copies it to the pods.
 */
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/objects/binding_check.h"
#include "controller/apiserver/objects/job_placement.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/api/job/job.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

static const char *
annotation_of(const struct object *object, const char *name)
{
    return object != NULL ? string_map_find(&object->meta->annotations, name) : NULL;
}

/* NULL removes the annotation. */
static void
set(struct request *q, struct json *tree, const char *name, const char *value)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    const char *is = json_get_text(json_get(meta, "annotations"), name);

    if (value != NULL && is != NULL && strcmp(is, value) == 0)
        return; /* parts of the tree may be shared with the old tree */
    if (value != NULL)
        json_set_string(q->arena, json_make_object(q->arena, meta, "annotations"), name, value);
    else if (json_get(json_get(meta, "annotations"), name) != NULL)
        json_remove(json_get(meta, "annotations"), name);
}

/* ---- spec.suspend ---- */

static bool
sets_suspend(const struct json *operations)
{
    for (uint32_t i = 0; i < json_count(operations); i++) {
        const char *path = json_get_text(json_at(operations, i), "path");

        if (path != NULL && strcmp(path, "/spec/suspend") == 0
            && json_is_true(json_get(json_at(operations, i), "value")))
            return true;
    }
    return false;
}

/* Whether the request itself sets spec.suspend: other changes of a held job are
 * not holds.
 */
static bool
asks_for_hold(const struct request *q)
{
    switch (q->format) {
    case BODY_MERGE_PATCH:
    case BODY_STRATEGIC_PATCH:
    case BODY_APPLY:
        return json_is_true(json_get_path(q->body, "spec.suspend"));
    case BODY_JSON_PATCH:
        return sets_suspend(q->body);
    default:
        return false;
    }
}

/* An operator who holds another user's job is recorded as the holder, also when
 * the owner holds it already. The operator's release then releases both.
 */
static void
sign_suspension(struct request *q, struct json *tree, const struct object *old_object)
{
    bool was_held = job_of(old_object)->spec.suspend;
    bool is_held = json_is_true(json_get_path(tree, "spec.suspend"));
    bool is_signed = string_map_find(&old_object->meta->annotations, ANNOTATION_HELD_BY) != NULL;
    struct json *meta = json_get(tree, "metadata");
    uid_t owner;

    if (!principal_is_person(q->principal) || !object_owner(old_object, &owner)
        || owner == q->principal->uid)
        return;
    if (is_held && (!was_held || (!is_signed && asks_for_hold(q))))
        json_set_string(q->arena, json_make_object(q->arena, meta, "annotations"),
                        ANNOTATION_HELD_BY, q->principal->name);
    else if (!is_held && json_get(meta, "annotations") != NULL)
        json_remove(json_get(meta, "annotations"), ANNOTATION_HELD_BY);
}

/* The owner cannot resume a job that an operator has suspended. */
static bool
admit_suspension(struct request *q, struct json *tree, const struct object *old_object)
{
    const char *now =
        json_get_text(json_get_path(tree, "metadata.annotations"), ANNOTATION_HELD_BY);
    const char *by = annotation_of(old_object, ANNOTATION_HELD_BY);
    bool is_held = json_is_true(json_get_path(tree, "spec.suspend"));

    if (old_object == NULL) {
        if (now != NULL && q->principal->type == PRINCIPAL_USER)
            set(q, tree, ANNOTATION_HELD_BY, NULL);
        return true;
    }
    if (q->principal->type != PRINCIPAL_USER) {
        sign_suspension(q, tree, old_object);
        return true;
    }
    if (by == NULL && now == NULL)
        return true;
    if (by != NULL && now != NULL && strcmp(by, now) == 0 && is_held)
        return true;
    return admission_refuse(q, tree, "HeldJob",
                            by != NULL ? arena_printf(
                                q->arena, "it is held by '%s'; only an operator can release it", by)
                                       : "only operators may set the name of a hold");
}

/* ---- The annotation kiln.hpc/hold ---- */

static void
sign(struct request *q, struct json *tree)
{
    char now[TIME_TEXT_SIZE];

    time_format(clock_real_us(q->server->clock), false, now);
    set(q, tree, ANNOTATION_HOLD, q->principal->name);
    set(q, tree, ANNOTATION_HOLD_AT, now);
}

/* A principal who writes another holder than the present one asks for a hold. A
 * user's request keeps the present hold; an operator's takes it over.
 */
static void
admit_hold(struct request *q, struct json *tree, const struct object *old_object)
{
    const char *was = annotation_of(old_object, ANNOTATION_HOLD);
    const char *now = json_get_text(json_get_path(tree, "metadata.annotations"), ANNOTATION_HOLD);

    if (was == NULL
        || (q->principal->type != PRINCIPAL_USER && strcmp(was, now) != 0
            && strcmp(was, q->principal->name) != 0)) {
        sign(q, tree);
        return;
    }
    set(q, tree, ANNOTATION_HOLD, was);
    set(q, tree, ANNOTATION_HOLD_AT, annotation_of(old_object, ANNOTATION_HOLD_AT));
}

static bool
admit_release(struct request *q, struct json *tree, const struct object *old_object)
{
    const char *was = annotation_of(old_object, ANNOTATION_HOLD);

    set(q, tree, ANNOTATION_HOLD_AT, NULL);
    if (was == NULL || q->principal->type != PRINCIPAL_USER || strcmp(was, q->principal->name) == 0)
        return true;
    return admission_refuse(
        q, tree, "HeldJob",
        arena_printf(q->arena, "it is held by '%s'; only an operator can release it", was));
}

bool
held_job_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct json *now = json_get(json_get_path(tree, "metadata.annotations"), ANNOTATION_HOLD);

    if (!admit_suspension(q, tree, old_object))
        return false;
    if (!principal_is_person(q->principal))
        return true;
    if (now == NULL)
        return admit_release(q, tree, old_object);
    if (old_object != NULL && job_is_finished(job_of(old_object))
        && annotation_of(old_object, ANNOTATION_HOLD) == NULL)
        return admission_refuse(q, tree, "HeldJob",
                                "it has ended already; there is nothing left "
                                "to hold");
    admit_hold(q, tree, old_object);
    return true;
}

/* ---- The annotation kiln.hpc/freeze ---- */

static bool
check_agents(struct request *q, const struct json *tree, const struct object *job)
{
    const struct job_placement p = job_placement_find(q->server, job, NODE_FEATURE_FREEZE);

    if (p.old_agent == NULL)
        return true;
    return admission_refuse(q, tree, "Freeze",
                            arena_printf(q->arena,
                                         "the agent of node %s is of an earlier release, and "
                                         "cannot suspend a job until it is upgraded",
                                         p.old_agent));
}

static bool
sign_freeze(struct request *q, struct json *tree, const struct object *old_object, const char *was)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    struct json *notes = json_make_object(q->arena, meta, "annotations");

    if (old_object != NULL && was == NULL && !check_agents(q, tree, old_object))
        return false;
    json_set_string(q->arena, notes, ANNOTATION_FREEZE, was != NULL ? was : q->principal->name);
    return true;
}

bool
freeze_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct json *now =
        json_get(json_get_path(tree, "metadata.annotations"), ANNOTATION_FREEZE);
    const char *was = old_object != NULL ? job_find_freezer(job_of(old_object)) : NULL;
    const char *text = json_text(now);

    if (!principal_is_person(q->principal)
        || (now == NULL && (was == NULL || job_is_finished(job_of(old_object))))
        || (text != NULL && was != NULL && strcmp(text, was) == 0))
        return true;
    if (q->principal->type == PRINCIPAL_USER)
        return admission_refuse(q, tree, "Freeze",
                                "only operators and administrators suspend "
                                "and resume jobs; 'kctl hold' keeps waiting "
                                "jobs from starting");
    return now == NULL || sign_freeze(q, tree, old_object, was);
}

/* ---- Yielding cores to others ---- */

/* A pod that yielded gets its cores back only if no other pod has them by now,
 * as for a binding. This check is ordered with the bindings.
 */
bool
yield_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    struct json *notes = json_get_path(tree, "metadata.annotations");
    const bool is_to_yield = json_get(notes, ANNOTATION_YIELD) != NULL;
    const bool was_to_yield = old_object != NULL && pod_find_yield(pod_of(old_object)) != NULL;
    struct error err = {0};

    if (old_object == NULL && is_to_yield)
        json_remove(notes, ANNOTATION_YIELD);
    if (!was_to_yield || is_to_yield || binding_check_may_resume(q, old_object, &err) == 0)
        return true;
    reply_conflict(&q->reply, &pod_kind, "", old_object->meta->name, "it cannot resume yet: %s",
                   err.text);
    return false;
}
