/* SPDX-License-Identifier: Apache-2.0 */
/* pod_warnings.c - valid values of a pod that are probably mistakes
 *
 * Source: k8s.io/kubernetes/pkg/api/pod, warnings of 1.32.
 */
#include <inttypes.h>
#include <string.h>

#include "lib/api/node/node_selector_rules.h"
#include "lib/api/object/check.h"
#include "lib/api/object/resource_rules.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/storage/volume_source.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

static const struct {
    const char *annotation;
    const char *words;
} old_annotations[] = {
    {"scheduler.alpha.kubernetes.io/critical-pod",
     "non-functional in v1.16+; use the \"priorityClassName\" field instead"},
    {"security.alpha.kubernetes.io/sysctls",
     "non-functional in v1.11+; use the \"sysctls\" field instead"},
    {"security.alpha.kubernetes.io/unsafe-sysctls",
     "non-functional in v1.11+; use the \"sysctls\" field instead"},
};

static void
warn_of_label(struct causes *c, const struct json *object, const char *name)
{
    node_label_warn(c, object, name, true);
}

static void
warn_of_annotations(struct causes *c, const struct json *meta)
{
    const struct json *annotations = json_get(meta, "annotations");

    for (size_t i = 0; i < ARRAY_SIZE(old_annotations); i++)
        if (json_get(annotations, old_annotations[i].annotation) != NULL) {
            unsigned at =
                causes_enter_key(c, "metadata.annotations", old_annotations[i].annotation);

            causes_warn(c, "", "%s", old_annotations[i].words);
            causes_leave(c, at);
        }
}

static void
warn_of_node_affinity(struct causes *c, const struct json *affinity)
{
    static const char required[] =
        "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    static const char preferred[] = "preferredDuringSchedulingIgnoredDuringExecution";
    const struct json *list = json_get_path(affinity, required);

    for (uint32_t i = 0; i < json_count(list); i++) {
        unsigned at = causes_enter_index(c, required, i);

        node_selector_term_warn(c, json_at(list, i));
        causes_leave(c, at);
    }
    list = json_get(affinity, preferred);
    for (uint32_t i = 0; i < json_count(list); i++) {
        unsigned at = causes_enter_index(c, preferred, i);
        unsigned inside = causes_enter(c, "preference");

        node_selector_term_warn(c, json_get(json_at(list, i), "preference"));
        causes_leave(c, inside);
        causes_leave(c, at);
    }
}

static void
warn_of_selector(struct causes *c, const struct json *object)
{
    if (!check_is_set(object, "labelSelector"))
        causes_warn(c, "labelSelector", "a null labelSelector results in matching no pod");
}

static void
warn_of_pod_affinity(struct causes *c, const struct json *affinity, const char *name)
{
    static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
    static const char preferred[] = "preferredDuringSchedulingIgnoredDuringExecution";
    const struct json *part = json_get(affinity, name);
    const struct json *list = json_get(part, required);
    unsigned in_part = causes_enter(c, name);

    for (uint32_t i = 0; i < json_count(list); i++) {
        unsigned at = causes_enter_index(c, required, i);

        warn_of_selector(c, json_at(list, i));
        causes_leave(c, at);
    }
    list = json_get(part, preferred);
    for (uint32_t i = 0; i < json_count(list); i++) {
        unsigned at = causes_enter_index(c, preferred, i);
        unsigned inside = causes_enter(c, "podAffinityTerm");

        warn_of_selector(c, json_get(json_at(list, i), "podAffinityTerm"));
        causes_leave(c, inside);
        causes_leave(c, at);
    }
    causes_leave(c, in_part);
}

static void
warn_of_affinity(struct causes *c, const struct json *spec)
{
    const struct json *affinity = json_get(spec, "affinity");
    unsigned at = causes_enter(c, "affinity");
    unsigned inside = causes_enter(c, "nodeAffinity");

    warn_of_node_affinity(c, json_get(affinity, "nodeAffinity"));
    causes_leave(c, inside);
    warn_of_pod_affinity(c, affinity, "podAffinity");
    warn_of_pod_affinity(c, affinity, "podAntiAffinity");
    causes_leave(c, at);
}

static void
warn_of_spread(struct causes *c, const struct json *spec)
{
    const struct json *list = json_get(spec, "topologySpreadConstraints");

    for (uint32_t i = 0; i < json_count(list); i++) {
        unsigned at = causes_enter_index(c, "topologySpreadConstraints", i);

        warn_of_label(c, json_at(list, i), "topologyKey");
        warn_of_selector(c, json_at(list, i));
        causes_leave(c, at);
    }
}

static void
warn_of_volumes(struct causes *c, const struct json *spec)
{
    const struct json *list = json_get(spec, "volumes");

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *volume = json_at(list, i);
        unsigned at = causes_enter_index(c, "volumes", i);
        unsigned inside;

        volume_source_warn(c, volume);
        inside = causes_enter(c, "emptyDir.sizeLimit");
        byte_fraction_warn(c, json_get(volume, "emptyDir"), "sizeLimit");
        causes_leave(c, inside);
        causes_leave(c, at);
    }
}

/* Warns of elements whose member equals that of an earlier element. */
static void
warn_of_duplicates(struct causes *c, const struct json *spec, const char *list_name,
                   const char *name)
{
    const struct json *list = json_get(spec, list_name);
    CHECK_TEXTS(texts);

    for (uint32_t i = 0; i < json_count(list); i++) {
        unsigned at = causes_enter_index(c, list_name, i);

        if (!check_texts_add(&texts, check_text(json_at(list, i), name)))
            causes_warn(c, name, "duplicate %s \"%s\"", name, check_text(json_at(list, i), name));
        else if (strcmp(name, "name") == 0 && *check_text(json_at(list, i), name) == '\0')
            causes_warn(c, name, "invalid empty name \"\"");
        causes_leave(c, at);
    }
}

static void
warn_of_env(struct causes *c, const struct json *container)
{
    const struct json *list = json_get(container, "env");
    CHECK_TEXTS(names);

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *item = json_at(list, i);
        const char *name = check_text(item, "name");
        const char *value = check_text(item, "value");
        const char *ref = arena_printf(c->arena, "$(%s)", name);
        unsigned at = causes_enter_index(c, "env", i);

        if (!check_texts_add(&names, name)
            && (check_is_set(item, "valueFrom") || strcmp(value, ref) == 0
                || strstr(value, ref) == NULL))
            causes_warn(c, "",
                        "hides previous definition of \"%s\", which may be "
                        "dropped when using apply",
                        name);
        causes_leave(c, at);
    }
}

static void
warn_of_resources(struct causes *c, const struct json *container)
{
    static const char *const lists[] = {"limits", "requests"};
    static const char *const names[] = {"memory", "ephemeral-storage"};
    const struct json *resources = json_get(container, "resources");
    unsigned at = causes_enter(c, "resources");

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
            unsigned inside = causes_enter_key(c, lists[i], names[k]);

            byte_fraction_warn(c, json_get(resources, lists[i]), names[k]);
            causes_leave(c, inside);
        }
    causes_leave(c, at);
}

static void
warn_of_overhead(struct causes *c, const struct json *spec)
{
    static const char *const names[] = {"memory", "ephemeral-storage"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        unsigned at = causes_enter_key(c, "overhead", names[i]);

        byte_fraction_warn(c, json_get(spec, "overhead"), names[i]);
        causes_leave(c, at);
    }
}

static void
warn_of_containers(struct causes *c, const struct json *spec, const char *name)
{
    const struct json *list = json_get(spec, name);

    for (uint32_t i = 0; i < json_count(list); i++) {
        unsigned at = causes_enter_index(c, name, i);

        warn_of_env(c, json_at(list, i));
        warn_of_resources(c, json_at(list, i));
        causes_leave(c, at);
    }
}

/* --- ports -----------------------------------------------------------------
 */

static const char *const container_lists[] = {"initContainers", "containers"};

/* The way in which two ports of the same number and protocol collide; NULL:
 * they do not.
 */
static const char *
collision_of(const struct json *a, const struct json *b)
{
    int64_t port_a = json_get_int(a, "hostPort", 0);
    int64_t port_b = json_get_int(b, "hostPort", 0);
    const char *ip_a = check_text(a, "hostIP"), *ip_b = check_text(b, "hostIP");

    if (port_a == port_b && strcmp(ip_a, ip_b) == 0)
        return "duplicate";
    if (port_a == 0 || port_b == 0)
        return "overlapping";
    if (port_a == port_b && (*ip_a == '\0') != (*ip_b == '\0'))
        return "dangerously ambiguous";
    return NULL;
}

static bool
is_same_port(const struct json *a, const struct json *b)
{
    return json_get_int(a, "containerPort", 0) == json_get_int(b, "containerPort", 0)
           && strcmp(check_text(a, "protocol"), check_text(b, "protocol")) == 0;
}

/* The limit keeps comparing each port with all before it cheap. */
#define MOST_PORTS 256u

static unsigned
count_ports(const struct json *spec)
{
    unsigned n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(container_lists); i++) {
        const struct json *list = json_get(spec, container_lists[i]);

        for (uint32_t j = 0; j < json_count(list); j++)
            n += json_count(json_get(json_at(list, j), "ports"));
    }
    return n;
}

/* Warns of collisions of a port, at which the path points, with earlier ports.
 */
static void
warn_of_collisions(struct causes *c, const struct json *spec, const char *prefix,
                   const struct json *port)
{
    for (size_t i = 0; i < ARRAY_SIZE(container_lists); i++) {
        const struct json *list = json_get(spec, container_lists[i]);

        for (uint32_t j = 0; j < json_count(list); j++) {
            const struct json *ports = json_get(json_at(list, j), "ports");

            for (uint32_t k = 0; k < json_count(ports); k++) {
                const struct json *other = json_at(ports, k);
                const char *how = NULL;

                if (other == port)
                    return;
                if (is_same_port(other, port))
                    how = collision_of(port, other);
                if (how != NULL)
                    causes_warn(c, "", "%s port definition with %s%s[%u].ports[%u]", how, prefix,
                                container_lists[i], j, k);
            }
        }
    }
}

static void
warn_of_ports(struct causes *c, const struct json *spec)
{
    const char *prefix = arena_concat(c->arena, c->path, c->path_length > 0 ? "." : "");
    bool compares = count_ports(spec) <= MOST_PORTS;

    for (size_t i = 0; i < ARRAY_SIZE(container_lists); i++) {
        const struct json *list = json_get(spec, container_lists[i]);

        for (uint32_t j = 0; j < json_count(list); j++) {
            const struct json *ports = json_get(json_at(list, j), "ports");
            unsigned at = causes_enter_index(c, container_lists[i], j);

            for (uint32_t k = 0; k < json_count(ports); k++) {
                const struct json *port = json_at(ports, k);
                unsigned inside = causes_enter_index(c, "ports", k);

                if (*check_text(port, "hostIP") != '\0' && json_get_int(port, "hostPort", 0) == 0)
                    causes_warn(c, "",
                                "hostIP set without hostPort: {Name:%s "
                                "HostPort:0 ContainerPort:%" PRId64 " Protocol:%s HostIP:%s}",
                                check_text(port, "name"), json_get_int(port, "containerPort", 0),
                                check_text(port, "protocol"), check_text(port, "hostIP"));
                if (compares)
                    warn_of_collisions(c, spec, prefix, port);
                causes_leave(c, inside);
            }
            causes_leave(c, at);
        }
    }
}

void
pod_warn(struct causes *c, const struct json *pod)
{
    const struct json *spec = json_get(pod, "spec");
    unsigned at;

    warn_of_annotations(c, json_get(pod, "metadata"));
    pod_annotations_warn(c, pod);
    at = causes_enter(c, "spec");
    node_labels_warn(c, spec, "nodeSelector");
    warn_of_affinity(c, spec);
    warn_of_spread(c, spec);
    warn_of_volumes(c, spec);
    warn_of_duplicates(c, spec, "hostAliases", "ip");
    warn_of_duplicates(c, spec, "imagePullSecrets", "name");
    warn_of_overhead(c, spec);
    warn_of_containers(c, spec, "initContainers");
    warn_of_containers(c, spec, "containers");
    warn_of_ports(c, spec);
    if (json_get_int(spec, "terminationGracePeriodSeconds", 0) < 0)
        causes_warn(c, "terminationGracePeriodSeconds",
                    "must be >= 0; negative values are invalid and will be "
                    "treated as 1");
    causes_leave(c, at);
}
