/* SPDX-License-Identifier: Apache-2.0 */
/* admission_member.c - what members of a namespace write there beside jobs:
 * ConfigMaps, Leases, Events and PodGroups, which record who created them; and
 * whether the names of members exist
 */
#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/access/account_names.h"
#include "controller/apiserver/access/membership.h"
#include "controller/apiserver/access/name_check.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

static const char *const signature[] = {ANNOTATION_UID, ANNOTATION_USER};

static void
sign(struct request *q, struct json *tree)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    struct json *annotations = json_make_object(q->arena, meta, "annotations");

    json_set_string(q->arena, annotations, ANNOTATION_UID,
                    arena_printf(q->arena, "%u", (unsigned)q->principal->uid));
    json_set_string(q->arena, annotations, ANNOTATION_USER, q->principal->name);
}

/* An object that nobody has signed stays so. */
static void
keep_signature(struct request *q, struct json *tree, const struct object *old_object)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");

    for (unsigned i = 0; i < ARRAY_SIZE(signature); i++) {
        const char *value = old_object != NULL
                                ? string_map_find(&old_object->meta->annotations, signature[i])
                                : NULL;

        if (value != NULL)
            json_set_string(q->arena, json_make_object(q->arena, meta, "annotations"), signature[i],
                            value);
        else if (json_is(json_get(meta, "annotations"), JSON_OBJECT))
            json_remove(json_get(meta, "annotations"), signature[i]);
    }
}

/* An agent signs for nobody: a user's own agent could make events that count for another user,
 * who would then lose his (store/expiry.c).
 */
bool
member_object_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    if (q->principal->type == PRINCIPAL_AGENT)
        keep_signature(q, tree, old_object);
    if (!principal_is_person(q->principal) || q->principal->type == PRINCIPAL_ADMINISTRATOR)
        return true;
    if (old_object == NULL)
        sign(q, tree);
    else
        keep_signature(q, tree, old_object);
    return true;
}

/* Finds the kind by its name without the group, as many readers of events do.
 */
static const struct kind *
find_kind(const char *name)
{
    for (unsigned i = 0; i < n_kinds; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

static const struct object *
find_told_of(struct request *q, const struct kind *kind, const struct json *reference)
{
    const char *name = json_get_text(reference, "name");

    if (name == NULL || kind == NULL || !(kind->flags & KIND_NAMESPACED))
        return NULL;
    return store_find(q->server->store, STORE_PENDING, kind_stored(kind), q->route.namespace, name);
}

static bool
refuse_event(struct request *q, const struct json *tree, const struct kind *kind,
             const struct json *reference, const char *whose)
{
    const char *name = json_get_text(reference, "name");

    reply_forbidden(&q->reply, q->route.kind, json_path_text(tree, "metadata.name"),
                    "EventOwner: %s '%s' is %s; you may create Events only "
                    "for your own objects",
                    kind->name, name != NULL ? name : "", whose);
    return false;
}

/* An agent writes events about its own node and the pods there. An update must
 * not take over an event about something else.
 */
static bool
is_agents_own(struct request *q, const struct kind *kind, const struct json *reference)
{
    const char *name = json_get_text(reference, "name");
    const struct kind_hooks *hooks = kind_hooks_find(kind);
    const struct object *object;

    if (name == NULL || !hooks->agents_tell)
        return false;
    if (hooks->is_on_node == NULL)
        return strcmp(name, q->principal->node) == 0;
    object = find_told_of(q, kind, reference);
    return object == NULL /* it has just been deleted */ || hooks->is_on_node(q, object);
}

static struct json *
reference_of(const struct request *q, const struct json *tree)
{
    return json_get(tree, kind_hooks_of_route(q)->subject);
}

static const struct kind *
kind_of(const struct json *reference)
{
    const char *name = json_get_text(reference, "kind");

    return name != NULL ? find_kind(name) : NULL;
}

/* An event is about one object, and not about a later one of its name, which may
 * be another user's.
 */
static bool
name_subject(struct request *q, const struct json *tree, const struct kind *kind,
             struct json *reference)
{
    const struct object *object = find_told_of(q, kind, reference);
    const char *uid = json_get_text(reference, "uid");

    if (kind == NULL || !(kind->flags & KIND_NAMESPACED) || (uid != NULL && uid[0] != '\0'))
        return true;
    if (object == NULL)
        return admission_refuse(
            q, tree, "EventOwner",
            arena_printf(q->arena, "there is no %s '%.80s', and the event names no uid", kind->name,
                         json_get_text(reference, "name") != NULL ? json_get_text(reference, "name")
                                                                  : ""));
    json_set_string(q->arena, reference, "uid", object->meta->uid);
    return true;
}

static bool
admit_agents_event(struct request *q, const struct json *tree, const struct object *old_object)
{
    struct json *now = reference_of(q, tree);
    const struct json *was =
        old_object != NULL ? reference_of(q, request_old_tree(q, old_object)) : now;

    if (!is_agents_own(q, kind_of(now), now) || !is_agents_own(q, kind_of(was), was))
        return admission_refuse(q, tree, "EventOwner",
                                "an agent may only write events about its own node and its pods");
    return name_subject(q, tree, kind_of(now), now);
}

/* Readers of events trust that those of a job or node come from the system or
 * the owner, so nobody else may write them.
 */
bool
event_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    struct json *reference = reference_of(q, tree);
    const struct kind *kind = kind_of(reference);
    const struct object *object;
    uid_t uid;

    if (q->principal->type == PRINCIPAL_AGENT)
        return admit_agents_event(q, tree, old_object);
    if (!principal_is_person(q->principal) || q->principal->type == PRINCIPAL_ADMINISTRATOR)
        return true;
    if (kind != NULL && !(kind->flags & KIND_NAMESPACED))
        return refuse_event(q, tree, kind, reference, "the cluster's");
    object = find_told_of(q, kind, reference);
    if (object != NULL && object_owner(object, &uid) && uid != q->principal->uid)
        return refuse_event(q, tree, kind, reference, "another user's");
    return name_subject(q, tree, kind, reference);
}

/* ---- Unknown members, of namespaces and priority classes ---- */

static void
check_names(struct request *q, const char *list, bool are_groups)
{
    char *rest = arena_strdup(q->arena, list);
    char *name;

    while ((name = strsep(&rest, ", ")) != NULL) {
        const bool is_group = are_groups || name[0] == '@';

        if (name[0] != '\0' && strcmp(name, "*") != 0)
            name_check_add(q, name[0] == '@' ? name + 1 : name, is_group);
    }
}

#define ACCOUNTS_TOLD 3u /* of those that do not exist */

/* The names of the namespaces replace how a site spells them, as in a Reservation. */
static void
take_accounts(struct request *q, struct json *notes, const char *list)
{
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;
    char *rest = arena_strdup(q->arena, list);
    unsigned n_told = 0;
    char *name;

    while ((name = strsep(&rest, ", ")) != NULL) {
        const char *found = account_names_find(q->server->store, name);

        if (name[0] == '\0')
            continue;
        if (found == NULL && strcmp(name, "*") != 0 && n_told++ < ACCOUNTS_TOLD)
            reply_warn(&q->reply, "there is no account '%.64s'", name);
        strbuf_printf(&names, "%s%s", names.length > 0 ? "," : "", found != NULL ? found : name);
    }
    json_set_string(q->arena, notes, ANNOTATION_ALLOWED_NAMESPACES,
                    arena_strdup(q->arena, names.length > 0 ? names.text : ""));
}

bool
known_members_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    static const struct {
        const struct kind *kind;
        const char *annotation;
        bool are_groups, are_accounts;
    } lists[] = {
        {&namespace_kind, ANNOTATION_MEMBERS, false, false},
        {&priority_class_kind, ANNOTATION_ALLOWED_USERS, false, false},
        {&priority_class_kind, ANNOTATION_ALLOWED_GROUPS, true, false},
        {&priority_class_kind, ANNOTATION_ALLOWED_NAMESPACES, false, true},
    };
    struct json *notes = json_get_path(tree, "metadata.annotations");

    if (!principal_is_person(q->principal) || q->route.subresource != SUBRESOURCE_NONE)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        const char *list = json_get_text(notes, lists[i].annotation);
        const char *was = old_object != NULL
                              ? string_map_find(&old_object->meta->annotations, lists[i].annotation)
                              : NULL;

        if (q->route.kind != lists[i].kind || list == NULL
            || (was != NULL && strcmp(was, list) == 0))
            continue;
        if (lists[i].are_accounts)
            take_accounts(q, notes, list);
        else
            check_names(q, list, lists[i].are_groups);
    }
    return true;
}
