/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/pod/pod_records.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/value/name.h"
#include "lib/api/value/quantity.h"
#include "lib/api/value/rows.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/json/json.h"

#define MODE_MAX 0777

static void
check_mode(struct causes *c, const struct json *object, const char *name)
{
    int64_t mode = json_get_int(object, name, 0);

    if (mode < 0 || mode > MODE_MAX)
        causes_add(c, CAUSE_INVALID, name, json_get(object, name),
                   "must be a number between 0 and 0777 (octal), both "
                   "inclusive");
}

static void
check_items(struct causes *c, const struct json *source)
{
    const struct json *items = json_get(source, "items");

    for (uint32_t i = 0; i < json_count(items); i++) {
        const struct json *item = json_at(items, i);
        unsigned at = causes_enter_index(c, "items", i);

        check_present(c, item, "key", "");
        if (check_present(c, item, "path", ""))
            check_descending_path(c, item, "path", "path");
        check_mode(c, item, "mode");
        causes_leave(c, at);
    }
}

static void
check_empty_dir(struct causes *c, const struct json *source)
{
    struct quantity size;
    const char *limit = json_get_text(source, "sizeLimit");

    if (limit != NULL && quantity_parse(limit, &size) == 0 && quantity_sign(&size) < 0)
        causes_add(c, CAUSE_FORBIDDEN, "sizeLimit", NULL,
                   "SizeLimit field must be a valid resource quantity");
}

static void
check_host_path(struct causes *c, const struct json *source)
{
    if (check_present(c, source, "path", ""))
        check_no_parent_references(c, source, "path");
    check_one_of(c, source, "type",
                 CHECK_VALUES("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate",
                              "File", "FileOrCreate", "Socket"));
}

static void
check_config_map(struct causes *c, const struct json *source)
{
    check_present(c, source, "name", "");
    check_mode(c, source, "defaultMode");
    check_items(c, source);
}

static void
check_secret(struct causes *c, const struct json *source)
{
    check_present(c, source, "secretName", "");
    check_mode(c, source, "defaultMode");
    check_items(c, source);
}

static void
check_nfs(struct causes *c, const struct json *source)
{
    check_present(c, source, "server", "");
    if (check_present(c, source, "path", "") && *check_text(source, "path") != '/')
        causes_add(c, CAUSE_INVALID, "path", json_get(source, "path"), "must be an absolute path");
}

static void
check_claim(struct causes *c, const struct json *source)
{
    check_present(c, source, "claimName", "");
}

static void
check_downward_files(struct causes *c, const struct json *source)
{
    const struct json *items = json_get(source, "items");

    for (uint32_t i = 0; i < json_count(items); i++) {
        const struct json *file = json_at(items, i);
        bool has_field = check_is_set(file, "fieldRef");
        bool has_resource = check_is_set(file, "resourceFieldRef");
        unsigned at = causes_enter(c, "");

        if (check_present(c, file, "path", ""))
            check_descending_path(c, file, "path", "path");
        if (has_field) {
            unsigned inside = causes_enter(c, "fieldRef");

            field_reference_check(c, json_get(file, "fieldRef"), FIELD_REFERENCE_IN_VOLUME);
            causes_leave(c, inside);
            if (has_resource)
                causes_add(c, CAUSE_INVALID, "", json_string(c->arena, "resource"),
                           "fieldRef and resourceFieldRef can not be specified "
                           "simultaneously");
        } else if (has_resource) {
            unsigned inside = causes_enter(c, "resourceFieldRef");

            resource_reference_check(c, json_get(file, "resourceFieldRef"),
                                     FIELD_REFERENCE_IN_VOLUME);
            causes_leave(c, inside);
        } else {
            causes_add(c, CAUSE_REQUIRED, "fieldRef", NULL,
                       "one of fieldRef and resourceFieldRef is required");
        }
        check_mode(c, file, "mode");
        causes_leave(c, at);
    }
}

static void
check_downward(struct causes *c, const struct json *source)
{
    check_mode(c, source, "defaultMode");
    check_downward_files(c, source);
}

static void
check_service_account_token(struct causes *c, const struct json *token)
{
    int64_t seconds = json_get_int(token, "expirationSeconds", 3600);

    if (seconds < 10 * 60)
        causes_add(c, CAUSE_INVALID, "expirationSeconds", json_get(token, "expirationSeconds"),
                   "may not specify a duration less than 10 minutes");
    if (seconds > (int64_t)1 << 32)
        causes_add(c, CAUSE_INVALID, "expirationSeconds", json_get(token, "expirationSeconds"),
                   "may not specify a duration larger than 2^32 seconds");
    check_present(c, token, "path", "");
}

/* Checks one of the sources that a projected volume combines. */
static void
check_projection(struct causes *c, const struct json *source)
{
    for (uint32_t i = 0; i < json_count(source); i++) {
        const char *name = source->members[i].name;
        const struct json *part = source->members[i].value;
        unsigned at = causes_enter(c, name);

        if (i > 0) {
            causes_add(c, CAUSE_FORBIDDEN, "", NULL,
                       "may not specify more than 1 volume type per source");
        } else if (strcmp(name, "secret") == 0 || strcmp(name, "configMap") == 0) {
            check_present(c, part, "name", "");
            check_items(c, part);
        } else if (strcmp(name, "downwardAPI") == 0) {
            check_downward_files(c, part);
        } else if (strcmp(name, "serviceAccountToken") == 0) {
            check_service_account_token(c, part);
        }
        causes_leave(c, at);
    }
    if (json_count(source) == 0)
        causes_add(c, CAUSE_REQUIRED, "", NULL,
                   "must specify at least one of: secret, configMap, "
                   "downwardAPI, serviceAccountToken, clusterTrustBundle");
}

static void
check_projected(struct causes *c, const struct json *source)
{
    const struct json *sources = json_get(source, "sources");

    check_mode(c, source, "defaultMode");
    for (uint32_t i = 0; i < json_count(sources); i++) {
        unsigned at = causes_enter_index(c, "sources", i);

        check_projection(c, json_at(sources, i));
        causes_leave(c, at);
    }
}

static void
check_ephemeral(struct causes *c, const struct json *source)
{
    check_present(c, source, "volumeClaimTemplate", "");
}

/* For storage systems that Kiln does not serve, only checks that the required
 * members are given.
 */
static void
check_required_members(struct causes *c, const char *name, const struct json *source)
{
    const struct field *f = record_find(&pod_volume_record, name);

    for (unsigned i = 0; f != NULL && i < f->of->n_fields; i++)
        if ((f->of->fields[i].flags & REQUIRED) != 0 && f->of->fields[i].type == FIELD_STRING)
            check_present(c, source, f->of->fields[i].name, "");
}

static const struct {
    const char *name;
    void (*check)(struct causes *c, const struct json *source);
} sources[] = {
    {"emptyDir", check_empty_dir},
    {"hostPath", check_host_path},
    {"secret", check_secret},
    {"nfs", check_nfs},
    {"persistentVolumeClaim", check_claim},
    {"downwardAPI", check_downward},
    {"configMap", check_config_map},
    {"projected", check_projected},
    {"ephemeral", check_ephemeral},
};

static void
check_source(struct causes *c, const char *name, const struct json *source)
{
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
        if (strcmp(sources[i].name, name) == 0) {
            sources[i].check(c, source);
            return;
        }
    check_required_members(c, name, source);
}

/* The order in which upstream checks the sources; the first one counts. */
static const char *const order[] = {
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "flocker",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
};

static void
check_volume_source(struct causes *c, const struct json *volume)
{
    unsigned found = 0;

    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        const struct json *source = json_get(volume, order[i]);
        unsigned at;

        if (!json_is(source, JSON_OBJECT))
            continue;
        at = causes_enter(c, order[i]);
        if (++found > 1)
            causes_add(c, CAUSE_FORBIDDEN, "", NULL, "may not specify more than 1 volume type");
        else
            check_source(c, order[i], source);
        causes_leave(c, at);
    }
    if (found == 0)
        causes_add(c, CAUSE_REQUIRED, "", NULL, "must specify a volume type");
}

/* Whether the volume is valid by itself. */
static bool
is_right(const struct json *volume)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct causes c;

    causes_init(&c, arena);
    check_volume_source(&c, volume);
    return c.count == 0 && name_is_valid(NAME_DNS_LABEL, check_text(volume, "name"));
}

/* Among volumes with the same name the map has the first valid one, or the last
 * one if none before it was valid; whether the last one is valid is not checked
 * here. Returns whether a valid volume had the name already.
 */
static bool
put_volume(struct map *volumes, const struct json *volume)
{
    const char *name = check_text(volume, "name");
    const struct json *earlier = map_find(volumes, name);

    if (earlier != NULL && is_right(earlier))
        return true;
    map_put(volumes, name, (void *)(uintptr_t)volume);
    return false;
}

struct map *
pod_volumes_map(const struct json *spec)
{
    const struct json *volumes = json_get(spec, "volumes");
    struct map *map = map_new();

    for (uint32_t i = 0; i < json_count(volumes); i++)
        put_volume(map, json_at(volumes, i));
    return map;
}

const struct json *
pod_volumes_find(const struct map *volumes, const char *name)
{
    const struct json *volume = map_find(volumes, name);

    return volume != NULL && is_right(volume) ? volume : NULL;
}

void
pod_volumes_check(struct causes *c, const struct json *spec)
{
    const struct json *volumes = json_get(spec, "volumes");
    CLEANUP(map_freep) struct map *map = map_new();

    for (uint32_t i = 0; i < json_count(volumes); i++) {
        const struct json *volume = json_at(volumes, i);
        unsigned at = causes_enter_index(c, "volumes", i);

        check_volume_source(c, volume);
        if (check_present(c, volume, "name", ""))
            check_name(c, volume, "name", NAME_DNS_LABEL);
        if (put_volume(map, volume))
            causes_add(c, CAUSE_DUPLICATE, "name", json_get(volume, "name"), "%s", "");
        causes_leave(c, at);
    }
}
