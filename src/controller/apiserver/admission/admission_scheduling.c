/* SPDX-License-Identifier: Apache-2.0 */
/* admission_scheduling.c - what the scheduler relies on in pods and nodes:
 * priorities from classes, and upstream's default tolerations and taints
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/priority_class.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

#define TOLERATION_SECONDS 300

static bool
first(const struct object *object, void *context)
{
    *(const struct object **)context = object;
    return false;
}

static const struct object *
find_default_class(struct request *q)
{
    const struct object *object = NULL;

    store_visit_index(q->server->store, &priority_class_kind, PRIORITY_CLASS_BY_DEFAULT,
                      STORE_PENDING, "default", first, &object);
    return object;
}

static bool
find_class(struct request *q, const struct json *tree, struct json *spec,
           const struct object **ret_class)
{
    const char *name = json_get_text(spec, "priorityClassName");

    if (name == NULL) {
        *ret_class = find_default_class(q);
        return true;
    }
    *ret_class = store_find(q->server->store, STORE_PENDING, &priority_class_kind, NULL, name);
    if (*ret_class != NULL)
        return true;
    reply_forbidden(&q->reply, q->route.kind, json_path_text(tree, "metadata.name"),
                    "no PriorityClass with name %s was found", name);
    return false;
}

/* An update that leaves out values from the creation keeps them. */
static void
keep_decided(struct request *q, struct json *tree, const struct object *old_object)
{
    static const char *const names[] = {"priority", "preemptionPolicy"};
    struct json *spec = json_make_object(q->arena, tree, "spec");
    const struct json *old = json_get(request_old_tree(q, old_object), "spec");

    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        const struct json *before = json_get(old, names[i]);
        const struct json *given = json_get(spec, names[i]);

        if (before != NULL && (given == NULL || json_is(given, JSON_NULL)))
            json_set(q->arena, spec, names[i], json_dup(q->arena, before));
    }
}

bool
priority_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    struct json *spec = json_make_object(q->arena, tree, "spec");
    const struct object *object;
    const char *policy = "PreemptLowerPriority";
    const char *given;
    int64_t value = 0;

    if (old_object != NULL && !q->is_update_admitted) {
        if (q->route.subresource == SUBRESOURCE_NONE)
            keep_decided(q, tree, old_object);
        return true;
    }
    if (old_object != NULL && json_get_path(tree, "spec.nodeName") != NULL)
        return true;
    if (!find_class(q, tree, spec, &object))
        return false;
    if (object != NULL) {
        const struct priority_class *class = priority_class_of(object);

        value = class->value;
        if (class->preemption_policy != NULL)
            policy = class->preemption_policy;
        json_set_string(q->arena, spec, "priorityClassName", object->meta->name);
    }
    if (q->principal->type == PRINCIPAL_LIFECYCLE)
        value = json_get_int(spec, "priority", value); /* as its Job has */
    if (json_get(spec, "priority") != NULL && json_get_int(spec, "priority", 0) != value) {
        reply_forbidden(&q->reply, q->route.kind, json_path_text(tree, "metadata.name"),
                        "the integer value of priority (%" PRId64
                        ") must not be provided in pod spec; priority "
                        "admission controller computed %" PRId64
                        " from the given PriorityClass name",
                        json_get_int(spec, "priority", 0), value);
        return false;
    }
    json_set_int(q->arena, spec, "priority", value);
    given = json_get_text(spec, "preemptionPolicy");
    if (given == NULL || q->principal->type == PRINCIPAL_LIFECYCLE) {
        if (given == NULL)
            json_set_string(q->arena, spec, "preemptionPolicy", policy);
        return true;
    }
    if (strcmp(given, policy) == 0)
        return true;
    reply_forbidden(&q->reply, q->route.kind, json_path_text(tree, "metadata.name"),
                    "the string value of PreemptionPolicy (%s) must not be "
                    "provided in pod spec; priority admission controller "
                    "computed %s from the given PriorityClass name",
                    given, policy);
    return false;
}

static bool
is_same(const struct json *a, const struct json *b)
{
    return a == b || (a != NULL && b != NULL && json_equals(a, b));
}

static bool
refuse_job(struct request *q, const struct json *tree, const char *why)
{
    reply_forbidden(&q->reply, q->route.kind, json_path_text(tree, "metadata.name"), "Priority: %s",
                    why);
    return false;
}

/* Whether a user may set this number: it is at most that of the class, and not
 * above a previous number, which an operator may have given. Without a number,
 * that of the class counts.
 */
static bool
is_number_of_users(const struct json *spec, const struct json *old, int64_t value)
{
    const struct json *before = json_get(old, "priority");
    int64_t number = json_get_int(spec, "priority", value);

    if (json_get(spec, "priority") == NULL)
        return before == NULL || value <= json_get_int(old, "priority", value);
    return number <= value && (before == NULL || number <= json_get_int(old, "priority", 0));
}

/* The class decides which pods a pod preempts, as for pods without a Job. */
static bool
preempts_as_class(struct request *q, const struct json *tree, const struct json *spec,
                  const struct object *class)
{
    const char *given = json_get_text(spec, "preemptionPolicy");
    const char *policy = class != NULL ? priority_class_of(class)->preemption_policy : NULL;

    if (policy == NULL)
        policy = "PreemptLowerPriority";
    return given == NULL || strcmp(given, policy) == 0
           || refuse_job(q, tree,
                         arena_printf(q->arena,
                                      "preemptionPolicy '%s' does not match "
                                      "that of the priority class, '%s'; "
                                      "leave it out",
                                      given, policy));
}

/* ---- Nice values ---- */

#define MOST_NICE INT64_C(2147483645) /* as in Slurm */

/* The text of the annotation; NULL is 0. */
static bool
parse_nice(const char *text, int64_t *ret_nice)
{
    char *end = NULL;

    *ret_nice = text != NULL ? strtoll(text, &end, 10) : 0;
    return text == NULL
           || (end != text && *end == '\0' && *ret_nice >= -MOST_NICE && *ret_nice <= MOST_NICE);
}

/* The number of a class, lowered by a nice value. */
static int64_t
lowered(int64_t value, int64_t nice)
{
    const int64_t number = value - nice;

    return number < INT32_MIN ? INT32_MIN : number > INT32_MAX ? INT32_MAX : number;
}

static int64_t
class_value(struct request *q, const struct json *spec)
{
    const char *name = json_get_text(spec, "priorityClassName");
    const struct object *class =
        name != NULL ? store_find(q->server->store, STORE_PENDING, &priority_class_kind, NULL, name)
                     : find_default_class(q);

    return class != NULL ? priority_class_of(class)->value : 0;
}

/* Whether the number is the class's and the nice value's, so that nobody has given another one. */
static bool
is_by_nice(const struct json *spec, int64_t value, int64_t nice)
{
    return json_get_int(spec, "priority", value) == lowered(value, nice);
}

/* By nice values a user lowers the number, and takes that back, unless an operator
 * has given a number in between. *ret_settled: nothing else has to be asked.
 */
static bool
admit_nice(struct request *q, const struct json *tree, const struct json *spec, int64_t nice,
           const struct json *old, int64_t was, bool *ret_settled)
{
    const int64_t value = class_value(q, spec);
    const bool is_consistent =
        is_by_nice(spec, value, nice) && (old == NULL || is_by_nice(old, class_value(q, old), was));

    *ret_settled = is_consistent && (nice != 0 || was != 0);
    if (nice < 0 && nice != was)
        return refuse_job(q, tree, "only operators can set a negative nice value");
    return is_consistent || nice == was || nice == 0 /* another number replaces it */
           || refuse_job(q, tree,
                         "the nice value does not change a priority number that was given to the "
                         "job itself; operators can change the number");
}

/* ---- Jobs ---- */

/* Only operators may give a Job a higher number of its own. Users have the
 * classes, and may set a lower number. An unknown class is refused at once,
 * because the Job's pods could never be created.
 */
bool
job_priority_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    struct json *spec = admission_pod_spec(q, tree);
    const struct json *old = old_object != NULL ? admission_old_pod_spec(q, old_object) : NULL;
    const struct object *class;
    int64_t nice, was = 0;
    bool is_settled = false;

    if (!parse_nice(json_get_text(json_get_path(tree, "metadata.annotations"), ANNOTATION_NICE),
                    &nice))
        return refuse_job(q, tree,
                          "annotation " ANNOTATION_NICE
                          ": expected a number from -2147483645 to 2147483645");
    if (old_object != NULL)
        (void)parse_nice(string_map_find(&old_object->meta->annotations, ANNOTATION_NICE), &was);
    if (nice != 0 && json_get(spec, "priority") == NULL)
        json_set_int(q->arena, spec, "priority", lowered(class_value(q, spec), nice));
    if (nice == was && is_same(json_get(spec, "priority"), json_get(old, "priority"))
        && is_same(json_get(spec, "priorityClassName"), json_get(old, "priorityClassName"))
        && is_same(json_get(spec, "preemptionPolicy"), json_get(old, "preemptionPolicy")))
        return true;
    if (!find_class(q, tree, spec, &class) || !preempts_as_class(q, tree, spec, class))
        return false;
    if (q->principal->type == PRINCIPAL_USER
        && !admit_nice(q, tree, spec, nice, old, was, &is_settled))
        return false;
    if (is_settled || q->principal->type != PRINCIPAL_USER
        || is_number_of_users(spec, old, class != NULL ? priority_class_of(class)->value : 0))
        return true;
    return refuse_job(q, tree,
                      "only operators can set a higher number; lower it, or "
                      "choose a class (kctl get priorityclasses), or none");
}

/* There is at most one default class. The system's classes cannot be deleted.
 */
bool
default_class_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct object *other;

    if (tree == NULL) {
        if (strncmp(old_object->meta->name, "system-", 7) != 0)
            return true;
        reply_forbidden(&q->reply, q->route.kind, q->route.name,
                        "this is a system priority class and cannot be "
                        "deleted");
        return false;
    }
    if (!json_is_true(json_get(tree, "globalDefault")))
        return true;
    other = find_default_class(q);
    if (other == NULL
        || (old_object != NULL && strcmp(other->meta->name, old_object->meta->name) == 0))
        return true;
    reply_forbidden(&q->reply, q->route.kind, json_path_text(tree, "metadata.name"),
                    "PriorityClass %s is already marked as default. Only one "
                    "default can exist",
                    other->meta->name);
    return false;
}

/* Users' jobs may not use the classes of system components. */
bool
system_class_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const char *name = json_get_text(admission_pod_spec(q, tree), "priorityClassName");

    (void)old_object;
    if (name == NULL || strncmp(name, "system-", 7) != 0 || !principal_is_person(q->principal)
        || q->principal->type == PRINCIPAL_ADMINISTRATOR)
        return true;
    reply_forbidden(&q->reply, q->route.kind, json_path_text(tree, "metadata.name"),
                    "SystemPriority: the priority class '%s' is for "
                    "administrators",
                    name);
    return false;
}

static bool
tolerates(const struct json *tolerations, const char *key)
{
    for (uint32_t i = 0; i < json_count(tolerations); i++) {
        const struct json *t = json_at(tolerations, i);
        const char *k = json_get_text(t, "key");
        const char *effect = json_get_text(t, "effect");

        if ((k == NULL || k[0] == '\0' || strcmp(k, key) == 0)
            && (effect == NULL || effect[0] == '\0' || strcmp(effect, "NoExecute") == 0))
            return true;
    }
    return false;
}

bool
default_tolerations_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    static const char *const keys[] = {TAINT_NOT_READY, TAINT_UNREACHABLE};
    struct json *spec = json_make_object(q->arena, tree, "spec");
    struct json *list = json_get(spec, "tolerations");

    if (old_object != NULL && q->route.subresource != SUBRESOURCE_NONE)
        return true;
    for (unsigned i = 0; i < ARRAY_SIZE(keys); i++) {
        struct json *t;

        if (tolerates(list, keys[i]))
            continue;
        if (!json_is(list, JSON_ARRAY)) {
            list = json_array(q->arena);
            json_set(q->arena, spec, "tolerations", list);
        }
        t = json_object(q->arena);
        json_set_string(q->arena, t, "key", keys[i]);
        json_set_string(q->arena, t, "operator", "Exists");
        json_set_string(q->arena, t, "effect", "NoExecute");
        json_set_int(q->arena, t, "tolerationSeconds", TOLERATION_SECONDS);
        json_append(q->arena, list, t);
    }
    return true;
}

/* A new node takes no pods until it reports that it is ready. */
bool
taint_new_node_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    struct json *spec = json_make_object(q->arena, tree, "spec");
    struct json *taints = json_get(spec, "taints");
    struct json *taint;

    (void)old_object;
    for (uint32_t i = 0; i < json_count(taints); i++) {
        const struct json *t = json_at(taints, i);
        const char *key = json_get_text(t, "key");
        const char *effect = json_get_text(t, "effect");

        if (key != NULL && strcmp(key, TAINT_NOT_READY) == 0 && effect != NULL
            && strcmp(effect, "NoSchedule") == 0)
            return true;
    }
    if (!json_is(taints, JSON_ARRAY)) {
        taints = json_array(q->arena);
        json_set(q->arena, spec, "taints", taints);
    }
    taint = json_object(q->arena);
    json_set_string(q->arena, taint, "key", TAINT_NOT_READY);
    json_set_string(q->arena, taint, "effect", "NoSchedule");
    json_append(q->arena, taints, taint);
    return true;
}

/* Only the binding sets the allocation: a status without it keeps it, a status
 * with another is refused.
 */
bool
allocation_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    struct json *status = json_get(tree, "status");
    struct json *given = json_get(status, "allocation");
    const struct json *kept;

    if (q->route.subresource != SUBRESOURCE_STATUS)
        return true;
    kept = json_get_path(request_old_tree(q, old_object), "status.allocation");
    if (given == NULL && kept != NULL)
        json_set(q->arena, json_make_object(q->arena, tree, "status"), "allocation",
                 json_dup(q->arena, kept));
    if (given == NULL || (kept != NULL && json_equals(given, kept)))
        return true;
    reply_forbidden(&q->reply, q->route.kind, q->route.name,
                    "status.allocation is set only by the binding");
    return false;
}

/* The end of a pod is final: the agent of a node that returns after it was
 * fenced cannot change a pod that was given up and may run elsewhere by now.
 */
bool
finished_pod_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct pod *pod = pod_of(old_object);
    const char *phase = json_path_text(tree, "status.phase");

    if (q->route.subresource != SUBRESOURCE_STATUS || !pod_is_finished(pod)
        || (phase != NULL && strcmp(phase, pod->status.phase) == 0))
        return true;
    reply_conflict(&q->reply, q->route.kind, "", q->route.name,
                   "the pod has ended as %s%s%s, and cannot change that", pod->status.phase,
                   pod->status.reason != NULL ? ": " : "",
                   pod->status.reason != NULL ? pod->status.reason : "");
    return false;
}
