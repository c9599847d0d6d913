/* SPDX-License-Identifier: Apache-2.0 */
/* storage_tables.c - the columns of volumes, claims and storage classes */
#include "lib/api/storage/storage_tables.h"

#include <string.h>

#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

#define UNSET         "<unset>"
#define OLD_CLASS     "volume.beta.kubernetes.io/storage-class"
#define IS_DEFAULT    "storageclass.kubernetes.io/is-default-class"
#define WAS_A_DEFAULT "storageclass.beta.kubernetes.io/is-default-class"

static const char *
annotation(const struct json *tree, const char *name)
{
    return json_get_text(json_get_path(tree, "metadata.annotations"), name);
}

static void
add_text(struct table_row *row, const char *path)
{
    table_cell(row, json_path_text(row->summary, path));
}

static void
add_status(struct table_row *row)
{
    const char *deleted = json_path_text(row->summary, "metadata.deletionTimestamp");

    table_cell(row, deleted != NULL ? "Terminating" : json_path_text(row->summary, "status.phase"));
}

static void
add_class(struct table_row *row)
{
    const char *old = annotation(row->summary, OLD_CLASS);

    table_cell(row, old != NULL ? old : json_path_text(row->summary, "spec.storageClassName"));
}

static void
add_attributes(struct table_row *row)
{
    const char *attributes = json_path_text(row->summary, "spec.volumeAttributesClassName");

    table_cell(row, attributes != NULL ? attributes : UNSET);
}

static void
add_mode(struct table_row *row)
{
    add_text(row, "spec.volumeMode");
}

/* Writes modes as "RWO,ROX", in upstream's order. */
static void
add_modes(struct table_row *row, const struct json *modes)
{
    static const struct {
        const char *name, *shown;
    } known[] = {
        {"ReadWriteOnce", "RWO"},
        {"ReadOnlyMany", "ROX"},
        {"ReadWriteMany", "RWX"},
        {"ReadWriteOncePod", "RWOP"},
    };
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (unsigned i = 0; i < ARRAY_SIZE(known); i++)
        for (uint32_t j = 0; j < json_count(modes); j++)
            if (json_is(json_at(modes, j), JSON_STRING)
                && strcmp(json_at(modes, j)->text, known[i].name) == 0) {
                strbuf_printf(&text, "%s%s", text.length > 0 ? "," : "", known[i].shown);
                break;
            }
    table_cell(row, text.text);
}

/* Columns that volumes and claims share. */
#define STORAGE_CLASS           COLUMN("StorageClass", add_class, "What kind it is of.")
#define VOLUME_ATTRIBUTES_CLASS COLUMN("VolumeAttributesClass", add_attributes, "Its attributes'.")
#define VOLUME_MODE             COLUMN("VolumeMode", add_mode, "Filesystem, or Block.", WIDE)

static void
add_volume_capacity(struct table_row *row)
{
    add_text(row, "spec.capacity.storage");
}

static void
add_volume_modes(struct table_row *row)
{
    add_modes(row, json_get_path(row->summary, "spec.accessModes"));
}

static void
add_reclaim_policy(struct table_row *row)
{
    add_text(row, "spec.persistentVolumeReclaimPolicy");
}

static void
add_claim(struct table_row *row)
{
    const struct json *claim = json_get_path(row->summary, "spec.claimRef");

    if (claim == NULL)
        table_cell(row, NULL);
    else
        table_cell(row, arena_printf(row->arena, "%s/%s",
                                     text_or_empty(json_get_text(claim, "namespace")),
                                     text_or_empty(json_get_text(claim, "name"))));
}

static void
add_reason(struct table_row *row)
{
    add_text(row, "status.reason");
}

/* clang-format off */
static const struct table_column volume_columns[] = {
    TABLE_NAME,
    COLUMN("Capacity", add_volume_capacity, "Its size."),
    COLUMN("Access Modes", add_volume_modes, "How it may be mounted."),
    COLUMN("Reclaim Policy", add_reclaim_policy,
        "What happens to it afterwards."),
    COLUMN("Status", add_status, "Available, Bound, Released or Failed."),
    COLUMN("Claim", add_claim, "Its claim: namespace/name."),
    STORAGE_CLASS,
    VOLUME_ATTRIBUTES_CLASS,
    COLUMN("Reason", add_reason, "Why it failed."),
    TABLE_AGE,
    VOLUME_MODE,
};
/* clang-format on */

const struct table persistent_volume_table = {
    TABLE_COLUMNS(volume_columns),
    .summarize = table_tree,
};

static const char *
volume_of(const struct table_row *row)
{
    return json_path_text(row->summary, "spec.volumeName");
}

static void
add_volume(struct table_row *row)
{
    table_cell(row, volume_of(row));
}

static void
add_claim_capacity(struct table_row *row)
{
    const char *capacity = json_path_text(row->summary, "status.capacity.storage");

    table_cell(row, volume_of(row) == NULL ? NULL : capacity != NULL ? capacity : "0");
}

static void
add_claim_modes(struct table_row *row)
{
    if (volume_of(row) == NULL)
        table_cell(row, NULL);
    else
        add_modes(row, json_get_path(row->summary, "status.accessModes"));
}

/* clang-format off */
static const struct table_column claim_columns[] = {
    TABLE_NAME,
    COLUMN("Status", add_status, "Pending, Bound or Lost."),
    COLUMN("Volume", add_volume, "The volume that it is bound to."),
    COLUMN("Capacity", add_claim_capacity, "The size of that volume."),
    COLUMN("Access Modes", add_claim_modes, "How it may be mounted."),
    STORAGE_CLASS,
    VOLUME_ATTRIBUTES_CLASS,
    TABLE_AGE,
    VOLUME_MODE,
};
/* clang-format on */

const struct table persistent_volume_claim_table = {
    TABLE_COLUMNS(claim_columns),
    .summarize = table_tree,
};

static bool
is_set(const struct json *tree, const char *name)
{
    const char *value = annotation(tree, name);

    return value != NULL && strcmp(value, "true") == 0;
}

static void
add_class_name(struct table_row *row)
{
    bool is_default = is_set(row->summary, IS_DEFAULT) || is_set(row->summary, WAS_A_DEFAULT);

    table_cell(row, arena_printf(row->arena, "%s%s", row->object->meta->name,
                                 is_default ? " (default)" : ""));
}

static void
add_provisioner(struct table_row *row)
{
    add_text(row, "provisioner");
}

static void
add_class_policy(struct table_row *row)
{
    const char *policy = json_get_text(row->summary, "reclaimPolicy");

    table_cell(row, policy != NULL ? policy : "Delete");
}

static void
add_binding_mode(struct table_row *row)
{
    const char *mode = json_get_text(row->summary, "volumeBindingMode");

    table_cell(row, mode != NULL ? mode : "Immediate");
}

static void
add_expansion(struct table_row *row)
{
    table_cell_bool(row, json_is_true(json_get(row->summary, "allowVolumeExpansion")));
}

/* clang-format off */
static const struct table_column class_columns[] = {
    COLUMN("Name", add_class_name, TABLE_NAME_HELP, FORMAT("name")),
    COLUMN("Provisioner", add_provisioner, "The provisioner of its volumes."),
    COLUMN("ReclaimPolicy", add_class_policy,
        "What happens to them afterwards."),
    COLUMN("VolumeBindingMode", add_binding_mode,
        "Immediate, or when a pod is placed."),
    COLUMN("AllowVolumeExpansion", add_expansion, "Whether they may grow."),
    TABLE_AGE,
};
/* clang-format on */

const struct table storage_class_table = {
    TABLE_COLUMNS(class_columns),
    .summarize = table_tree,
};
