/* SPDX-License-Identifier: Apache-2.0 */
/* admission_job.c - users may not write what ties jobs to their numbers and
 * pods to their jobs: a user who passed for another's job or pod would receive
 * what belongs to it
 */
#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

#define NUMBERED "job-"

/* Annotations by which the job controller passes facts to agents in the pods
 * that it creates.
 */
static const char *const tied_annotations[] = {
    ANNOTATION_ARRAY_TASK, ANNOTATION_ATTEMPT,        ANNOTATION_ENVIRONMENT,   ANNOTATION_FREEZE,
    ANNOTATION_HOLD,       ANNOTATION_INDEX_FAILURES, ANNOTATION_INDEX_IGNORED, ANNOTATION_JOB_ID,
    ANNOTATION_SCRIPT,     ANNOTATION_REQUEUE_BEFORE, ANNOTATION_SURPLUS,       ANNOTATION_UPDATE,
    ANNOTATION_YIELD,
};

static const char *const tied_labels[] = {
    LABEL_JOB_NAME,
    LABEL_JOB_UID,
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
    if (q->route.kind == &job_kind)
        return arena_printf(q->arena, "%s%" PRId64, prefix, q->job_id);
    if (strcmp(prefix, NUMBERED) == 0)
        return NUMBERED "0";
    return prefix;
}

/* Another user's CronJob, if one of its Jobs could have this name. */
static const struct object *
find_recurring(struct request *q, const char *name)
{
    const char *dash = strrchr(name, '-');
    const struct object *cron_job;
    uid_t uid;

    if (dash == NULL || dash[1] == '\0' || strspn(dash + 1, "0123456789") != strlen(dash + 1))
        return NULL;
    cron_job = store_find(q->server->store, STORE_PENDING, &cron_job_kind, q->route.namespace,
                          arena_printf(q->arena, "%.*s", (int)(dash - name), name));
    return cron_job != NULL && object_owner(cron_job, &uid) && uid != q->principal->uid ? cron_job
                                                                                        : NULL;
}

/* Another user's Job, if one of its pods or their claims could have this name:
 * an object with the name would prevent the Job from ever creating it.
 */
static const struct object *
find_derived_from(struct request *q, const char *name)
{
    if (q->route.kind == &job_kind)
        return find_recurring(q, name);
    if (q->route.kind != &pod_kind && q->route.kind != &persistent_volume_claim_kind)
        return NULL;
    for (const char *dash = strchr(name, '-'); dash != NULL; dash = strchr(dash + 1, '-')) {
        size_t digits = strspn(dash + 1, "0123456789");
        const struct object *job;
        uid_t uid;

        if (digits == 0 || (dash[1 + digits] != '\0' && dash[1 + digits] != '-'))
            continue;
        job = store_find(q->server->store, STORE_PENDING, &job_kind, q->route.namespace,
                         arena_printf(q->arena, "%.*s", (int)(dash - name), name));
        if (job != NULL && object_owner(job, &uid) && uid != q->principal->uid)
            return job;
    }
    return NULL;
}

static bool
check_derived(struct request *q, const char *name)
{
    const struct object *job = find_derived_from(q, name);

    if (job == NULL)
        return true;
    reply_forbidden(&q->reply, q->route.kind, name,
                    "JobName: names that begin with '%s-' and a number belong "
                    "to the %s of %s '%s' of another user; choose another name",
                    job->meta->name, job->kind == &job_kind ? "pods" : "jobs", job->kind->singular,
                    job->meta->name);
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
    if (length == 0 || (q->route.kind == &job_kind && strcmp(name, own) == 0)
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
is_as_before(struct request *q, const struct json *meta, const struct json *old_meta,
             const char *map, const char *const *names, size_t count)
{
    const struct json *now = json_get(meta, map);
    const struct json *before = json_get(old_meta, map);

    for (size_t i = 0; i < count; i++) {
        const char *a = json_get_text(now, names[i]);
        const char *b = json_get_text(before, names[i]);

        if (a == b || (a != NULL && b != NULL && strcmp(a, b) == 0))
            continue;
        reply_forbidden(&q->reply, q->route.kind, json_get_text(meta, "name"),
                        "JobPod: metadata.%s '%s' is set only by the job "
                        "controller; submit a Job instead of its pods",
                        map, names[i]);
        return false;
    }
    return true;
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
    return is_as_before(q, meta, old_meta, "annotations", tied_annotations,
                        ARRAY_SIZE(tied_annotations))
           && is_as_before(q, meta, old_meta, "labels", tied_labels, ARRAY_SIZE(tied_labels));
}
