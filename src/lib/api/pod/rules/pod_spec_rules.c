/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/object/resource_rules.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/value/name.h"
#include "lib/json/json.h"

#define SEARCH_PATHS_MAX  32
#define SEARCH_LENGTH_MAX 2048

static void
check_searches(struct causes *c, const struct json *searches)
{
    size_t length = json_count(searches) > 0 ? searches->count - 1 : 0;

    for (uint32_t i = 0; i < json_count(searches); i++)
        length += json_at(searches, i)->count;
    if (json_count(searches) > SEARCH_PATHS_MAX)
        causes_add(c, CAUSE_INVALID, "searches", searches,
                   "must not have more than %d search paths", SEARCH_PATHS_MAX);
    if (length > SEARCH_LENGTH_MAX)
        causes_add(c, CAUSE_INVALID, "searches", searches,
                   "must not have more than %d characters (including spaces) "
                   "in the search list",
                   SEARCH_LENGTH_MAX);
    for (uint32_t i = 0; i < json_count(searches); i++) {
        const struct json *search = json_at(searches, i);
        bool is_rooted = search->count > 0 && search->text[search->count - 1] == '.';
        const struct json *bare = json_string_n(c->arena, search->text, search->count - is_rooted);
        unsigned at = causes_enter_index(c, "searches", i);

        check_form(c, "", NAME_DNS_SUBDOMAIN, bare->text, bare);
        causes_leave(c, at);
    }
}

static void
check_dns(struct causes *c, const struct json *spec)
{
    const struct json *config = json_get(spec, "dnsConfig");
    const struct json *servers = json_get(config, "nameservers");
    const struct json *searches = json_get(config, "searches");
    const struct json *options = json_get(config, "options");
    bool is_none = strcmp(check_text(spec, "dnsPolicy"), "None") == 0;
    unsigned at = causes_enter(c, "dnsConfig");

    if (is_none && json_count(servers) == 0) {
        if (config == NULL)
            causes_add(c, CAUSE_REQUIRED, "", NULL,
                       "must provide `dnsConfig` when `dnsPolicy` is None");
        else
            causes_add(c, CAUSE_REQUIRED, "nameservers", NULL,
                       "must provide at least one DNS nameserver when "
                       "`dnsPolicy` is None");
        causes_leave(c, at);
        return;
    }
    if (json_count(servers) > 3)
        causes_add(c, CAUSE_INVALID, "nameservers", servers,
                   "must not have more than 3 nameservers");
    for (uint32_t i = 0; i < json_count(servers); i++) {
        struct json *holder = json_object(c->arena);
        char name[32];

        snprintf(name, sizeof(name), "nameservers[%u]", i);
        json_set(c->arena, holder, name, json_at(servers, i));
        check_ip(c, holder, name);
    }
    check_searches(c, searches);
    for (uint32_t i = 0; i < json_count(options); i++) {
        unsigned item = causes_enter_index(c, "options", i);

        if (*check_text(json_at(options, i), "name") == '\0')
            causes_add(c, CAUSE_REQUIRED, "", NULL, "must not be empty");
        causes_leave(c, item);
    }
    causes_leave(c, at);
}

static void
check_gates(struct causes *c, const struct json *spec)
{
    const struct json *readiness = json_get(spec, "readinessGates");
    const struct json *gates = json_get(spec, "schedulingGates");
    CHECK_TEXTS(names);

    for (uint32_t i = 0; i < json_count(readiness); i++) {
        unsigned at = causes_enter_index(c, "readinessGates", i);

        check_name(c, json_at(readiness, i), "conditionType", NAME_QUALIFIED);
        causes_leave(c, at);
    }
    for (uint32_t i = 0; i < json_count(gates); i++) {
        const struct json *name = json_get(json_at(gates, i), "name");
        const char *text = check_text(json_at(gates, i), "name");
        unsigned at = causes_enter_index(c, "schedulingGates", i);

        check_form(c, "", NAME_QUALIFIED, text, name);
        if (!check_texts_add(&names, text))
            causes_add(c, CAUSE_DUPLICATE, "", name, "%s", "");
        causes_leave(c, at);
    }
}

static void
check_host_aliases(struct causes *c, const struct json *spec)
{
    const struct json *list = json_get(spec, "hostAliases");

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *names = json_get(json_at(list, i), "hostnames");
        unsigned at = causes_enter_index(c, "hostAliases", i);

        check_ip(c, json_at(list, i), "ip");
        for (uint32_t j = 0; j < json_count(names); j++) {
            const struct json *one = json_at(names, j);
            unsigned inside = causes_enter_index(c, "hostnames", j);

            check_form(c, "", NAME_DNS_SUBDOMAIN, one->text, one);
            causes_leave(c, inside);
        }
        causes_leave(c, at);
    }
}

/* Checks a name that is given and not empty. */
static void
check_given_name(struct causes *c, const struct json *spec, const char *name, enum name_form form)
{
    if (*check_text(spec, name) != '\0')
        check_name(c, spec, name, form);
}

static void
check_overhead(struct causes *c, const struct json *spec)
{
    struct json *holder = json_object(c->arena);
    struct json *resources = json_object(c->arena);

    if (!check_is_set(spec, "overhead"))
        return;
    json_set(c->arena, resources, "limits", json_get(spec, "overhead"));
    json_set(c->arena, holder, "overhead", resources);
    resources_check(c, holder, "overhead");
}

static void
check_names(struct causes *c, const struct json *spec)
{
    check_given_name(c, spec, "serviceAccountName", NAME_DNS_SUBDOMAIN);
    check_given_name(c, spec, "nodeName", NAME_DNS_SUBDOMAIN);
    if (check_is_set(spec, "activeDeadlineSeconds"))
        check_range(c, spec, "activeDeadlineSeconds", 1, INT32_MAX);
    check_given_name(c, spec, "hostname", NAME_DNS_LABEL);
    check_given_name(c, spec, "subdomain", NAME_DNS_LABEL);
}

/* In the host's network a host port must equal the container's port. Zero means
 * that none is given, which is valid in a template.
 */
static void
check_host_network(struct causes *c, const struct json *spec, bool may_be_zero)
{
    const struct json *list = json_get(spec, "containers");

    if (!json_is_true(json_get(spec, "hostNetwork")))
        return;
    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *ports = json_get(json_at(list, i), "ports");
        unsigned at = causes_enter_index(c, "containers", i);

        for (uint32_t j = 0; j < json_count(ports); j++) {
            const struct json *port = json_at(ports, j);
            int64_t of_host = json_get_int(port, "hostPort", 0);
            unsigned inside = causes_enter_index(c, "ports", j);

            if ((of_host == 0) != may_be_zero && of_host != json_get_int(port, "containerPort", 0))
                causes_add(c, CAUSE_INVALID, "hostPort", json_int(c->arena, of_host),
                           "must match `containerPort` when `hostNetwork` is "
                           "true");
            causes_leave(c, inside);
        }
        causes_leave(c, at);
    }
}

static void
check_tokens(struct causes *c, const struct json *spec)
{
    const struct json *volumes = json_get(spec, "volumes");

    if (*check_text(spec, "serviceAccountName") != '\0')
        return;
    for (uint32_t i = 0; i < json_count(volumes); i++) {
        const struct json *sources = json_get_path(json_at(volumes, i), "projected.sources");
        unsigned at = causes_enter_index(c, "volumes", i);

        for (uint32_t j = 0; j < json_count(sources); j++) {
            unsigned inside = causes_enter_index(c, "projected.sources", j);

            if (check_is_set(json_at(sources, j), "serviceAccountToken"))
                causes_add(c, CAUSE_FORBIDDEN, "serviceAccountToken", NULL,
                           "must not be specified when serviceAccountName is "
                           "not set");
            causes_leave(c, inside);
        }
        causes_leave(c, at);
    }
}

void
pod_only_check(struct causes *c, const struct json *spec)
{
    check_host_network(c, spec, false);
    check_tokens(c, spec);
}

void
pod_spec_check(struct causes *c, const struct json *spec)
{
    unsigned at;

    pod_volumes_check(c, spec);
    pod_containers_check(c, spec);
    check_host_network(c, spec, true);
    check_given_one_of(c, spec, "restartPolicy", CHECK_VALUES("Always", "OnFailure", "Never"));
    check_given_one_of(c, spec, "dnsPolicy",
                       CHECK_VALUES("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"));
    check_labels(c, spec, "nodeSelector");
    pod_security_check(c, spec);
    at = causes_enter(c, "affinity");
    affinity_check(c, json_get(spec, "affinity"));
    causes_leave(c, at);
    check_dns(c, spec);
    check_gates(c, spec);
    topology_spread_check(c, spec, "topologySpreadConstraints");
    check_names(c, spec);
    tolerations_check(c, spec);
    check_host_aliases(c, spec);
    check_given_name(c, spec, "priorityClassName", NAME_DNS_SUBDOMAIN);
    check_name(c, spec, "runtimeClassName", NAME_DNS_SUBDOMAIN);
    check_given_one_of(c, spec, "preemptionPolicy", CHECK_VALUES("PreemptLowerPriority", "Never"));
    check_overhead(c, spec);
    pod_os_check(c, spec);
    pod_kiln_check(c, spec);
}
