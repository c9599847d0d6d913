/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "lib/api/check.h"
#include "lib/api/name.h"
#include "lib/api/pod_rules.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

static void
check_ports(struct causes *c, const struct json *container)
{
    const struct json *ports = json_get(container, "ports");

    for (uint32_t i = 0; i < json_count(ports); i++) {
        const struct json *port = json_at(ports, i);
        const char *name = check_text(port, "name");
        unsigned at = causes_enter_index(c, "ports", i);

        if (*name != '\0' && check_name(c, port, "name", NAME_PORT))
            for (uint32_t j = 0; j < i; j++)
                if (strcmp(check_text(json_at(ports, j), "name"), name) == 0) {
                    causes_add(c,
                               CAUSE_DUPLICATE,
                               "name",
                               json_get(port, "name"),
                               "%s",
                               "");
                    break;
                }
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

/* Ports of the host, taken together over containers `first` to `last`. */
static bool
is_taken(const struct json *containers,
         uint32_t first,
         uint32_t last,
         uint32_t last_port,
         const struct json *port)
{
    for (uint32_t i = first; i <= last; i++) {
        const struct json *ports = json_get(json_at(containers, i), "ports");

        for (uint32_t j = 0; j < json_count(ports); j++) {
            const struct json *other = json_at(ports, j);

            if (i == last && j == last_port)
                return false;
            if (json_get_int(other, "hostPort", 0)
                    == json_get_int(port, "hostPort", 0)
                && strcmp(check_text(other, "protocol"),
                          check_text(port, "protocol"))
                       == 0
                && strcmp(check_text(other, "hostIP"),
                          check_text(port, "hostIP"))
                       == 0)
                return true;
        }
    }
    return false;
}

static void
check_host_ports(struct causes *c,
                 const struct json *containers,
                 const char *shown_as,
                 uint32_t first,
                 uint32_t last)
{
    for (uint32_t i = first; i <= last; i++) {
        const struct json *ports = json_get(json_at(containers, i), "ports");
        unsigned at = causes_enter_index(c, shown_as, i - first);

        for (uint32_t j = 0; j < json_count(ports); j++) {
            const struct json *port = json_at(ports, j);
            int64_t number = json_get_int(port, "hostPort", 0);
            unsigned inside = causes_enter_index(c, "ports", j);

            if (number != 0 && is_taken(containers, first, i, j, port))
                causes_add(c,
                           CAUSE_DUPLICATE,
                           "hostPort",
                           json_stringf(c->arena,
                                        "%s/%s/%" PRId64,
                                        check_text(port, "protocol"),
                                        check_text(port, "hostIP"),
                                        number),
                           "%s",
                           "");
            causes_leave(c, inside);
        }
        causes_leave(c, at);
    }
}

/* What every container must be, init containers too. */
static void
check_container(struct causes *c,
                const struct json *spec,
                const struct json *container)
{
    if (check_present(c, container, "name", ""))
        check_name(c, container, "name", NAME_DNS_LABEL);
    check_present(c, container, "image", "");
    check_given_one_of(c,
                       container,
                       "terminationMessagePolicy",
                       CHECK_VALUES("File", "FallbackToLogsOnError"));
    check_ports(c, container);
    container_env_check(c, container);
    container_mounts_check(c, spec, container);
    check_given_one_of(c,
                       container,
                       "imagePullPolicy",
                       CHECK_VALUES("Always", "IfNotPresent", "Never"));
    resources_check(c, container, "resources");
    container_security_check(c, container);
}

static bool
is_named_earlier(const struct json *list, uint32_t before, const char *name)
{
    for (uint32_t i = 0; i < before && i < json_count(list); i++)
        if (strcmp(check_text(json_at(list, i), "name"), name) == 0)
            return true;
    return false;
}

static void
check_main_containers(struct causes *c, const struct json *spec, int64_t grace)
{
    const struct json *list = json_get(spec, "containers");

    if (!check_present(c, spec, "containers", ""))
        return;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct json *container = json_at(list, i);
        unsigned at = causes_enter_index(c, "containers", i);

        check_container(c, spec, container);
        if (is_named_earlier(list, i, check_text(container, "name")))
            causes_add(c,
                       CAUSE_DUPLICATE,
                       "name",
                       json_get(container, "name"),
                       "%s",
                       "");
        lifecycle_check(c, container, grace);
        probes_check(c, container, grace);
        if (check_is_set(container, "restartPolicy"))
            causes_add(c,
                       CAUSE_FORBIDDEN,
                       "restartPolicy",
                       NULL,
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
            causes_add(c,
                       CAUSE_FORBIDDEN,
                       names[i],
                       NULL,
                       "may not be set for init containers without "
                       "restartPolicy=Always");
}

static void
check_init_containers(struct causes *c, const struct json *spec, int64_t grace)
{
    const struct json *list = json_get(spec, "initContainers");
    const struct json *others = json_get(spec, "containers");

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *container = json_at(list, i);
        const char *name = check_text(container, "name");
        unsigned at = causes_enter_index(c, "initContainers", i);

        check_container(c, spec, container);
        if (check_is_set(container, "restartPolicy"))
            check_one_of(c, container, "restartPolicy", CHECK_VALUES("Always"));
        if (is_named_earlier(others, UINT32_MAX, name)
            || (*name != '\0' && is_named_earlier(list, i, name)))
            causes_add(c,
                       CAUSE_DUPLICATE,
                       "name",
                       json_get(container, "name"),
                       "%s",
                       "");
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

    check_main_containers(c, spec, grace);
    check_init_containers(c, spec, grace);
}
