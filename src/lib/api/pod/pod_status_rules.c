/* SPDX-License-Identifier: Apache-2.0 */
/* pod_status_rules.c - validation of a pod's status
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation of 1.32.
 */
#include <arpa/inet.h>
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_strategy.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/json/item_index.h"
#include "lib/json/json.h"

/* Upstream reports conditions below metadata, and with a capital letter. */
static void
check_conditions(struct causes *c, const struct json *status)
{
    static const char *const of_system[] = {
        "PodScheduled",
        "Ready",
        "Initialized",
    };
    const struct json *list = json_get(status, "conditions");

    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *type = check_text(json_at(list, i), "type");
        bool is_of_system = false;
        unsigned at = causes_enter_index(c, "metadata.conditions", i);

        for (size_t j = 0; j < ARRAY_SIZE(of_system); j++)
            if (strcmp(type, of_system[j]) == 0)
                is_of_system = true;
        if (!is_of_system)
            check_form(c, "Type", NAME_QUALIFIED, type, json_string(c->arena, type));
        causes_leave(c, at);
    }
}

/* Whether the init container is a sidecar, which runs beside the others. */
static bool
is_restarted(const struct json *spec, const char *name)
{
    const struct json *list = json_get(spec, "initContainers");

    for (uint32_t i = 0; i < json_count(list); i++)
        if (strcmp(check_text(json_at(list, i), "name"), name) == 0)
            return strcmp(check_text(json_at(list, i), "restartPolicy"), "Always") == 0;
    return false;
}

/* A terminated container stays terminated unless its restart policy restarts
 * it.
 */
static void
check_ended(struct causes *c, const struct json *pod, const struct json *old, const char *name)
{
    const struct json *was_list = json_get(json_get(old, "status"), name);
    const struct json *list = json_get(json_get(pod, "status"), name);
    const struct json *spec = json_get(old, "spec");
    bool is_init = strcmp(name, "initContainerStatuses") == 0;
    const char *policy = strcmp(name, "ephemeralContainerStatuses") == 0
                             ? "Never"
                             : check_text(spec, "restartPolicy");

    struct item_index named;

    if (strcmp(policy, "Always") == 0)
        return;
    item_index_init(&named, c->arena, list, "name", 0);
    for (uint32_t i = 0; i < json_count(was_list); i++) {
        const struct json *was = json_at(was_list, i);
        const struct json *end = json_get_path(was, "state.terminated");
        const char *container = check_text(was, "name");
        unsigned at;

        if (end == NULL
            || (json_get_int(end, "exitCode", 0) != 0 && strcmp(policy, "OnFailure") == 0)
            || (is_init && is_restarted(spec, container)))
            continue;
        at = causes_enter_index(c, name, i);
        for (int64_t j = item_index_find(&named, was); j >= 0; j = item_index_next(&named, j))
            if (json_get_path(list->items[j], "state.terminated") == NULL)
                causes_add(c, CAUSE_FORBIDDEN, "state", NULL,
                           "may not be transitioned to non-terminated state");
        causes_leave(c, at);
    }
}

/* --- addresses ------------------------------------------------------------- */

/* AF_INET or AF_INET6; 0: the text is not an address. */
static int
family_of(const struct json *item)
{
    unsigned char address[sizeof(struct in6_addr)];
    const char *text = check_text(item, "ip");

    if (inet_pton(AF_INET, text, address) == 1)
        return AF_INET;
    return inet_pton(AF_INET6, text, address) == 1 ? AF_INET6 : 0;
}

/* Addresses must be valid and distinct, and at most one per family. */
static void
check_addresses(struct causes *c, const struct json *status, const char *name)
{
    const struct json *list = json_get(status, name);
    uint32_t count = json_count(list);
    bool all_good = true, is_pair;
    CHECK_TEXTS(addresses);

    for (uint32_t i = 0; i < count; i++) {
        unsigned at = causes_enter_index(c, name, i);

        if (family_of(json_at(list, i)) == 0) {
            all_good = false;
            causes_add(c, CAUSE_INVALID, "",
                       json_string(c->arena, check_text(json_at(list, i), "ip")),
                       "must be a valid IP address, (e.g. 10.9.8.7 or "
                       "2001:db8::ffff)");
        }
        if (!check_texts_add(&addresses, check_text(json_at(list, i), "ip")))
            causes_add(c, CAUSE_DUPLICATE, "", json_at(list, i), "%s", "");
        causes_leave(c, at);
    }
    if (count < 2)
        return;
    is_pair = all_good && count == 2 && family_of(json_at(list, 0)) != family_of(json_at(list, 1));
    if (!all_good)
        causes_add(c, CAUSE_INTERNAL, name, NULL, "failed to check for dual stack");
    if (!is_pair)
        causes_add(c, CAUSE_INVALID, name, list,
                   "may specify no more than one IP for each IP family");
}

static void
check_host_addresses(struct causes *c, const struct json *status)
{
    const struct json *list = json_get(status, "hostIPs");
    unsigned at;

    if (json_count(list) == 0)
        return;
    if (strcmp(check_text(status, "hostIP"), check_text(json_at(list, 0), "ip")) != 0) {
        at = causes_enter_index(c, "hostIPs", 0);
        causes_add(c, CAUSE_INVALID, "ip",
                   json_string(c->arena, check_text(json_at(list, 0), "ip")),
                   "must be equal to `hostIP`");
        causes_leave(c, at);
    }
    check_addresses(c, status, "hostIPs");
}

static void
check_status(struct causes *c, const struct json *pod, const struct json *old)
{
    const struct json *status = json_get(pod, "status");
    const struct json *was = json_get(old, "status");
    const char *nominated = check_text(status, "nominatedNodeName");

    if (strcmp(check_text(json_get(pod, "spec"), "nodeName"),
               check_text(json_get(old, "spec"), "nodeName"))
        != 0)
        causes_add(c, CAUSE_FORBIDDEN, "nodeName", NULL, "may not be changed directly");
    if (*nominated != '\0' && strcmp(nominated, check_text(was, "nominatedNodeName")) != 0)
        check_name(c, status, "nominatedNodeName", NAME_DNS_SUBDOMAIN);
    check_immutable(c, status, was, "qosClass");
    check_ended(c, pod, old, "containerStatuses");
    check_ended(c, pod, old, "initContainerStatuses");
    check_ended(c, pod, old, "ephemeralContainerStatuses");
    check_addresses(c, status, "podIPs");
    check_host_addresses(c, status);
    if (check_is_set(was, "allocation"))
        check_immutable(c, status, was, "allocation");
}

/* NULL for a pod with init containers: only the whole spec tells which of them
 * are sidecars.
 */
struct json *
pod_part_of_spec(struct arena *arena, const struct object *object)
{
    const struct pod_spec *spec = &pod_of(object)->spec;
    struct json *part = json_object(arena);

    if (spec->init_containers.count > 0)
        return NULL;
    if (spec->restart_policy != NULL)
        json_set_string(arena, part, "restartPolicy", spec->restart_policy);
    return part;
}

void
pod_check_status(struct causes *c, const struct json *pod, const struct json *old)
{
    unsigned at;

    check_conditions(c, json_get(pod, "status"));
    at = causes_enter(c, "status");
    check_status(c, pod, old);
    causes_leave(c, at);
}

void
pod_validate_status(struct causes *c, const struct json *pod, const struct json *old)
{
    unsigned at;

    meta_check(c, &pod_kind, NAME_DNS_SUBDOMAIN, pod, old);
    at = causes_enter(c, "metadata");
    pod_annotation_changes_check(c, json_get(pod, "metadata"), json_get(old, "metadata"));
    causes_leave(c, at);
    pod_check_status(c, pod, old);
}
