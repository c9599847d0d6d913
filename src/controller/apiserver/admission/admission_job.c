/* SPDX-License-Identifier: Apache-2.0 */
/* admission_job.c - users may not write what ties jobs to their numbers and
 * pods to their jobs: a user who passed for another's job or pod would receive
 * what belongs to it
 */
#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/value/job_mail.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

#define NUMBERED "job-"

/* Reserved annotations that other rules admit or sign. */
static const char *const annotations_of_other_rules[] = {
    ANNOTATION_ACCOUNT,       ANNOTATION_CLASS_UID,
    ANNOTATION_PARTITION_UID, ANNOTATION_RESERVATION_UID,
    ANNOTATION_DEFAULTED,     ANNOTATION_DELETED_BY,
    ANNOTATION_ELIGIBLE_AT,   ANNOTATION_REPELS,
    ANNOTATION_UID,           ANNOTATION_USER,
};

static bool
is_bound_by_rules(const struct request *q)
{
    return principal_is_person(q->principal) && q->principal->type != PRINCIPAL_ADMINISTRATOR;
}

/* The length of "job-1042" at the start of the name, or 0. */
static size_t
numbered_length(const char *name)
{
    size_t prefix = strlen(NUMBERED);
    size_t digits;

    if (strncmp(name, NUMBERED, prefix) != 0)
        return 0;
    digits = strspn(name + prefix, "0123456789");
    return digits > 0 ? prefix + digits : 0;
}

/* Whether objects of this kind may be looked up by a name that begins with a
 * job's, as pods and their claims. Events are named after their subject.
 */
static bool
has_derived_names(const struct kind *kind)
{
    return kind->flags & KIND_NAMESPACED && !(kind->flags & KIND_TRANSIENT);
}

/* A name that begins as the generated one will: for a job with its number, for
 * others with letters and digits that may look like a job's name.
 */
static const char *
generated_name(struct request *q, const char *prefix)
{
    if (kind_hooks_find(q->route.kind)->is_numbered)
        return arena_printf(q->arena, "%s%" PRId64, prefix, q->job_id);
    if (strcmp(prefix, NUMBERED) == 0)
        return NUMBERED "0";
    return prefix;
}

static bool
check_derived(struct request *q, const char *name)
{
    const struct kind_hooks *hooks = kind_hooks_find(q->route.kind);
    struct name_claim claim;

    if (hooks->find_claim == NULL || !hooks->find_claim(q, name, &claim))
        return true;
    if (claim.begins_so)
        reply_forbidden(&q->reply, q->route.kind, name,
                        "JobName: names that begin with '%s-' and a number belong "
                        "to the %s of %s '%s' of another user; choose another name",
                        claim.by->meta->name, claim.what, claim.by->kind->singular,
                        claim.by->meta->name);
    else
        reply_forbidden(&q->reply, q->route.kind, name,
                        "JobName: this name belongs to the %s of %s '%s' of another user; "
                        "choose another name",
                        claim.what, claim.by->kind->name, claim.by->meta->name);
    return false;
}

/* "job-1042" may only be job 1042, because users look it up by that number. */
bool
job_name_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const char *prefix = json_path_text(tree, "metadata.generateName");
    const char *name = json_path_text(tree, "metadata.name");
    const char *own = arena_printf(q->arena, "%s%" PRId64, NUMBERED, q->job_id);
    size_t length;

    (void)old_object;
    if (!is_bound_by_rules(q) || !has_derived_names(q->route.kind))
        return true;
    if (name == NULL || name[0] == '\0') {
        if (prefix == NULL)
            return true;
        name = generated_name(q, prefix);
    }
    length = numbered_length(name);
    if (length == 0 || (kind_hooks_find(q->route.kind)->is_numbered && strcmp(name, own) == 0)
        || (name[length] != '\0' && name[length] != '-'))
        return check_derived(q, name);
    reply_forbidden(&q->reply, q->route.kind, name,
                    "JobName: names that begin with '%.*s' belong to the job "
                    "of that number, its pods and their objects; choose "
                    "another name, or use generateName '" NUMBERED "' for a job",
                    (int)length, name);
    return false;
}

static bool
is_of_another_rule(const char *map, const char *name)
{
    if (strcmp(map, "labels") == 0)
        return strcmp(name, LABEL_USER) == 0;
    for (size_t i = 0; i < ARRAY_SIZE(annotations_of_other_rules); i++)
        if (strcmp(annotations_of_other_rules[i], name) == 0)
            return true;
    return false;
}

/* Whether every reserved member of the map is in the other map as well. */
static bool
has_reserved(struct request *q, const struct json *meta, const char *map, const struct json *in,
             const struct json *also_in)
{
    for (uint32_t i = 0; json_is(in, JSON_OBJECT) && i < json_count(in); i++) {
        const char *name = in->members[i].name;
        const char *a = json_get_text(in, name);
        const char *b = json_get_text(also_in, name);

        if (!meta_is_reserved(name) || is_of_another_rule(map, name) || a == b
            || (a != NULL && b != NULL && strcmp(a, b) == 0))
            continue;
        reply_forbidden(&q->reply, q->route.kind, json_get_text(meta, "name"),
                        "JobPod: metadata.%s '%.80s' is set only by Kiln itself; submit a Job "
                        "instead of its pods",
                        map, name);
        return false;
    }
    return true;
}

static bool
keeps_reserved(struct request *q, const struct json *meta, const struct json *old_meta,
               const char *map)
{
    const struct json *now = json_get(meta, map);
    const struct json *before = json_get(old_meta, map);

    return has_reserved(q, meta, map, now, before) && has_reserved(q, meta, map, before, now);
}

static bool
names_job(const struct json *owners)
{
    for (uint32_t i = 0; i < json_count(owners); i++) {
        const char *kind = json_get_text(json_at(owners, i), "kind");

        if (kind != NULL && strcmp(kind, job_kind.name) == 0)
            return true;
    }
    return false;
}

/* A pod of a job runs the job's script with its environment, and counts for the
 * job. Only the job controller decides which pods those are.
 */
bool
job_pod_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct json *meta = json_get(tree, "metadata");
    const struct json *owners = json_get(meta, "ownerReferences");
    const struct json *old_meta = NULL, *old_owners = NULL;

    if (!is_bound_by_rules(q))
        return true;
    if (old_object != NULL) {
        old_meta = json_get(request_old_tree(q, old_object), "metadata");
        old_owners = json_get(old_meta, "ownerReferences");
    }
    if ((names_job(owners) || names_job(old_owners))
        && (owners == NULL || old_owners == NULL || !json_equals(owners, old_owners))) {
        reply_forbidden(&q->reply, q->route.kind, json_get_text(meta, "name"),
                        "JobPod: metadata.ownerReferences: only the job "
                        "controller creates pods of a Job");
        return false;
    }
    return keeps_reserved(q, meta, old_meta, "annotations")
           && keeps_reserved(q, meta, old_meta, "labels");
}

/* ---- Mail ---- */

bool
mail_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct json *annotations = json_get_path(tree, "metadata.annotations");
    const char *types = json_get_text(annotations, ANNOTATION_MAIL_TYPE);
    const char *user = json_get_text(annotations, ANNOTATION_MAIL_USER);
    const char *before = old_object != NULL
                             ? string_map_find(&old_object->meta->annotations, ANNOTATION_MAIL_TYPE)
                             : NULL;
    struct error err = {0};
    unsigned events = 0;

    if (types != NULL && job_mail_parse(types, &events, &err) < 0)
        return admission_refuse(q, tree, "Mail",
                                arena_printf(q->arena, ANNOTATION_MAIL_TYPE ": %s", err.text));
    if (user != NULL && job_mail_check_addresses(user, &err) < 0)
        return admission_refuse(q, tree, "Mail",
                                arena_printf(q->arena, ANNOTATION_MAIL_USER ": %s", err.text));
    if (events != 0 && !text_equals(types, before) && !q->server->policy->sends_mail)
        reply_warn(&q->reply,
                   "this cluster sends no mail (mailProgram of kiln-controller.yaml), so "
                   "--mail-type has no effect");
    return true;
}
