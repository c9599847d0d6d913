/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/object/resource_rules.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/value/name.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/json/json.h"

static void
check_ports(struct causes *c, const struct json *container)
{
    const struct json *ports = json_get(container, "ports");
    CHECK_TEXTS(names);

    for (uint32_t i = 0; i < json_count(ports); i++) {
        const struct json *port = json_at(ports, i);
        const char *name = check_text(port, "name");
        unsigned at = causes_enter_index(c, "ports", i);

        if (*name != '\0' && check_name(c, port, "name", NAME_PORT)
            && !check_texts_add(&names, name))
            causes_add(c, CAUSE_DUPLICATE, "name", json_get(port, "name"), "%s", "");
        if (json_get_int(port, "containerPort", 0) == 0)
            causes_add(c, CAUSE_REQUIRED, "containerPort", NULL, "%s", "");
        else
            check_port(c, port, "containerPort");
        if (json_get_int(port, "hostPort", 0) != 0)
            check_port(c, port, "hostPort");
        check_one_of(c, port, "protocol", CHECK_VALUES("SCTP", "TCP", "UDP"));
        causes_leave(c, at);
    }
}

static void
check_is_free(struct causes *c, struct check_texts *taken, const struct json *port, int64_t number)
{
    const char *text = arena_printf(c->arena, "%s/%s/%" PRId64, check_text(port, "protocol"),
                                    check_text(port, "hostIP"), number);

    if (!check_texts_add(taken, text))
        causes_add(c, CAUSE_DUPLICATE, "hostPort", json_string(c->arena, text), "%s", "");
}

/* Checks that host ports are unique among the containers `first` to `last`. */
static void
check_host_ports(struct causes *c, const struct json *containers, const char *shown_as,
                 uint32_t first, uint32_t last)
{
    CHECK_TEXTS(taken);

    for (uint32_t i = first; i <= last; i++) {
        const struct json *ports = json_get(json_at(containers, i), "ports");
        unsigned at = causes_enter_index(c, shown_as, i - first);

        for (uint32_t j = 0; j < json_count(ports); j++) {
            const struct json *port = json_at(ports, j);
            int64_t number = json_get_int(port, "hostPort", 0);
            unsigned inside = causes_enter_index(c, "ports", j);

            if (number != 0)
                check_is_free(c, &taken, port, number);
            causes_leave(c, inside);
        }
        causes_leave(c, at);
    }
}

/* Checks the rules for every container, init containers too. */
static void
check_container(struct causes *c, const struct map *volumes, const struct json *container)
{
    if (check_present(c, container, "name", ""))
        check_name(c, container, "name", NAME_DNS_LABEL);
    check_present(c, container, "image", "");
    check_given_one_of(c, container, "terminationMessagePolicy",
                       CHECK_VALUES("File", "FallbackToLogsOnError"));
    check_ports(c, container);
    container_env_check(c, container);
    container_mounts_check(c, volumes, container);
    check_given_one_of(c, container, "imagePullPolicy",
                       CHECK_VALUES("Always", "IfNotPresent", "Never"));
    resources_check(c, container, "resources");
    container_security_check(c, container);
}

static void
check_main_containers(struct causes *c, const struct json *spec, const struct map *volumes,
                      int64_t grace)
{
    const struct json *list = json_get(spec, "containers");
    CHECK_TEXTS(names);

    if (!check_present(c, spec, "containers", ""))
        return;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct json *container = json_at(list, i);
        unsigned at = causes_enter_index(c, "containers", i);

        check_container(c, volumes, container);
        if (!check_texts_add(&names, check_text(container, "name")))
            causes_add(c, CAUSE_DUPLICATE, "name", json_get(container, "name"), "%s", "");
        lifecycle_check(c, container, grace);
        probes_check(c, container, grace);
        if (check_is_set(container, "restartPolicy"))
            causes_add(c, CAUSE_FORBIDDEN, "restartPolicy", NULL,
                       "may not be set for non-init containers");
        causes_leave(c, at);
    }
    check_host_ports(c, list, "containers", 0, list->count - 1);
}

static void
check_init_only(struct causes *c, const struct json *container)
{
    static const char *const names[] = {
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (check_is_set(container, names[i]))
            causes_add(c, CAUSE_FORBIDDEN, names[i], NULL,
                       "may not be set for init containers without "
                       "restartPolicy=Always");
}

static void
check_init_containers(struct causes *c, const struct json *spec, const struct map *volumes,
                      int64_t grace)
{
    const struct json *list = json_get(spec, "initContainers");
    const struct json *others = json_get(spec, "containers");
    CHECK_TEXTS(main_names);
    CHECK_TEXTS(names);

    if (json_count(list) > 0)
        check_texts_add_list(&main_names, others, "name");
    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *container = json_at(list, i);
        const char *name = check_text(container, "name");
        unsigned at = causes_enter_index(c, "initContainers", i);

        check_container(c, volumes, container);
        if (check_is_set(container, "restartPolicy"))
            check_one_of(c, container, "restartPolicy", CHECK_VALUES("Always"));
        if (check_texts_has(&main_names, name) || (*name != '\0' && !check_texts_add(&names, name)))
            causes_add(c, CAUSE_DUPLICATE, "name", json_get(container, "name"), "%s", "");
        if (strcmp(check_text(container, "restartPolicy"), "Always") == 0) {
            lifecycle_check(c, container, grace);
            probes_check(c, container, grace);
        } else {
            check_init_only(c, container);
        }
        causes_leave(c, at);
        check_host_ports(c, list, "initContainers", i, i);
    }
}

void
pod_containers_check(struct causes *c, const struct json *spec)
{
    int64_t grace = json_get_int(spec, "terminationGracePeriodSeconds", 0);
    CLEANUP(map_freep) struct map *volumes = pod_volumes_map(spec);

    check_main_containers(c, spec, volumes, grace);
    check_init_containers(c, spec, volumes, grace);
}
