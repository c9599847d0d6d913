/* SPDX-License-Identifier: Apache-2.0 */
/* persistent_volume_claim.c - a wish for storage */
#include "lib/api/kind.h"
#include "lib/api/meta.h"
#include "lib/api/rows.h"
#include "lib/api/selector.h"

/* clang-format off */
static const struct field persistent_volume_claim_condition_fields[] = {
    OPAQUE(STRING, "status", ALWAYS | REQUIRED),
    OPAQUE(STRING, "type", ALWAYS | REQUIRED),
    OPAQUE(TIME, "lastProbeTime", ALWAYS),
    OPAQUE(TIME, "lastTransitionTime", ALWAYS),
    OPAQUE(STRING, "message", 0),
    OPAQUE(STRING, "reason", 0),
};
static OPAQUE_RECORD(persistent_volume_claim_condition,
       "io.k8s.api.core.v1.PersistentVolumeClaimCondition");

static const struct field modify_volume_status_fields[] = {
    OPAQUE(STRING, "status", ALWAYS | REQUIRED,
        ONE_OF("InProgress", "Infeasible", "Pending")),
    OPAQUE(STRING, "targetVolumeAttributesClassName", 0),
};
static OPAQUE_RECORD(modify_volume_status,
       "io.k8s.api.core.v1.ModifyVolumeStatus");

static const struct field volume_resource_requirements_fields[] = {
    OPAQUE_MAP(QUANTITY, "limits", 0),
    OPAQUE_MAP(QUANTITY, "requests", 0),
};
static OPAQUE_RECORD(volume_resource_requirements,
       "io.k8s.api.core.v1.VolumeResourceRequirements");

static const struct field persistent_volume_claim_spec_fields[] = {
    OPAQUE_LIST(STRING, "accessModes", 0),
    OPAQUE_OBJECT("resources", volume_resource_requirements, ALWAYS),
    OPAQUE(STRING, "volumeName", 0),
    OPAQUE(STRING, "storageClassName", KEPT),
    OPAQUE(STRING, "volumeMode", KEPT, ONE_OF("Block", "Filesystem")),
    OPAQUE_OBJECT("dataSource", typed_local_object_reference, 0),
    OPAQUE_OBJECT("dataSourceRef", typed_object_reference, 0),
    OPAQUE_OBJECT("selector", label_selector, 0),
    OPAQUE(STRING, "volumeAttributesClassName", KEPT),
};
static OPAQUE_RECORD(persistent_volume_claim_spec,
       "io.k8s.api.core.v1.PersistentVolumeClaimSpec");

static const struct field persistent_volume_claim_status_fields[] = {
    OPAQUE(STRING, "phase", 0, ONE_OF("Bound", "Lost", "Pending")),
    OPAQUE_LIST(STRING, "accessModes", 0),
    OPAQUE_MAP(QUANTITY, "capacity", 0),
    OPAQUE_MAP(STRING, "allocatedResourceStatuses", 0),
    OPAQUE_MAP(QUANTITY, "allocatedResources", 0),
    OPAQUE_OBJECTS("conditions", persistent_volume_claim_condition, 0,
        BY_KEY("type")),
    OPAQUE(STRING, "currentVolumeAttributesClassName", KEPT),
    OPAQUE_OBJECT("modifyVolumeStatus", modify_volume_status, 0),
};
static OPAQUE_RECORD(persistent_volume_claim_status,
       "io.k8s.api.core.v1.PersistentVolumeClaimStatus");

static const struct field persistent_volume_claim_template_fields[] = {
    OPAQUE_OBJECT("spec", persistent_volume_claim_spec, ALWAYS | REQUIRED),
    OPAQUE_OBJECT("metadata", meta, ALWAYS),
};
OPAQUE_RECORD(persistent_volume_claim_template,
       "io.k8s.api.core.v1.PersistentVolumeClaimTemplate");

static const struct field persistent_volume_claim_fields[] = {
    TYPE_META,
    BARE_METADATA,
    OPAQUE_OBJECT("spec", persistent_volume_claim_spec, ALWAYS),
    OPAQUE_OBJECT("status", persistent_volume_claim_status, ALWAYS),
};
static RECORD(persistent_volume_claim, meta,
       "io.k8s.api.core.v1.PersistentVolumeClaim");
/* clang-format on */

const struct kind persistent_volume_claim_kind = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .name = "PersistentVolumeClaim",
    .list_name = "PersistentVolumeClaimList",
    .plural = "persistentvolumeclaims",
    .singular = "persistentvolumeclaim",
    .short_names = (const char *const[]){"pvc", NULL},
    .flags = KIND_NAMESPACED | KIND_HAS_STATUS | KIND_UNCONDITIONAL_UPDATE,
    .record = &persistent_volume_claim_record,
};
