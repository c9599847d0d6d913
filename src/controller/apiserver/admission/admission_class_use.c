/* SPDX-License-Identifier: Apache-2.0 */
/* admission_class_use.c - only users whom a higher priority class allows may
 * use it
 *
 * Everybody may use classes at or below the value of pods without a class. The
 * annotations of a higher class say who may use it: users, groups, or everybody
 * in some namespaces. The rule checks only requests of users that set the
 * class, and notes in the object which class that was: the right to it is
 * checked again when a pod would start (start_rights.h).
 */
#include <string.h>

#include "controller/apiserver/access/membership.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/priority_class.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define MOST_NAMED 20u

static bool
first(const struct object *object, void *context)
{
    *(const struct object **)context = object;
    return false;
}

/* The priority of a pod without a class. */
static int64_t
default_value(struct request *q)
{
    const struct object *class = NULL;

    store_visit_index(q->server->store, &priority_class_kind, PRIORITY_CLASS_BY_DEFAULT,
                      STORE_PENDING, "default", first, &class);
    return class != NULL ? priority_class_of(class)->value : 0;
}

static bool
lists(const char *names, const char *wanted)
{
    CLEANUP_FREE char *copy = xstrdup(names != NULL ? names : "");
    char *rest = copy;
    char *name;

    while ((name = strsep(&rest, ", ")) != NULL)
        if (strcmp(name, "*") == 0
            || (wanted != NULL && name[0] != '\0' && strcmp(name, wanted) == 0))
            return true;
    return false;
}

static bool
may_use(struct request *q, const struct object *class, int64_t limit)
{
    return priority_class_of(class)->value <= limit
           || lists(string_map_find(&class->meta->annotations, ANNOTATION_ALLOWED_NAMESPACES),
                    q->route.namespace)
           || membership_has(q->server->class_users, class->meta->name, q->principal);
}

struct allowed {
    struct request *q;
    int64_t limit;
    unsigned count;
    struct strbuf names;
};

static bool
add_allowed(const struct object *class, void *context)
{
    struct allowed *a = context;

    if (may_use(a->q, class, a->limit))
        strbuf_printf(&a->names, "%s%s", a->count++ > 0 ? ", " : "", class->meta->name);
    return a->count < MOST_NAMED;
}

static bool
refuse(struct request *q, const struct json *tree, const char *class, int64_t limit)
{
    struct allowed a = {.q = q, .limit = limit, .names = STRBUF_INIT};

    store_list(q->server->store, &priority_class_kind, NULL, NULL, 0, add_allowed, &a);
    reply_forbidden(&q->reply, q->route.kind, json_path_text(tree, "metadata.name"),
                    "PriorityClassUse: the priority class '%s' is for others; in namespace '%s' %s "
                    "may use %s%s (an administrator can allow it in the class's "
                    "annotations kiln.hpc/allowed-users, -groups and "
                    "-namespaces)",
                    class, q->route.namespace, q->principal->name,
                    a.count > 0 ? a.names.text : "no class: leave it out",
                    a.count == MOST_NAMED ? ", ..., or no class at all"
                    : a.count > 0         ? ", or no class at all"
                                          : "");
    strbuf_fini(&a.names);
    return false;
}

/* The Job as before keeps its class. An update of its owner that takes away the
 * mark is admitted again.
 */
static bool
is_as_before(struct request *q, struct json *tree, const char *name, const struct object *old)
{
    const char *before =
        old != NULL ? json_get_text(admission_old_pod_spec(q, old), "priorityClassName") : NULL;

    return before != NULL && strcmp(name, before) == 0
           && admission_keep_uids(q, tree, ANNOTATION_CLASS_UID, old);
}

bool
class_use_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const char *name = json_get_text(admission_pod_spec(q, tree), "priorityClassName");
    bool is_user = q->principal->type == PRINCIPAL_USER;
    const struct object *class;
    int64_t limit;

    if (!principal_is_person(q->principal) || q->route.subresource != SUBRESOURCE_NONE)
        return true;
    if (name == NULL) {
        admission_note_uids(q, tree, ANNOTATION_CLASS_UID, NULL);
        return true;
    }
    if (is_as_before(q, tree, name, old_object))
        return true;
    class = store_find(q->server->store, STORE_PENDING, &priority_class_kind, NULL, name);
    limit = default_value(q);
    if (class == NULL) /* the rule Priority refuses an unknown class */
        return true;
    if (is_user && !may_use(q, class, limit))
        return refuse(q, tree, name, limit);
    admission_note_uids(
        q, tree, ANNOTATION_CLASS_UID,
        arena_printf(q->arena, "%s%s", class->meta->uid, is_user ? "" : ADMITTED_BY_ADMINISTRATOR));
    return true;
}

/* Scripts for Slurm ask for a QOS, which is a priority class here. One of another
 * name has no effect, for it may be a site's before it came to Kiln.
 */
bool
qos_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const char *qos = json_get_text(json_get_path(tree, "metadata.annotations"), ANNOTATION_QOS);
    struct json *spec = json_get_path(tree, "spec.template.spec");

    if (old_object != NULL || qos == NULL || !json_is(spec, JSON_OBJECT)
        || json_get(spec, "priorityClassName") != NULL || json_get(spec, "priority") != NULL)
        return true;
    if (store_find(q->server->store, STORE_PENDING, &priority_class_kind, NULL, qos) != NULL)
        json_set_string(q->arena, spec, "priorityClassName", qos);
    else if (strcmp(qos, "normal") != 0)
        reply_warn(&q->reply, "there is no priority class '%.64s', so --qos has no effect", qos);
    return true;
}

/* For a pod, whose priority stays as well. */
bool
class_mark_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    if (principal_is_person(q->principal) && q->route.subresource == SUBRESOURCE_NONE)
        admission_note_uids(q, tree, ANNOTATION_CLASS_UID,
                            string_map_find(&old_object->meta->annotations, ANNOTATION_CLASS_UID));
    return true;
}

bool
preemption_mode_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const char *mode =
        json_get_text(json_get_path(tree, "metadata.annotations"), ANNOTATION_PREEMPTION_MODE);

    (void)old_object;
    if (mode == NULL || strcmp(mode, "Off") == 0 || strcmp(mode, "Cancel") == 0
        || strcmp(mode, "Requeue") == 0 || strcmp(mode, "Suspend") == 0)
        return true;
    return admission_refuse(q, tree, "PreemptionMode",
                            "metadata.annotations '" ANNOTATION_PREEMPTION_MODE
                            "' must be Off, Cancel, Requeue or Suspend: what happens to jobs of "
                            "this class when other jobs need their resources");
}
