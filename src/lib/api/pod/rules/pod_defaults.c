/* SPDX-License-Identifier: Apache-2.0 */
/* pod_defaults.c - default values of a pod spec
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go of 1.32.
 */
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/object/resource_rules.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

static void
default_text(struct arena *arena, struct json *object, const char *name, const char *text)
{
    if (*check_text(object, name) == '\0')
        json_set_string(arena, object, name, text);
}

static void
default_int(struct arena *arena, struct json *object, const char *name, int64_t value)
{
    if (!check_is_set(object, name))
        json_set_int(arena, object, name, value);
}

/* Zero means the default as well, because upstream has no pointer here. */
static void
default_count(struct arena *arena, struct json *object, const char *name, int64_t value)
{
    if (json_get_int(object, name, 0) == 0)
        json_set_int(arena, object, name, value);
}

/* --- references and handlers ---------------------------------------------- */

static void
set_reference_defaults(struct arena *arena, struct json *holder)
{
    struct json *field = json_get(holder, "fieldRef");

    if (json_is(field, JSON_OBJECT))
        default_text(arena, field, "apiVersion", "v1");
}

static void
set_handler_defaults(struct arena *arena, struct json *handler)
{
    struct json *http = json_get(handler, "httpGet");
    struct json *grpc = json_get(handler, "grpc");

    if (json_is(http, JSON_OBJECT)) {
        default_text(arena, http, "path", "/");
        default_text(arena, http, "scheme", "HTTP");
    }
    if (json_is(grpc, JSON_OBJECT) && !check_is_set(grpc, "service"))
        json_set_string(arena, grpc, "service", "");
}

static void
set_probe_defaults(struct arena *arena, struct json *probe)
{
    if (!json_is(probe, JSON_OBJECT))
        return;
    set_handler_defaults(arena, probe);
    default_count(arena, probe, "timeoutSeconds", 1);
    default_count(arena, probe, "periodSeconds", 10);
    default_count(arena, probe, "successThreshold", 1);
    default_count(arena, probe, "failureThreshold", 3);
}

/* --- containers ----------------------------------------------------------- */

/* An image without tag or digest has the tag "latest". */
static bool
is_latest(const char *image)
{
    const char *slash = strrchr(image, '/');
    const char *name = slash != NULL ? slash + 1 : image;
    const char *tag = strchr(name, ':');

    if (*name == '\0' || strchr(name, '@') != NULL)
        return false;
    return tag == NULL || strcmp(tag, ":latest") == 0;
}

static void
set_port_defaults(struct arena *arena, struct json *container)
{
    struct json *ports = json_get(container, "ports");

    for (uint32_t i = 0; i < json_count(ports); i++)
        default_text(arena, json_at(ports, i), "protocol", "TCP");
}

static void
set_container_defaults(struct arena *arena, struct json *container)
{
    struct json *env = json_get(container, "env");
    struct json *lifecycle = json_get(container, "lifecycle");
    struct json *resources = json_get(container, "resources");

    default_text(arena, container, "imagePullPolicy",
                 is_latest(check_text(container, "image")) ? "Always" : "IfNotPresent");
    default_text(arena, container, "terminationMessagePath", "/dev/termination-log");
    default_text(arena, container, "terminationMessagePolicy", "File");
    set_port_defaults(arena, container);
    for (uint32_t i = 0; i < json_count(env); i++)
        set_reference_defaults(arena, json_get(json_at(env, i), "valueFrom"));
    set_handler_defaults(arena, json_get(lifecycle, "postStart"));
    set_handler_defaults(arena, json_get(lifecycle, "preStop"));
    set_probe_defaults(arena, json_get(container, "livenessProbe"));
    set_probe_defaults(arena, json_get(container, "readinessProbe"));
    set_probe_defaults(arena, json_get(container, "startupProbe"));
    resource_list_set_defaults(arena, resources, "limits");
    resource_list_set_defaults(arena, resources, "requests");
}

static void
each_container(struct arena *arena, struct json *spec,
               void (*set)(struct arena *arena, struct json *container))
{
    static const char *const lists[] = {
        "initContainers",
        "containers",
        "ephemeralContainers",
    };

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        struct json *list = json_get(spec, lists[i]);

        for (uint32_t j = 0; j < json_count(list); j++)
            set(arena, json_at(list, j));
    }
}

/* --- volumes -------------------------------------------------------------- */

/* Default values of volume sources. */
static const struct {
    const char *source;
    const char *name;
    const char *text; /* NULL: use the number */
    int64_t number;
} volume_defaults[] = {
    {"secret", "defaultMode", NULL, 0644},
    {"configMap", "defaultMode", NULL, 0644},
    {"downwardAPI", "defaultMode", NULL, 0644},
    {"projected", "defaultMode", NULL, 0644},
    {"hostPath", "type", "", 0},
    {"iscsi", "iscsiInterface", "default", 0},
    {"rbd", "pool", "rbd", 0},
    {"rbd", "user", "admin", 0},
    {"rbd", "keyring", "/etc/ceph/keyring", 0},
    {"azureDisk", "cachingMode", "ReadWrite", 0},
    {"azureDisk", "kind", "Shared", 0},
    {"azureDisk", "fsType", "ext4", 0},
    {"scaleIO", "storageMode", "ThinProvisioned", 0},
    {"scaleIO", "fsType", "xfs", 0},
};

static void
set_downward_defaults(struct arena *arena, const struct json *source)
{
    struct json *items = json_get(source, "items");

    for (uint32_t i = 0; i < json_count(items); i++)
        set_reference_defaults(arena, json_at(items, i));
}

static void
set_projected_defaults(struct arena *arena, const struct json *projected)
{
    struct json *sources = json_get(projected, "sources");

    for (uint32_t i = 0; i < json_count(sources); i++) {
        struct json *token = json_get(json_at(sources, i), "serviceAccountToken");

        if (json_is(token, JSON_OBJECT))
            default_int(arena, token, "expirationSeconds", 3600);
        set_downward_defaults(arena, json_get(json_at(sources, i), "downwardAPI"));
    }
}

static void
set_volume_defaults(struct arena *arena, struct json *volume)
{
    struct json *template = json_get_path(volume, "ephemeral.volumeClaimTemplate.spec");

    if (volume->count == 1 && check_is_set(volume, "name"))
        json_set(arena, volume, "emptyDir", json_object(arena));
    for (size_t i = 0; i < ARRAY_SIZE(volume_defaults); i++) {
        struct json *source = json_get(volume, volume_defaults[i].source);
        const char *name = volume_defaults[i].name;

        if (!json_is(source, JSON_OBJECT) || check_is_set(source, name))
            continue;
        if (volume_defaults[i].text != NULL)
            json_set_string(arena, source, name, volume_defaults[i].text);
        else
            json_set_int(arena, source, name, volume_defaults[i].number);
    }
    set_downward_defaults(arena, json_get(volume, "downwardAPI"));
    set_projected_defaults(arena, json_get(volume, "projected"));
    if (json_is(template, JSON_OBJECT))
        default_text(arena, template, "volumeMode", "Filesystem");
}

static void
pod_volumes_set_defaults(struct arena *arena, struct json *spec)
{
    struct json *volumes = json_get(spec, "volumes");

    for (uint32_t i = 0; i < json_count(volumes); i++)
        set_volume_defaults(arena, json_at(volumes, i));
}

/* --- the spec ------------------------------------------------------------- */

void
pod_spec_set_defaults(struct arena *arena, struct json *spec)
{
    default_text(arena, spec, "dnsPolicy", "ClusterFirst");
    default_text(arena, spec, "restartPolicy", "Always");
    default_text(arena, spec, "schedulerName", "default-scheduler");
    default_int(arena, spec, "terminationGracePeriodSeconds", 30);
    if (json_get_int(spec, "terminationGracePeriodSeconds", 0) < 0)
        json_set_int(arena, spec, "terminationGracePeriodSeconds", 1);
    if (!json_is(json_get(spec, "securityContext"), JSON_OBJECT))
        json_set(arena, spec, "securityContext", json_object(arena));
    /* The new field and its old name have the same value. */
    if (*check_text(spec, "serviceAccountName") != '\0')
        json_set_string(arena, spec, "serviceAccount", check_text(spec, "serviceAccountName"));
    else if (*check_text(spec, "serviceAccount") != '\0')
        json_set_string(arena, spec, "serviceAccountName", check_text(spec, "serviceAccount"));
    each_container(arena, spec, set_container_defaults);
    pod_volumes_set_defaults(arena, spec);
    resource_list_set_defaults(arena, spec, "overhead");
}

/* A resource with a limit and no request gets the limit as its request. */
static void
set_requests(struct arena *arena, struct json *container)
{
    struct json *resources = json_get(container, "resources");
    const struct json *limits = json_get(resources, "limits");
    struct json *requests;

    if (json_count(limits) == 0)
        return;
    requests = json_make_object(arena, resources, "requests");
    for (uint32_t i = 0; i < limits->count; i++)
        if (json_get(requests, limits->members[i].name) == NULL)
            json_set(arena, requests, limits->members[i].name,
                     json_dup(arena, limits->members[i].value));
}

static void
set_host_ports(struct arena *arena, struct json *container)
{
    struct json *ports = json_get(container, "ports");

    for (uint32_t i = 0; i < json_count(ports); i++)
        default_count(arena, json_at(ports, i), "hostPort",
                      json_get_int(json_at(ports, i), "containerPort", 0));
}

void
pod_only_set_defaults(struct arena *arena, struct json *spec)
{
    each_container(arena, spec, set_requests);
    if (!check_is_set(spec, "enableServiceLinks"))
        json_set_bool(arena, spec, "enableServiceLinks", true);
    if (json_is_true(json_get(spec, "hostNetwork")))
        each_container(arena, spec, set_host_ports);
}
