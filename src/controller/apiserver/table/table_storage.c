/* SPDX-License-Identifier: Apache-2.0 */
/* table_storage.c - the columns of volumes, claims and classes of storage */
#include <string.h>

#include "controller/apiserver/table/table.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define UNSET         "<unset>"
#define OLD_CLASS     "volume.beta.kubernetes.io/storage-class"
#define IS_DEFAULT    "storageclass.kubernetes.io/is-default-class"
#define WAS_A_DEFAULT "storageclass.beta.kubernetes.io/is-default-class"

#define VOLUME_ATTRIBUTES_CLASS                                        \
    {                                                                  \
        "VolumeAttributesClass", "string", NULL, 0, "Its attributes'." \
    }
#define STORAGE_CLASS                      \
    {                                      \
        "StorageClass", "string", NULL, 0, \
            "What kind it "                \
            "is of."                       \
    }
#define VOLUME_MODE                                              \
    {                                                            \
        "VolumeMode", "string", NULL, 1, "Filesystem, or Block." \
    }

static const char *
annotation(const struct json *tree, const char *name)
{
    return json_get_text(json_get_path(tree, "metadata.annotations"), name);
}

static const char *
or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static const char *
phase_of(const struct json *tree)
{
    return json_path_text(tree, "metadata.deletionTimestamp") != NULL
               ? "Terminating"
               : json_path_text(tree, "status.phase");
}

static void
add_class(struct table_row *row, const struct json *tree)
{
    const char *old = annotation(tree, OLD_CLASS);
    const char *attributes =
        json_path_text(tree, "spec.volumeAttributesClassName");

    table_cell(row,
               old != NULL ? old
                           : json_path_text(tree, "spec.storageClassName"));
    table_cell(row, attributes != NULL ? attributes : UNSET);
}

/* "RWO,ROX", in upstream's order. */
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
                strbuf_printf(&text,
                              "%s%s",
                              text.length > 0 ? "," : "",
                              known[i].shown);
                break;
            }
    table_cell(row, text.text);
}

static const struct table_column volume_columns[] = {
    TABLE_NAME,
    {"Capacity", "string", NULL, 0, "How much it holds."},
    {"Access Modes", "string", NULL, 0, "How it may be mounted."},
    {"Reclaim Policy", "string", NULL, 0, "What becomes of it afterwards."},
    {"Status", "string", NULL, 0, "Available, Bound, Released or Failed."},
    {"Claim", "string", NULL, 0, "Whose it is: namespace/name."},
    STORAGE_CLASS,
    VOLUME_ATTRIBUTES_CLASS,
    {"Reason", "string", NULL, 0, "Why it failed."},
    TABLE_AGE,
    VOLUME_MODE,
};

static void
add_volume_cells(struct table_row *row, const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *tree = object_tree(object, arena);
    const struct json *claim = json_get_path(tree, "spec.claimRef");
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (claim != NULL)
        strbuf_printf(&text,
                      "%s/%s",
                      or_empty(json_get_text(claim, "namespace")),
                      or_empty(json_get_text(claim, "name")));
    table_cell(row, object->meta->name);
    table_cell(row, json_path_text(tree, "spec.capacity.storage"));
    add_modes(row, json_get_path(tree, "spec.accessModes"));
    table_cell(row, json_path_text(tree, "spec.persistentVolumeReclaimPolicy"));
    table_cell(row, phase_of(tree));
    table_cell(row, text.text);
    add_class(row, tree);
    table_cell(row, json_path_text(tree, "status.reason"));
    table_cell_age(row, object->meta->created_at_us);
    table_cell(row, json_path_text(tree, "spec.volumeMode"));
}

const struct table persistent_volume_table = {
    .kind = &persistent_volume_kind,
    .columns = volume_columns,
    .n_columns = ARRAY_SIZE(volume_columns),
    .add_cells = add_volume_cells,
};

static const struct table_column claim_columns[] = {
    TABLE_NAME,
    {"Status", "string", NULL, 0, "Pending, Bound or Lost."},
    {"Volume", "string", NULL, 0, "What it got."},
    {"Capacity", "string", NULL, 0, "How much that holds."},
    {"Access Modes", "string", NULL, 0, "How it may be mounted."},
    STORAGE_CLASS,
    VOLUME_ATTRIBUTES_CLASS,
    TABLE_AGE,
    VOLUME_MODE,
};

static void
add_claim_cells(struct table_row *row, const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *tree = object_tree(object, arena);
    const char *volume = json_path_text(tree, "spec.volumeName");
    const char *capacity = json_path_text(tree, "status.capacity.storage");

    table_cell(row, object->meta->name);
    table_cell(row, phase_of(tree));
    table_cell(row, volume);
    if (volume == NULL) {
        table_cell(row, NULL);
        table_cell(row, NULL);
    } else {
        table_cell(row, capacity != NULL ? capacity : "0");
        add_modes(row, json_get_path(tree, "status.accessModes"));
    }
    add_class(row, tree);
    table_cell_age(row, object->meta->created_at_us);
    table_cell(row, json_path_text(tree, "spec.volumeMode"));
}

const struct table persistent_volume_claim_table = {
    .kind = &persistent_volume_claim_kind,
    .columns = claim_columns,
    .n_columns = ARRAY_SIZE(claim_columns),
    .add_cells = add_claim_cells,
};

static const struct table_column class_columns[] = {
    TABLE_NAME,
    {"Provisioner", "string", NULL, 0, "Who makes its volumes."},
    {"ReclaimPolicy", "string", NULL, 0, "What becomes of them afterwards."},
    {"VolumeBindingMode",
     "string",
     NULL,
     0,
     "Immediate, or when a pod is placed."},
    {"AllowVolumeExpansion", "string", NULL, 0, "Whether they may grow."},
    TABLE_AGE,
};

static bool
is_set(const struct json *tree, const char *name)
{
    const char *value = annotation(tree, name);

    return value != NULL && strcmp(value, "true") == 0;
}

static void
add_class_cells(struct table_row *row, const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *tree = object_tree(object, arena);
    const char *policy = json_get_text(tree, "reclaimPolicy");
    const char *mode = json_get_text(tree, "volumeBindingMode");
    CLEANUP_STRBUF struct strbuf name = STRBUF_INIT;

    strbuf_add_text(&name, object->meta->name);
    if (is_set(tree, IS_DEFAULT) || is_set(tree, WAS_A_DEFAULT))
        strbuf_add_text(&name, " (default)");
    table_cell(row, name.text);
    table_cell(row, json_get_text(tree, "provisioner"));
    table_cell(row, policy != NULL ? policy : "Delete");
    table_cell(row, mode != NULL ? mode : "Immediate");
    table_cell_bool(row, json_is_true(json_get(tree, "allowVolumeExpansion")));
    table_cell_age(row, object->meta->created_at_us);
}

const struct table storage_class_table = {
    .kind = &storage_class_kind,
    .columns = class_columns,
    .n_columns = ARRAY_SIZE(class_columns),
    .add_cells = add_class_cells,
};
