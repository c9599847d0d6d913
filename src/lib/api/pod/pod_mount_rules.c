/* SPDX-License-Identifier: Apache-2.0 */
/* pod_mount_rules.c - validation of a container's mounts and devices */
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/json/json.h"

/* All mounts and devices of a container, with the paths and names seen so far.
 */
struct mounts {
    const struct map *volumes;
    struct check_texts mount_names, mount_paths;
    struct check_texts device_names, device_paths;
    struct check_texts seen_names, seen_paths;
};

static void
mounts_fini(struct mounts *m)
{
    check_texts_fini(&m->mount_names);
    check_texts_fini(&m->mount_paths);
    check_texts_fini(&m->device_names);
    check_texts_fini(&m->device_paths);
    check_texts_fini(&m->seen_names);
    check_texts_fini(&m->seen_paths);
}

static bool
is_privileged(const struct json *container)
{
    return json_is_true(json_get(json_get(container, "securityContext"), "privileged"));
}

/* The paths of these causes have no index, as in upstream. */
static void
check_mount_options(struct causes *c, const struct json *container, const struct json *mount)
{
    const char *propagation = check_text(mount, "mountPropagation");
    const char *recursive = check_text(mount, "recursiveReadOnly");
    unsigned at = causes_enter(c, "volumeMounts");

    check_descending_path(c, mount, "subPath", "subPath");
    check_descending_path(c, mount, "subPathExpr", "subPathExpr");
    check_one_of(c, mount, "mountPropagation",
                 CHECK_VALUES("None", "HostToContainer", "Bidirectional"));
    if (strcmp(propagation, "Bidirectional") == 0 && !is_privileged(container))
        causes_add(c, CAUSE_FORBIDDEN, "mountPropagation", NULL,
                   "Bidirectional mount propagation is available only to "
                   "privileged containers");
    check_one_of(c, mount, "recursiveReadOnly", CHECK_VALUES("Disabled", "Enabled", "IfPossible"));
    if (*recursive != '\0' && strcmp(recursive, "Disabled") != 0) {
        if (!json_is_true(json_get(mount, "readOnly")))
            causes_add(c, CAUSE_FORBIDDEN, "recursiveReadOnly", NULL,
                       "may only be specified when readOnly is true");
        if (*propagation != '\0' && strcmp(propagation, "None") != 0)
            causes_add(c, CAUSE_FORBIDDEN, "recursiveReadOnly", NULL,
                       "may only be specified when mountPropagation is None "
                       "or not specified");
    }
    causes_leave(c, at);
}

static void
check_mount(struct causes *c, struct mounts *m, const struct json *mount)
{
    const char *name = check_text(mount, "name");
    const char *path = check_text(mount, "mountPath");

    check_present(c, mount, "name", "");
    if (pod_volumes_find(m->volumes, name) == NULL)
        causes_add(c, CAUSE_NOT_FOUND, "name", json_get(mount, "name"), "%s", "");
    check_present(c, mount, "mountPath", "");
    if (!check_texts_add(&m->seen_paths, path))
        causes_add(c, CAUSE_INVALID, "mountPath", json_get(mount, "mountPath"), "must be unique");
    if (check_texts_has(&m->device_names, name))
        causes_add(c, CAUSE_INVALID, "name", json_get(mount, "name"),
                   "must not already exist in volumeDevices");
    if (check_texts_has(&m->device_paths, path))
        causes_add(c, CAUSE_INVALID, "mountPath", json_get(mount, "mountPath"),
                   "must not already exist as a path in volumeDevices");
    if (*check_text(mount, "subPath") != '\0' && *check_text(mount, "subPathExpr") != '\0')
        causes_add(c, CAUSE_INVALID, "subPathExpr", json_get(mount, "subPathExpr"),
                   "subPathExpr and subPath are mutually exclusive");
}

static void
check_device(struct causes *c, struct mounts *m, const struct json *device)
{
    const char *name = check_text(device, "name");
    const char *path = check_text(device, "devicePath");
    const struct json *volume = pod_volumes_find(m->volumes, name);

    check_present(c, device, "name", "");
    if (!check_texts_add(&m->seen_names, name) || check_texts_has(&m->mount_names, name))
        causes_add(c, CAUSE_INVALID, "name", json_get(device, "name"), "must be unique");
    if (volume == NULL)
        causes_add(c, CAUSE_NOT_FOUND, "name", json_get(device, "name"), "%s", "");
    else if (!check_is_set(volume, "persistentVolumeClaim") && !check_is_set(volume, "ephemeral"))
        causes_add(c, CAUSE_INVALID, "name", json_get(device, "name"),
                   "can only use volume source type of PersistentVolumeClaim "
                   "or Ephemeral for block mode");
    if (check_present(c, device, "devicePath", ""))
        check_no_parent_references(c, device, "devicePath");
    if (!check_texts_add(&m->seen_paths, path) || check_texts_has(&m->mount_paths, path))
        causes_add(c, CAUSE_INVALID, "devicePath", json_get(device, "devicePath"),
                   "must be unique");
}

void
container_mounts_check(struct causes *c, const struct map *volumes, const struct json *container)
{
    const struct json *mounts = json_get(container, "volumeMounts");
    const struct json *devices = json_get(container, "volumeDevices");
    CLEANUP(mounts_fini) struct mounts m = {.volumes = volumes};

    check_texts_add_list(&m.mount_names, mounts, "name");
    check_texts_add_list(&m.mount_paths, mounts, "mountPath");
    check_texts_add_list(&m.device_names, devices, "name");
    check_texts_add_list(&m.device_paths, devices, "devicePath");

    for (uint32_t i = 0; i < json_count(mounts); i++) {
        unsigned at = causes_enter_index(c, "volumeMounts", i);

        check_mount(c, &m, json_at(mounts, i));
        causes_leave(c, at);
        check_mount_options(c, container, json_at(mounts, i));
    }
    check_texts_fini(&m.seen_paths);
    m.seen_paths = (struct check_texts){0};
    for (uint32_t i = 0; i < json_count(devices); i++) {
        unsigned at = causes_enter_index(c, "volumeDevices", i);

        check_device(c, &m, json_at(devices, i));
        causes_leave(c, at);
    }
}
