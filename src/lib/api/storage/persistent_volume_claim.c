/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/storage/persistent_volume_claim.h"

#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/object_reference.h"
#include "lib/api/object/resource_rules.h"
#include "lib/api/object/rights.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/storage_tables.h"
#include "lib/api/value/quantity.h"
#include "lib/api/value/rows.h"
#include "lib/json/json.h"

/* clang-format off */
static const struct field persistent_volume_claim_condition_fields[] = {
    OPAQUE(STRING, "status", ALWAYS | REQUIRED,
        HELP("True, False or Unknown.")),
    OPAQUE(STRING, "type", ALWAYS | REQUIRED,
        HELP("Type of the condition.")),
    OPAQUE(TIME, "lastProbeTime", ALWAYS,
        HELP("When it was last checked.")),
    OPAQUE(TIME, "lastTransitionTime", ALWAYS,
        HELP("When the status last changed.")),
    OPAQUE(STRING, "message", 0,
        HELP("Explanation, for people.")),
    OPAQUE(STRING, "reason", 0,
        HELP("Reason in one word, for programs.")),
};
static OPAQUE_RECORD(persistent_volume_claim_condition,
       "io.k8s.api.core.v1.PersistentVolumeClaimCondition",
       MESSAGE("type status lastProbeTime lastTransitionTime reason message"),
       HELP("A condition of a claim."));

static const struct field modify_volume_status_fields[] = {
    OPAQUE(STRING, "status", ALWAYS | REQUIRED,
        ONE_OF("InProgress", "Infeasible", "Pending"),
        HELP("Pending, InProgress or Infeasible.")),
    OPAQUE(STRING, "targetVolumeAttributesClassName", 0,
        HELP("The requested class.")),
};
static OPAQUE_RECORD(modify_volume_status,
       "io.k8s.api.core.v1.ModifyVolumeStatus",
       MESSAGE("targetVolumeAttributesClassName status"),
       HELP("The state of a change of attributes."));

static const struct field volume_resource_requirements_fields[] = {
    OPAQUE_MAP(QUANTITY, "limits", 0,
        HELP("At the most.")),
    MAP(QUANTITY, "requests", persistent_volume_claim_spec, requests, 0,
        HELP("At the least.")),
};
static RECORD(volume_resource_requirements, persistent_volume_claim_spec,
       "io.k8s.api.core.v1.VolumeResourceRequirements",
       MESSAGE("limits requests"),
       HELP("How much storage."));

static const struct field persistent_volume_claim_spec_fields[] = {
    LIST(STRING, "accessModes", persistent_volume_claim_spec, access_modes, 0,
        HELP("How it is to be mounted.")),
    WITHIN("resources", volume_resource_requirements, ALWAYS,
        HELP("How much.")),
    STRING("volumeName", persistent_volume_claim_spec, volume_name, 0,
        HELP("The volume it is bound to.")),
    STRING("storageClassName", persistent_volume_claim_spec, storage_class,
        KEPT,
        HELP("The class; without it the default class, with \"\" none.")),
    STRING("volumeMode", persistent_volume_claim_spec, volume_mode, KEPT,
        ONE_OF("Block", "Filesystem"),
        HELP("Filesystem or Block.")),
    OPAQUE_OBJECT("dataSource", typed_local_object_reference, 0,
        HELP("The source of its content.")),
    OPAQUE_OBJECT("dataSourceRef", typed_object_reference, 0,
        HELP("The source of its content, of any kind.")),
    OBJECT("selector", persistent_volume_claim_spec, selector, label_selector,
        OPTIONAL,
        HELP("Only volumes with such labels.")),
    OPAQUE(STRING, "volumeAttributesClassName", KEPT,
        HELP("The class of its attributes.")),
};
static RECORD(persistent_volume_claim_spec, persistent_volume_claim_spec,
       "io.k8s.api.core.v1.PersistentVolumeClaimSpec",
       MESSAGE("accessModes resources volumeName selector storageClassName "
               "volumeMode dataSource dataSourceRef "
               "volumeAttributesClassName"),
       HELP("The requested storage."));

static const struct field persistent_volume_claim_status_fields[] = {
    STRING("phase", persistent_volume_claim_status, phase, 0,
        ONE_OF("Bound", "Lost", "Pending"),
        HELP("Pending, Bound or Lost.")),
    OPAQUE_LIST(STRING, "accessModes", 0,
        HELP("How the volume can be mounted.")),
    OPAQUE_MAP(QUANTITY, "capacity", 0,
        HELP("How large the volume is.")),
    OPAQUE_MAP(STRING, "allocatedResourceStatuses", 0,
        HELP("The state of a change of size.")),
    OPAQUE_MAP(QUANTITY, "allocatedResources", 0,
        HELP("What is reserved for it.")),
    OPAQUE_OBJECTS("conditions", persistent_volume_claim_condition, 0,
        BY_KEY("type"),
        HELP("Its conditions.")),
    OPAQUE(STRING, "currentVolumeAttributesClassName", KEPT,
        HELP("The class of attributes that it has.")),
    OPAQUE_OBJECT("modifyVolumeStatus", modify_volume_status, 0,
        HELP("The state of a change of attributes.")),
};
static RECORD(persistent_volume_claim_status, persistent_volume_claim_status,
       "io.k8s.api.core.v1.PersistentVolumeClaimStatus",
       MESSAGE("phase accessModes capacity conditions allocatedResources 7 "
               "allocatedResourceStatuses currentVolumeAttributesClassName "
               "modifyVolumeStatus"),
       HELP("The state of a claim."));

static const struct field persistent_volume_claim_template_fields[] = {
    OPAQUE_OBJECT("spec", persistent_volume_claim_spec, ALWAYS | REQUIRED,
        HELP("Desired state.")),
    OPAQUE_OBJECT("metadata", meta, ALWAYS,
        HELP("Labels and annotations of the claim.")),
};
OPAQUE_RECORD(persistent_volume_claim_template,
       "io.k8s.api.core.v1.PersistentVolumeClaimTemplate",
       MESSAGE("metadata spec"),
       HELP("A claim that is made for a pod."));

static const struct field persistent_volume_claim_fields[] = {
    TYPE_META,
    METADATA(persistent_volume_claim),
    OBJECT("spec", persistent_volume_claim, spec, persistent_volume_claim_spec,
        ALWAYS,
        HELP("Desired state.")),
    OBJECT("status", persistent_volume_claim, status,
        persistent_volume_claim_status, ALWAYS,
        HELP("Current state; set only by the system.")),
};
RECORD(persistent_volume_claim, persistent_volume_claim,
       "io.k8s.api.core.v1.PersistentVolumeClaim",
       MESSAGE("metadata spec status"),
       HELP("A user's request for storage, and the volume that it is bound "
            "to."));
/* clang-format on */

const struct persistent_volume_claim *
persistent_volume_claim_of(const struct object *object)
{
    return object->view;
}

const char *
persistent_volume_claim_class(const struct persistent_volume_claim *c)
{
    const char *old = string_map_find(&c->meta.annotations, ANNOTATION_STORAGE_CLASS);

    if (old != NULL)
        return old;
    return c->spec.storage_class != NULL ? c->spec.storage_class : "";
}

int64_t
persistent_volume_claim_bytes(const struct persistent_volume_claim *c)
{
    return quantity_text_value(string_map_find(&c->spec.requests, "storage"));
}

bool
persistent_volume_claim_is_bound(const struct persistent_volume_claim *c)
{
    return c->spec.volume_name != NULL && c->spec.volume_name[0] != '\0'
           && string_map_find(&c->meta.annotations, ANNOTATION_BIND_COMPLETED) != NULL;
}

const char *
persistent_volume_claim_node(const struct persistent_volume_claim *c)
{
    const char *node = string_map_find(&c->meta.annotations, ANNOTATION_SELECTED_NODE);

    return node != NULL && node[0] != '\0' ? node : NULL;
}

static void
set_defaults(struct arena *arena, struct json *claim)
{
    struct json *spec = json_make_object(arena, claim, "spec");
    struct json *status = json_make_object(arena, claim, "status");
    struct json *resources = json_get(spec, "resources");

    if (!check_is_set(spec, "volumeMode"))
        json_set_string(arena, spec, "volumeMode", "Filesystem");
    if (*check_text(status, "phase") == '\0')
        json_set_string(arena, status, "phase", "Pending");
    resource_list_set_defaults(arena, resources, "requests");
    resource_list_set_defaults(arena, resources, "limits");
}

static void
check_storage(struct causes *c, const struct json *spec)
{
    const struct json *requests = json_get_path(spec, "resources.requests");
    const struct json *storage = json_get(requests, "storage");
    unsigned at = causes_enter_key(c, "resources", "storage");

    if (storage == NULL)
        causes_add(c, CAUSE_REQUIRED, "", NULL, "%s", "");
    else if (check_quantity(c, requests, "storage") && quantity_text_milli(storage->text) == 0)
        causes_add(c, CAUSE_INVALID, "", storage, "must be greater than zero");
    causes_leave(c, at);
}

/* A smaller request cancels an expansion that failed; it must stay above the
 * present capacity.
 */
static void
check_size_change(struct causes *c, const struct json *claim, const struct json *old)
{
    static const char path[] = "resources.requests";
    struct quantity is, was, real = {0};
    const char *capacity = check_text(json_get_path(old, "status.capacity"), "storage");
    const struct json *requests = json_get_path(claim, "spec.resources.requests");
    const char *given = check_text(requests, "storage");
    const char *before = check_text(json_get_path(old, "spec.resources.requests"), "storage");
    unsigned at = causes_enter(c, path);

    if (quantity_parse(given, &is) == 0 && quantity_parse(before, &was) == 0
        && quantity_compare(&is, &was) < 0
        && (*capacity == '\0' || quantity_parse(capacity, &real) == 0)
        && quantity_compare(&is, &real) <= 0)
        causes_add(c, CAUSE_FORBIDDEN, "storage", NULL,
                   "field can not be less than status.capacity");
    causes_leave(c, at);
}

/* Compares the specs without the fields that may change: the volume and the
 * class, once each; of a bound claim, the size.
 */
static void
check_changes(struct causes *c, const struct json *claim, const struct json *old)
{
    struct json *is = json_dup(c->arena, json_get(claim, "spec"));
    struct json *was = json_dup(c->arena, json_get(old, "spec"));
    struct json *requests = json_get_path(is, "resources.requests");
    struct json *before = json_get_path(was, "resources.requests");

    if (*check_text(was, "volumeName") == '\0') {
        json_remove(is, "volumeName");
        json_remove(was, "volumeName");
    }
    if (!check_is_set(was, "storageClassName"))
        json_remove(is, "storageClassName");
    if (strcmp(check_text(json_get(old, "status"), "phase"), "Bound") == 0) {
        if (requests != NULL && before != NULL) {
            json_remove(requests, "storage");
            json_remove(before, "storage");
        }
        json_remove(is, "volumeAttributesClassName");
        json_remove(was, "volumeAttributesClassName");
    }
    if (!json_equals(is, was))
        causes_add(c, CAUSE_FORBIDDEN, "spec", NULL,
                   "spec is immutable after creation except "
                   "resources.requests and volumeAttributesClassName for "
                   "bound claims");
}

/* --- data sources ------------------------------------------------------------
 */

static void
check_source(struct causes *c, const struct json *spec, const char *name)
{
    const struct json *source = json_get(spec, name);
    const char *group = check_text(source, "apiGroup");
    unsigned at;

    if (!json_is(source, JSON_OBJECT))
        return;
    at = causes_enter(c, name);
    check_present(c, source, "name", "");
    check_present(c, source, "kind", "");
    if (*group == '\0' && strcmp(check_text(source, "kind"), "PersistentVolumeClaim") != 0)
        causes_add(c, CAUSE_INVALID, "", json_get(source, "kind"),
                   "must be 'PersistentVolumeClaim' when referencing the "
                   "default apiGroup");
    if (*group != '\0')
        check_name(c, source, "apiGroup", NAME_DNS_SUBDOMAIN);
    causes_leave(c, at);
}

static bool
is_same_source(const struct json *a, const struct json *b)
{
    return strcmp(check_text(a, "apiGroup"), check_text(b, "apiGroup")) == 0
           && strcmp(check_text(a, "kind"), check_text(b, "kind")) == 0
           && strcmp(check_text(a, "name"), check_text(b, "name")) == 0;
}

static void
check_sources_agree(struct causes *c, const struct json *spec)
{
    const struct json *source = json_get(spec, "dataSource");
    const struct json *reference = json_get(spec, "dataSourceRef");

    if (json_is(source, JSON_OBJECT) && json_is(reference, JSON_OBJECT)
        && !is_same_source(source, reference))
        causes_add(c, CAUSE_INVALID, "", NULL, "must match dataSourceRef");
}

/* Copies dataSource to dataSourceRef or back if only one is set. A source that
 * is neither a claim nor a snapshot, or is in another namespace, is only in
 * dataSourceRef.
 */
static void
join_sources(struct arena *arena, struct json *spec)
{
    struct json *source = json_get(spec, "dataSource");
    struct json *reference = json_get(spec, "dataSourceRef");
    const char *kind = check_text(source, "kind");
    const char *group = check_text(source, "apiGroup");

    /* The feature of this field is off in upstream. */
    json_remove(reference, "namespace");
    if (source != NULL && !(*group == '\0' && strcmp(kind, "PersistentVolumeClaim") == 0)
        && !(strcmp(group, "snapshot.storage.k8s.io") == 0
             && strcmp(kind, "VolumeSnapshot") == 0)) {
        json_remove(spec, "dataSource");
        source = NULL;
    }
    if (source != NULL && reference == NULL)
        json_set(arena, spec, "dataSourceRef", json_dup(arena, source));
    else if (source == NULL && reference != NULL)
        json_set(arena, spec, "dataSource", json_dup(arena, reference));
}

static void
prepare(struct arena *arena, struct json *claim, const struct json *old)
{
    struct json *status = json_object(arena);

    meta_prepare(arena, claim, old);
    if (old == NULL)
        join_sources(arena, json_get(claim, "spec"));
    /* The feature of this field is off in upstream, which therefore drops the
     * field.
     */
    if (!check_is_set(json_get(old, "spec"), "volumeAttributesClassName"))
        json_remove(json_get(claim, "spec"), "volumeAttributesClassName");
    json_set_string(arena, status, "phase", "Pending");
    json_set(arena, claim, "status", old != NULL ? json_get(old, "status") : status);
}

static void
validate(struct causes *c, const struct json *claim, const struct json *old)
{
    const struct json *spec = json_get(claim, "spec");
    unsigned at;

    meta_check(c, &persistent_volume_claim_kind, NAME_DNS_SUBDOMAIN, claim, old);
    at = causes_enter(c, "spec");
    check_present(c, spec, "accessModes", "at least 1 access mode is required");
    access_modes_check(c, spec);
    check_label_selector(c, spec, "selector");
    check_storage(c, spec);
    if (*check_text(spec, "storageClassName") != '\0')
        check_name(c, spec, "storageClassName", NAME_DNS_SUBDOMAIN);
    check_one_of(c, spec, "volumeMode", CHECK_VALUES("Block", "Filesystem"));
    check_source(c, spec, "dataSource");
    check_source(c, spec, "dataSourceRef");
    check_sources_agree(c, spec);
    if (old != NULL)
        check_size_change(c, claim, old);
    causes_leave(c, at);
    if (old != NULL)
        check_changes(c, claim, old);
}

static void
validate_status(struct causes *c, const struct json *claim, const struct json *old)
{
    const struct json *capacity = json_get_path(claim, "status.capacity");

    meta_check(c, &persistent_volume_claim_kind, NAME_DNS_SUBDOMAIN, claim, old);
    for (uint32_t i = 0; i < json_count(capacity); i++) {
        const struct json_member *m = &capacity->members[i];
        struct quantity q;
        unsigned at = causes_enter_key(c, "status.capacity", m->name);

        if (json_text(m->value) != NULL && quantity_parse(m->value->text, &q) == 0
            && quantity_sign(&q) < 0)
            causes_add(c, CAUSE_INVALID, "", m->value, "must be a valid resource quantity");
        causes_leave(c, at);
    }
}

static void
warn(struct causes *c, const struct json *claim, const struct json *old)
{
    static const char *const lists[] = {"requests", "limits"};
    const struct json *resources = json_get_path(claim, "spec.resources");
    unsigned at = causes_enter_key(c, "metadata.annotations", ANNOTATION_STORAGE_CLASS);

    (void)old;
    if (json_get(json_get_path(claim, "metadata.annotations"), ANNOTATION_STORAGE_CLASS) != NULL)
        causes_warn(c, "",
                    "deprecated since v1.8; use \"storageClassName\" "
                    "attribute instead");
    causes_leave(c, at);
    at = causes_enter(c, "spec.resources");
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        unsigned inside = causes_enter_key(c, lists[i], "storage");

        byte_fraction_warn(c, json_get(resources, lists[i]), "storage");
        causes_leave(c, inside);
    }
    causes_leave(c, at);
}

static const struct right rights[] = {
    {BY_USERS, MAY_CREATE, SUBRESOURCE_NONE, SCOPE_MEMBERS},
    {BY_USERS, MAY_UPDATE | MAY_REMOVE, SUBRESOURCE_NONE, SCOPE_OWN},
    {BY_AGENT, MAY_GET, SUBRESOURCE_NONE, SCOPE_NODE},
    {BY_SCHEDULER, MAY_UPDATE, SUBRESOURCE_NONE, SCOPE_ALL},
};

const struct kind persistent_volume_claim_kind = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .name = "PersistentVolumeClaim",
    .list_name = "PersistentVolumeClaimList",
    .plural = "persistentvolumeclaims",
    .singular = "persistentvolumeclaim",
    .short_names = (const char *const[]){"pvc", NULL},
    .flags = KIND_NAMESPACED | KIND_HAS_STATUS | KIND_UNCONDITIONAL_UPDATE | KIND_ANSWERS_DELETED,
    .record = &persistent_volume_claim_record,
    .set_defaults = set_defaults,
    .prepare = prepare,
    .validate = validate,
    .validate_status = validate_status,
    .warn = warn,
    .table = &persistent_volume_claim_table,
    KIND_RIGHTS(rights),
};

const char *const claim_system_annotations[] = {
    ANNOTATION_SELECTED_NODE, ANNOTATION_BIND_COMPLETED,
    ANNOTATION_BOUND_BY,      ANNOTATION_PROVISIONER,
    ANNOTATION_UID,           ANNOTATION_GID,
    ANNOTATION_USER,          NULL,
};

bool
claim_is_user_owned(const struct object *claim)
{
    return string_map_find(&claim->meta->annotations, ANNOTATION_USER) != NULL
           || meta_controller_of(claim->meta, &pod_kind) != NULL;
}
