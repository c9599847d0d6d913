/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/value/rows.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

/* clang-format off */
static const struct field owner_reference_fields[] = {
    STRING("apiVersion", owner_reference, api_version, ALWAYS | REQUIRED,
        OFTEN("batch/v1"),
        HELP("The group and version of the kind, such as batch/v1.")),
    STRING("kind", owner_reference, kind, ALWAYS | REQUIRED, OFTEN("Job"),
        HELP("The kind of object.")),
    STRING("name", owner_reference, name, ALWAYS | REQUIRED,
        HELP("Its name.")),
    STRING("uid", owner_reference, uid, ALWAYS | REQUIRED,
        HELP("The uid of the owner.")),
    BOOL("blockOwnerDeletion", owner_reference, block_owner_deletion, KEPT,
        HELP("Whether the owner, deleted in the foreground, waits for "
             "this one.")),
    BOOL("controller", owner_reference, controller, KEPT,
        HELP("Whether that owner manages it.")),
};
RECORD(owner_reference, owner_reference,
       "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference",
       MESSAGE("kind 3 name uid apiVersion controller blockOwnerDeletion"),
       HELP("An owner of this object: when all owners are gone, the object "
            "is deleted."), ATOMIC);

static const struct field managed_fields_entry_fields[] = {
    OPAQUE(STRING, "manager", 0,
        HELP("Who.")),
    OPAQUE(STRING, "operation", 0,
        HELP("Apply or Update.")),
    OPAQUE(STRING, "apiVersion", 0,
        HELP("The group and version of the kind, such as batch/v1.")),
    OPAQUE(TIME, "time", KEPT,
        HELP("When.")),
    OPAQUE(STRING, "fieldsType", 0,
        HELP("The form of fieldsV1.")),
    OPAQUE(ANY, "fieldsV1", 0,
        HELP("The fields, as a tree.")),
    OPAQUE(STRING, "subresource", 0,
        HELP("By which subresource.")),
};
static OPAQUE_RECORD(managed_fields_entry,
       "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry",
       MESSAGE("manager operation apiVersion time 6 fieldsType fieldsV1 "
               "subresource"),
       HELP("Which fields a manager has set."));

static const struct field meta_fields[] = {
    STRING("name", meta, name, 0,
        HELP("Unique among objects of the kind in the namespace.")),
    STRING("generateName", meta, generate_name, 0,
        HELP("The prefix of a name that the server makes unique by a "
             "suffix; for Jobs the suffix is the job id.")),
    STRING("namespace", meta, namespace, 0,
        HELP("The account or project that the object belongs to.")),
    STRING("uid", meta, uid, 0,
        HELP("Unique among all objects, deleted ones included.")),
    STRING("resourceVersion", meta, resource_version, 0,
        HELP("Changes with every write; if it is sent back, an update fails "
             "if the object has changed since.")),
    INT64("generation", meta, generation, 0,
        HELP("Counts the changes of spec.")),
    TIME("creationTimestamp", meta, created_at_us, ALWAYS,
        HELP("When the server accepted the object.")),
    TIME("deletionTimestamp", meta, deleted_at_us, KEPT,
        HELP("When the object will be deleted; set by a delete request.")),
    INT64("deletionGracePeriodSeconds", meta, deletion_grace_s, OPTIONAL,
        HELP("The grace period from the delete request to the deletion.")),
    MAP(STRING, "labels", meta, labels, 0,
        OFTEN(LABEL_JOB_NAME, LABEL_JOB_UID, LABEL_HOSTNAME, LABEL_USER,
            "controller-uid", "job-name", "kubernetes.io/metadata.name"),
        HELP("Short names and values to select by.")),
    MAP(STRING, "annotations", meta, annotations, 0,
        OFTEN(ANNOTATION_USER, ANNOTATION_UID, ANNOTATION_SUBMISSION,
            ANNOTATION_INDEX, ANNOTATION_JOB_NAME, ANNOTATION_JOB_ID,
            ANNOTATION_ATTEMPT),
        HELP("Names and values of any form, for tools.")),
    OPAQUE_OBJECTS("managedFields", managed_fields_entry, 0,
        HELP("Which manager has set which fields.")),
    OBJECTS("ownerReferences", meta, owners, owner_reference, 0, BY_KEY("uid"),
        HELP("Objects that this one depends on; when all are gone, it is "
             "deleted.")),
    LIST(STRING, "finalizers", meta, finalizers, 0, SET,
        HELP("Finalizers that must be removed before the object is deleted.")),
    OPAQUE(STRING, "selfLink", 0,
        HELP("No longer used.")),
};
RECORD(meta, meta, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
       MESSAGE("name generateName namespace selfLink uid resourceVersion "
               "generation creationTimestamp deletionTimestamp "
               "deletionGracePeriodSeconds labels annotations "
               "ownerReferences finalizers 17 managedFields"),
       HELP("What all objects have in common."));

static const struct field meta_condition_fields[] = {
    OPAQUE(STRING, "type", ALWAYS | REQUIRED,
        HELP("Type of the condition.")),
    OPAQUE(STRING, "status", ALWAYS | REQUIRED,
        HELP("True, False or Unknown.")),
    OPAQUE(INT64, "observedGeneration", 0,
        HELP("The generation of the spec that it refers to.")),
    OPAQUE(TIME, "lastTransitionTime", ALWAYS | REQUIRED,
        HELP("When the status last changed.")),
    OPAQUE(STRING, "reason", ALWAYS | REQUIRED,
        HELP("Reason in one word, for programs.")),
    OPAQUE(STRING, "message", ALWAYS | REQUIRED,
        HELP("Explanation, for people.")),
};
OPAQUE_RECORD(meta_condition, "io.k8s.apimachinery.pkg.apis.meta.v1.Condition",
       MESSAGE("type status observedGeneration lastTransitionTime reason "
               "message"),
       HELP("A condition of an object."));
/* clang-format on */

const struct owner_reference *
meta_controller(const struct meta *meta)
{
    for (unsigned i = 0; i < meta->owners.count; i++)
        if (meta->owners.items[i].controller)
            return &meta->owners.items[i];
    return NULL;
}

static bool
is_of_kind(const struct owner_reference *r, const struct kind *kind)
{
    return r->api_version != NULL && r->kind != NULL && strcmp(r->kind, kind->name) == 0
           && strcmp(r->api_version, kind->api_version) == 0;
}

bool
owner_reference_is_to(const struct owner_reference *r, const struct kind *kind, const char *uid)
{
    return is_of_kind(r, kind) && r->uid != NULL && uid != NULL && strcmp(r->uid, uid) == 0;
}

const struct owner_reference *
meta_controller_of(const struct meta *meta, const struct kind *kind)
{
    const struct owner_reference *r = meta_controller(meta);

    return r != NULL && is_of_kind(r, kind) ? r : NULL;
}

bool
meta_is_controlled_by(const struct meta *meta, const struct object *owner)
{
    const struct owner_reference *r = meta_controller(meta);

    return r != NULL && owner_reference_is_to(r, owner->kind, owner->meta->uid);
}

bool
meta_has_finalizer(const struct meta *meta, const char *name)
{
    for (unsigned i = 0; i < meta->finalizers.count; i++)
        if (strcmp(meta->finalizers.items[i], name) == 0)
            return true;
    return false;
}

/* Annotations that reveal nothing about what the object runs. */
static const char *const kept_annotations[] = {
    ANNOTATION_USER,         ANNOTATION_UID,          ANNOTATION_INDEX,      ANNOTATION_HELD_BY,
    ANNOTATION_HOLD,         ANNOTATION_HOLD_AT,      ANNOTATION_FREEZE,     ANNOTATION_YIELD,
    "kiln.hpc/suspended-by", "kiln.hpc/suspended-at", ANNOTATION_DELETED_BY, ANNOTATION_REQUEUED_BY,
    "kiln.hpc/requeued-at",  ANNOTATION_ACCOUNT,
};

void
meta_redact(struct arena *arena, struct json *object)
{
    struct json *meta = json_get(object, "metadata");
    const struct json *all = json_get(meta, "annotations");
    struct json *kept = NULL;

    for (unsigned i = 0; i < ARRAY_SIZE(kept_annotations); i++) {
        struct json *value = json_get(all, kept_annotations[i]);

        if (value == NULL)
            continue;
        if (kept == NULL)
            kept = json_object(arena);
        json_set(arena, kept, kept_annotations[i], value);
    }
    if (json_is(meta, JSON_OBJECT)) {
        json_remove(meta, "annotations");
        json_remove(meta, "managedFields");
    }
    if (kept != NULL)
        json_set(arena, meta, "annotations", kept);
}

/* Requests of a pod's user below kiln.hpc/: the template of a Job may have them.
 */
static const char *const users_annotations[] = {
    ANNOTATION_COMMENT,    ANNOTATION_CPUS_PER_TASK, ANNOTATION_JOB_NAME,
    ANNOTATION_PIDS,       ANNOTATION_TASKS,         ANNOTATION_TASKS_PER_NODE,
    ANNOTATION_TIME_LIMIT, ANNOTATION_TOTAL_TASKS,   ANNOTATION_VARIABLES,
};

/* Upstream's controllers of jobs write these. Other names below
 * batch.kubernetes.io/ are not reserved, as upstream.
 */
static const char *const job_controllers[] = {
    LABEL_JOB_NAME,           LABEL_JOB_UID,
    ANNOTATION_INDEX,         ANNOTATION_INDEX_FAILURES,
    ANNOTATION_INDEX_IGNORED, "batch.kubernetes.io/cronjob-scheduled-timestamp",
};

static bool
is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

bool
meta_is_reserved(const char *name)
{
    if (strncmp(name, "kiln.hpc/", strlen("kiln.hpc/")) == 0)
        return !is_among(name, users_annotations, ARRAY_SIZE(users_annotations));
    return is_among(name, job_controllers, ARRAY_SIZE(job_controllers));
}

void
meta_remove_reserved(struct json *map)
{
    for (uint32_t i = json_count(map); json_is(map, JSON_OBJECT) && i > 0; i--)
        if (meta_is_reserved(map->members[i - 1].name))
            json_remove(map, map->members[i - 1].name);
}
