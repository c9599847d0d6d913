/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/storage/persistent_volume.h"

#include <string.h>

#include "lib/api/node/node_selector_rules.h"
#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/resource_rules.h"
#include "lib/api/object/rights.h"
#include "lib/api/storage/storage_class.h"
#include "lib/api/storage/storage_tables.h"
#include "lib/api/storage/volume_source.h"
#include "lib/api/value/quantity.h"
#include "lib/json/json.h"

/* clang-format off */
static const struct field csi_persistent_volume_source_fields[] = {
    OPAQUE(STRING, "driver", ALWAYS | REQUIRED,
        HELP("The driver that serves it.")),
    OPAQUE(STRING, "volumeHandle", ALWAYS | REQUIRED,
        HELP("The name of the volume in its driver.")),
    OPAQUE_OBJECT("controllerExpandSecretRef", secret_reference, 0,
        HELP("The secret for growing it, at the controller.")),
    OPAQUE_OBJECT("controllerPublishSecretRef", secret_reference, 0,
        HELP("The secret for attaching it.")),
    OPAQUE(STRING, "fsType", 0,
        HELP("The file system on it, such as ext4.")),
    OPAQUE_OBJECT("nodeExpandSecretRef", secret_reference, 0,
        HELP("The secret for growing it, at the node.")),
    OPAQUE_OBJECT("nodePublishSecretRef", secret_reference, 0,
        HELP("The secret for mounting it.")),
    OPAQUE_OBJECT("nodeStageSecretRef", secret_reference, 0,
        HELP("The secret for preparing it at the node.")),
    OPAQUE(BOOL, "readOnly", 0,
        HELP("Mounted read-only.")),
    OPAQUE_MAP(STRING, "volumeAttributes", 0,
        HELP("Properties for the driver.")),
};
static OPAQUE_RECORD(csi_persistent_volume_source,
       "io.k8s.api.core.v1.CSIPersistentVolumeSource",
       MESSAGE("driver volumeHandle readOnly fsType volumeAttributes "
               "controllerPublishSecretRef nodeStageSecretRef "
               "nodePublishSecretRef controllerExpandSecretRef "
               "nodeExpandSecretRef"),
       HELP("A volume of this type; stored, but not supported."));

static const struct field local_volume_source_fields[] = {
    STRING("path", persistent_volume_spec, local_path, ALWAYS | REQUIRED,
        HELP("Where it is on the node.")),
    OPAQUE(STRING, "fsType", KEPT,
        HELP("The file system on it, such as ext4.")),
};
static RECORD(local_volume_source, persistent_volume_spec,
       "io.k8s.api.core.v1.LocalVolumeSource",
       MESSAGE("path fsType"),
       HELP("A directory or device of one node."));

static const struct field volume_node_affinity_fields[] = {
    OBJECT("required", persistent_volume_spec, nodes, node_selector, OPTIONAL,
        HELP("The nodes.")),
};
static RECORD(volume_node_affinity, persistent_volume_spec,
       "io.k8s.api.core.v1.VolumeNodeAffinity",
       MESSAGE("required"),
       HELP("From which nodes a volume can be reached."));

static const struct field persistent_volume_spec_fields[] = {
    MAP(QUANTITY, "capacity", persistent_volume_spec, capacity, 0,
        HELP("How large it is.")),
    VOLUME_SOURCE_ROWS(persistent_volume_source),
    WITHIN("local", local_volume_source, 0,
        HELP("A directory or device of one node.")),
    LIST(STRING, "accessModes", persistent_volume_spec, access_modes, 0,
        HELP("How it can be mounted.")),
    STRING("persistentVolumeReclaimPolicy", persistent_volume_spec,
        reclaim_policy, 0, ONE_OF("Delete", "Recycle", "Retain"),
        HELP("What happens when its claim is deleted: Retain, Delete or "
             "Recycle.")),
    STRING("storageClassName", persistent_volume_spec, storage_class, 0,
        HELP("The class it belongs to.")),
    STRING("volumeMode", persistent_volume_spec, volume_mode, KEPT,
        ONE_OF("Block", "Filesystem"),
        HELP("Filesystem or Block.")),
    WITHIN("nodeAffinity", volume_node_affinity, 0,
        HELP("From which nodes it can be reached.")),
    OBJECT("claimRef", persistent_volume_spec, claim, object_reference,
        OPTIONAL,
        HELP("The claim it is bound to.")),
    OPAQUE_OBJECT("csi", csi_persistent_volume_source, 0,
        HELP("A volume of a CSI driver.")),
    OPAQUE_LIST(STRING, "mountOptions", 0,
        HELP("Options of mount(8).")),
    OPAQUE(STRING, "volumeAttributesClassName", KEPT,
        HELP("The class of its attributes.")),
};
static RECORD(persistent_volume_spec, persistent_volume_spec,
       "io.k8s.api.core.v1.PersistentVolumeSpec",
       MESSAGE("capacity (gcePersistentDisk awsElasticBlockStore hostPath "
               "glusterfs nfs rbd iscsi cinder cephfs fc flocker flexVolume "
               "azureFile vsphereVolume quobyte azureDisk "
               "photonPersistentDisk portworxVolume scaleIO local storageos "
               "csi) accessModes claimRef persistentVolumeReclaimPolicy "
               "storageClassName mountOptions volumeMode nodeAffinity "
               "volumeAttributesClassName"),
       HELP("What a volume is, and how it may be used."));

static const struct field persistent_volume_status_fields[] = {
    STRING("phase", persistent_volume_status, phase, 0,
        ONE_OF("Available", "Bound", "Failed", "Pending", "Released"),
        HELP("Pending, Available, Bound, Released or Failed.")),
    OPAQUE(TIME, "lastPhaseTransitionTime", KEPT,
        HELP("When the phase changed.")),
    STRING("message", persistent_volume_status, message, 0,
        HELP("Explanation, for people.")),
    STRING("reason", persistent_volume_status, reason, 0,
        HELP("Reason in one word, for programs.")),
};
static RECORD(persistent_volume_status, persistent_volume_status,
       "io.k8s.api.core.v1.PersistentVolumeStatus",
       MESSAGE("phase message reason lastPhaseTransitionTime"),
       HELP("The state of a volume."));

static const struct field persistent_volume_fields[] = {
    TYPE_META,
    METADATA(persistent_volume),
    OBJECT("spec", persistent_volume, spec, persistent_volume_spec, ALWAYS,
        HELP("Desired state.")),
    OBJECT("status", persistent_volume, status, persistent_volume_status,
        ALWAYS,
        HELP("Current state; set only by the system.")),
};
RECORD(persistent_volume, persistent_volume,
       "io.k8s.api.core.v1.PersistentVolume",
       MESSAGE("metadata spec status"),
       HELP("Storage that a claim can be bound to."));
/* clang-format on */

const struct persistent_volume *
persistent_volume_of(const struct object *object)
{
    return object->view;
}

const char *
persistent_volume_class(const struct persistent_volume *v)
{
    const char *old =
        string_map_find(&v->meta.annotations, "volume.beta.kubernetes.io/storage-class");

    if (old != NULL)
        return old;
    return v->spec.storage_class != NULL ? v->spec.storage_class : "";
}

int64_t
persistent_volume_bytes(const struct persistent_volume *v)
{
    return quantity_text_value(string_map_find(&v->spec.capacity, "storage"));
}

bool
persistent_volume_is_in_phase(const struct persistent_volume *v, const char *phase)
{
    return v->status.phase != NULL && strcmp(v->status.phase, phase) == 0;
}

const char *
persistent_volume_scratch_node(const struct persistent_volume *v)
{
    const char *by = string_map_find(&v->meta.annotations, ANNOTATION_PROVISIONED_BY);

    if (by == NULL || strcmp(by, PROVISIONER_SCRATCH) != 0)
        return NULL;
    return string_map_find(&v->meta.labels, LABEL_VOLUME_NODE);
}

bool
persistent_volume_reaches(const struct persistent_volume *v, const struct string_map *labels,
                          const char *node_name)
{
    return v->spec.nodes == NULL || node_selector_matches(v->spec.nodes, labels, node_name);
}

/* The node whose agent made the volume; lets each agent watch only its own
 * volumes.
 */
static const char *
select_node(const struct object *object, char buffer[64])
{
    const char *node = persistent_volume_scratch_node(persistent_volume_of(object));

    (void)buffer;
    return node != NULL ? node : "";
}

static const struct selectable_field selectable[] = {
    {"spec.nodeName", select_node},
};

static void
set_defaults(struct arena *arena, struct json *volume)
{
    struct json *spec = json_make_object(arena, volume, "spec");
    struct json *status = json_make_object(arena, volume, "status");

    if (!check_is_set(spec, "persistentVolumeReclaimPolicy"))
        json_set_string(arena, spec, "persistentVolumeReclaimPolicy", "Retain");
    if (!check_is_set(spec, "volumeMode"))
        json_set_string(arena, spec, "volumeMode", "Filesystem");
    if (*check_text(status, "phase") == '\0')
        json_set_string(arena, status, "phase", "Pending");
    if (check_is_set(json_get(spec, "hostPath"), "path")
        && !check_is_set(json_get(spec, "hostPath"), "type"))
        json_set_string(arena, json_get(spec, "hostPath"), "type", "");
    resource_list_set_defaults(arena, spec, "capacity");
}

static void
prepare(struct arena *arena, struct json *volume, const struct json *old)
{
    struct json *status = json_object(arena);
    struct json *since = json_get_path(volume, "metadata.creationTimestamp");

    meta_prepare(arena, volume, old);
    /* The feature of this field is off in upstream, which therefore drops the
     * field.
     */
    if (!check_is_set(json_get(old, "spec"), "volumeAttributesClassName"))
        json_remove(json_get(volume, "spec"), "volumeAttributesClassName");
    if (old != NULL) {
        json_set(arena, volume, "status", json_get(old, "status"));
        return;
    }
    json_set_string(arena, status, "phase", "Pending");
    if (since != NULL)
        json_set(arena, status, "lastPhaseTransitionTime", since);
    json_set(arena, volume, "status", status);
}

static void
check_capacity(struct causes *c, const struct json *spec)
{
    const struct json *capacity = json_get(spec, "capacity");

    if (!check_present(c, spec, "capacity", ""))
        return;
    if (json_get(capacity, "storage") == NULL || capacity->count > 1)
        causes_add(c, CAUSE_NOT_SUPPORTED, "capacity", capacity, "supported values: \"storage\"");
    for (uint32_t i = 0; i < capacity->count; i++) {
        const char *name = capacity->members[i].name;
        unsigned at = causes_enter_key(c, "capacity", name);

        if (check_quantity(c, capacity, name)
            && quantity_text_milli(capacity->members[i].value->text) == 0)
            causes_add(c, CAUSE_INVALID, "", capacity->members[i].value,
                       "must be greater than zero");
        causes_leave(c, at);
    }
}

void
access_modes_check(struct causes *c, const struct json *spec)
{
    const struct json *modes = json_get(spec, "accessModes");
    bool is_alone = false;

    for (uint32_t i = 0; i < json_count(modes); i++) {
        struct json *holder = json_object(c->arena);

        json_set(c->arena, holder, "accessModes", json_at(modes, i));
        check_one_of(
            c, holder, "accessModes",
            CHECK_VALUES("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"));
        is_alone = is_alone || strcmp(json_at(modes, i)->text, "ReadWriteOncePod") == 0;
    }
    if (is_alone && json_count(modes) > 1)
        causes_add(c, CAUSE_FORBIDDEN, "accessModes", NULL,
                   "may not use ReadWriteOncePod with other access modes");
}

static bool
is_source(const struct field *f)
{
    return f->type == FIELD_OBJECT && strcmp(f->name, "claimRef") != 0
           && strcmp(f->name, "nodeAffinity") != 0;
}

static void
check_required_members(struct causes *c, const struct field *f, const struct json *source)
{
    unsigned at = causes_enter(c, f->name);

    for (unsigned i = 0; i < f->of->n_fields; i++)
        if ((f->of->fields[i].flags & REQUIRED) != 0 && f->of->fields[i].type == FIELD_STRING)
            check_present(c, source, f->of->fields[i].name, "");
    if (strcmp(f->name, "nfs") == 0) {
        if (*check_text(source, "path") != '/' && *check_text(source, "path") != '\0')
            causes_add(c, CAUSE_INVALID, "path", json_get(source, "path"),
                       "must be an absolute path");
    } else if (json_get(source, "path") != NULL) {
        check_no_parent_references(c, source, "path");
    }
    causes_leave(c, at);
}

static void
check_sources(struct causes *c, const struct json *spec)
{
    unsigned found = 0;

    for (unsigned i = 0; i < persistent_volume_spec_record.n_fields; i++) {
        const struct field *f = &persistent_volume_spec_record.fields[i];
        const struct json *source = json_get(spec, f->name);

        if (!is_source(f) || !json_is(source, JSON_OBJECT))
            continue;
        if (++found > 1)
            causes_add(c, CAUSE_FORBIDDEN, f->name, NULL,
                       "may not specify more than 1 volume type");
        else
            check_required_members(c, f, source);
    }
    if (found == 0)
        causes_add(c, CAUSE_REQUIRED, "", NULL, "must specify a volume type");
}

/* Whether the path means "/", in any spelling. */
static bool
is_root(const char *path)
{
    if (*path != '/')
        return false;
    while (*path != '\0') {
        size_t n;

        path += strspn(path, "/");
        n = strcspn(path, "/");
        if (n > 2 || strncmp(path, "..", n) != 0)
            return false;
        path += n;
    }
    return true;
}

static void
check_recycling(struct causes *c, const struct json *spec)
{
    if (is_root(check_text(json_get(spec, "hostPath"), "path"))
        && strcmp(check_text(spec, "persistentVolumeReclaimPolicy"), "Recycle") == 0)
        causes_add(c, CAUSE_FORBIDDEN, "persistentVolumeReclaimPolicy", NULL,
                   "may not be 'recycle' for a hostPath mount of '/'");
}

static void
check_affinity(struct causes *c, const struct json *spec)
{
    const struct json *affinity = json_get(spec, "nodeAffinity");
    unsigned at;

    if (!json_is(affinity, JSON_OBJECT))
        return;
    at = causes_enter(c, "nodeAffinity.required");
    if (check_is_set(affinity, "required"))
        node_selector_check(c, json_get(affinity, "required"));
    else
        causes_add(c, CAUSE_REQUIRED, "", NULL, "must specify required node constraints");
    causes_leave(c, at);
}

static void
check_changes(struct causes *c, const struct json *spec, const struct json *old)
{
    bool same = true;

    for (unsigned i = 0; i < persistent_volume_spec_record.n_fields; i++) {
        const struct field *f = &persistent_volume_spec_record.fields[i];

        if (is_source(f))
            same = same && json_equals(json_get(spec, f->name), json_get(old, f->name));
    }
    if (!same)
        causes_add(c, CAUSE_FORBIDDEN, "persistentvolumesource", NULL,
                   "spec.persistentvolumesource is immutable after creation");
    check_immutable(c, spec, old, "volumeMode");
    if (check_is_set(old, "nodeAffinity"))
        check_immutable(c, spec, old, "nodeAffinity");
}

static void
validate(struct causes *c, const struct json *volume, const struct json *old)
{
    const struct json *spec = json_get(volume, "spec");
    unsigned at;

    meta_check(c, &persistent_volume_kind, NAME_DNS_SUBDOMAIN, volume, old);
    at = causes_enter(c, "spec");
    check_present(c, spec, "accessModes", "");
    access_modes_check(c, spec);
    check_capacity(c, spec);
    check_one_of(c, spec, "persistentVolumeReclaimPolicy",
                 CHECK_VALUES("Delete", "Recycle", "Retain"));
    check_affinity(c, spec);
    check_sources(c, spec);
    check_recycling(c, spec);
    if (*check_text(spec, "storageClassName") != '\0')
        check_name(c, spec, "storageClassName", NAME_DNS_SUBDOMAIN);
    check_one_of(c, spec, "volumeMode", CHECK_VALUES("Block", "Filesystem"));
    if (old != NULL)
        check_changes(c, spec, json_get(old, "spec"));
    causes_leave(c, at);
    if (check_is_set(spec, "local") && !check_is_set(spec, "nodeAffinity"))
        causes_add(c, CAUSE_REQUIRED, "metadata.annotations", NULL,
                   "Local volume requires node affinity");
}

static void
warn(struct causes *c, const struct json *volume, const struct json *old)
{
    static const struct {
        const char *annotation, *words;
    } annotations[] = {
        {"volume.beta.kubernetes.io/storage-class",
         "deprecated since v1.8; use \"storageClassName\" attribute instead"},
        {"volume.beta.kubernetes.io/mount-options",
         "deprecated since v1.31; use \"mountOptions\" attribute instead"},
    };
    static const char terms_path[] = "nodeAffinity.required.nodeSelectorTerms";
    const struct json *given = json_get_path(volume, "metadata.annotations");
    const struct json *spec = json_get(volume, "spec");
    const struct json *terms = json_get_path(spec, terms_path);
    unsigned at;

    (void)old;
    for (size_t i = 0; i < ARRAY_SIZE(annotations); i++) {
        at = causes_enter_key(c, "metadata.annotations", annotations[i].annotation);
        if (json_get(given, annotations[i].annotation) != NULL)
            causes_warn(c, "", "%s", annotations[i].words);
        causes_leave(c, at);
    }
    at = causes_enter(c, "spec");
    if (strcmp(check_text(spec, "persistentVolumeReclaimPolicy"), "Recycle") == 0)
        causes_warn(c, "persistentVolumeReclaimPolicy",
                    "The Recycle reclaim policy is deprecated. Instead, the "
                    "recommended approach is to use dynamic provisioning.");
    for (uint32_t i = 0; i < json_count(terms); i++) {
        unsigned inside = causes_enter_index(c, terms_path, i);

        node_selector_term_warn(c, json_at(terms, i));
        causes_leave(c, inside);
    }
    volume_source_warn(c, spec);
    causes_leave(c, at);
}

static const struct kind_index indexes[] = {
    [PERSISTENT_VOLUME_BY_NODE] = {"spec.nodeName", select_node},
};

static const struct right rights[] = {
    {BY_AGENT, MAY_READ, SUBRESOURCE_NONE, SCOPE_NODE},
    {BY_AGENT, MAY_READ | MAY_UPDATE, SUBRESOURCE_STATUS, SCOPE_NODE},
    {BY_SCHEDULER, MAY_UPDATE, SUBRESOURCE_NONE, SCOPE_ALL},
};

const struct kind persistent_volume_kind = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .name = "PersistentVolume",
    .list_name = "PersistentVolumeList",
    .plural = "persistentvolumes",
    .singular = "persistentvolume",
    .short_names = (const char *const[]){"pv", NULL},
    .flags = KIND_HAS_STATUS | KIND_UNCONDITIONAL_UPDATE | KIND_ANSWERS_DELETED,
    .record = &persistent_volume_record,
    .set_defaults = set_defaults,
    .prepare = prepare,
    .validate = validate,
    .warn = warn,
    .selectable = selectable,
    .n_selectable = ARRAY_SIZE(selectable),
    .table = &persistent_volume_table,
    .indexes = indexes,
    .n_indexes = ARRAY_SIZE(indexes),
    KIND_RIGHTS(rights),
};
