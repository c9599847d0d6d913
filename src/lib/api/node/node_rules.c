/* SPDX-License-Identifier: Apache-2.0 */
/* node_rules.c - the functions of struct kind for nodes
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation of 1.32.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/node/node_rules.h"
#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/resource_rules.h"
#include "lib/base/arena.h"
#include "lib/json/item_index.h"
#include "lib/json/json.h"

void
node_set_defaults(struct arena *arena, struct json *node)
{
    struct json *spec = json_make_object(arena, node, "spec");
    struct json *status = json_make_object(arena, node, "status");
    struct json *list = json_get(spec, "podCIDRs");

    /* The new field and its old name hold the same range. */
    if (json_count(list) > 0)
        json_set_string(arena, spec, "podCIDR", json_at(list, 0)->text);
    else if (*check_text(spec, "podCIDR") != '\0') {
        list = json_array(arena);
        json_append(arena, list, json_get(spec, "podCIDR"));
        json_set(arena, spec, "podCIDRs", list);
    }
    if (check_is_set(status, "capacity") && !check_is_set(status, "allocatable"))
        json_set(arena, status, "allocatable", json_dup(arena, json_get(status, "capacity")));
    resource_list_set_defaults(arena, status, "capacity");
    resource_list_set_defaults(arena, status, "allocatable");
}

void
node_prepare(struct arena *arena, struct json *node, const struct json *old)
{
    meta_prepare(arena, node, old);
    json_remove(json_get(node, "spec"), "configSource");
    if (old != NULL && json_get(old, "status") != NULL)
        json_set(arena, node, "status", json_get(old, "status"));
}

static void
check_taint(struct causes *c, const struct json *taint)
{
    check_name(c, taint, "key", NAME_QUALIFIED);
    check_name(c, taint, "value", NAME_LABEL_VALUE);
    if (check_present(c, taint, "effect", ""))
        check_one_of(c, taint, "effect",
                     CHECK_VALUES("NoSchedule", "PreferNoSchedule", "NoExecute"));
}

/* Upstream reports taints below metadata, because they once were an annotation.
 */
static void
check_taints(struct causes *c, const struct json *spec)
{
    const struct json *list = json_get(spec, "taints");
    CHECK_TEXTS(pairs);

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *taint = json_at(list, i);
        unsigned at = causes_enter_index(c, "metadata.taints", i);

        check_taint(c, taint);
        if (!check_texts_add(&pairs, arena_printf(c->arena, "%s:%s", check_text(taint, "key"),
                                                  check_text(taint, "effect"))))
            causes_add(c, CAUSE_DUPLICATE, "", taint,
                       "taints must be unique by key and effect pair");
        causes_leave(c, at);
    }
}

static void
check_amounts(struct causes *c, const struct json *status, const char *name)
{
    const struct json *list = json_get(status, name);
    unsigned at = causes_enter(c, name);

    for (uint32_t i = 0; i < json_count(list); i++) {
        unsigned inside = causes_enter(c, list->members[i].name);

        check_quantity(c, list, list->members[i].name);
        causes_leave(c, inside);
    }
    causes_leave(c, at);
}

/* AF_INET or AF_INET6; 0: the text is not an address range. */
static int
family_of(const char *range)
{
    unsigned char address[sizeof(struct in6_addr)];
    char host[64];
    const char *slash = strchr(range, '/');
    char *end;
    long bits;

    if (slash == NULL || (size_t)(slash - range) >= sizeof(host))
        return 0;
    memcpy(host, range, (size_t)(slash - range));
    host[slash - range] = '\0';
    bits = strtol(slash + 1, &end, 10);
    if (slash[1] < '0' || slash[1] > '9' || *end != '\0')
        return 0;
    if (inet_pton(AF_INET, host, address) == 1)
        return bits <= 32 ? AF_INET : 0;
    if (inet_pton(AF_INET6, host, address) == 1)
        return bits <= 128 ? AF_INET6 : 0;
    return 0;
}

static void
check_ranges(struct causes *c, const struct json *spec)
{
    const struct json *list = json_get(spec, "podCIDRs");
    unsigned at = causes_enter(c, "spec");
    uint32_t count = json_count(list);
    bool all_good = true;

    for (uint32_t i = 0; i < count; i++) {
        unsigned inside = causes_enter_index(c, "podCIDRs", i);

        if (family_of(json_at(list, i)->text) == 0) {
            all_good = false;
            causes_add(c, CAUSE_INVALID, "", json_at(list, i),
                       "must be a valid CIDR value, (e.g. 10.9.8.0/24 or "
                       "2001:db8::/64)");
        }
        causes_leave(c, inside);
    }
    if (count > 1 && !all_good)
        causes_add(c, CAUSE_INTERNAL, "podCIDRs", NULL,
                   "invalid PodCIDRs. failed to check with dual stack");
    if (count > 1
        && (!all_good || count > 2
            || family_of(json_at(list, 0)->text) == family_of(json_at(list, 1)->text)))
        causes_add(c, CAUSE_INVALID, "podCIDRs", list,
                   "may specify no more than one CIDR for each IP family");
    causes_leave(c, at);
}

static void
check_annotations(struct causes *c, const struct json *node)
{
    static const char name[] = "scheduler.alpha.kubernetes.io/preferAvoidPods";
    const char *text = json_get_text(json_get_path(node, "metadata.annotations"), name);

    if (text != NULL && *text != '\0'
        && json_parse(c->arena, text, strlen(text), NULL, NULL) == NULL)
        causes_add(c, CAUSE_INVALID, "metadata.annotations.AvoidPods", json_string(c->arena, name),
                   "not valid JSON");
}

static void
check_addresses(struct causes *c, const struct json *status)
{
    const struct json *list = json_get(status, "addresses");

    struct item_index addresses;

    item_index_init(&addresses, c->arena, list, NULL, 0);
    for (uint32_t i = 0; i < json_count(list); i++)
        if (item_index_find(&addresses, json_at(list, i)) < i) {
            unsigned at = causes_enter_index(c, "status.addresses", i);

            causes_add(c, CAUSE_DUPLICATE, "", json_at(list, i), "%s", "");
            causes_leave(c, at);
        }
}

static void
check_spec_changes(struct causes *c, const struct json *spec, const struct json *old)
{
    unsigned at = causes_enter(c, "spec");

    if (json_count(json_get(old, "podCIDRs")) > 0
        && !json_equals(json_get(spec, "podCIDRs"), json_get(old, "podCIDRs")))
        causes_add(c, CAUSE_FORBIDDEN, "podCIDRs", NULL,
                   "node updates may not change podCIDR except from \"\" to "
                   "valid");
    if (*check_text(old, "providerID") != '\0'
        && strcmp(check_text(old, "providerID"), check_text(spec, "providerID")) != 0)
        causes_add(c, CAUSE_FORBIDDEN, "providerID", NULL,
                   "node updates may not change providerID except from \"\" "
                   "to valid");
    if (strcmp(check_text(old, "externalID"), check_text(spec, "externalID")) != 0)
        causes_add(c, CAUSE_FORBIDDEN, "externalID", NULL, "may not be updated");
    causes_leave(c, at);
}

void
node_validate(struct causes *c, const struct json *node, const struct json *old)
{
    const struct json *spec = json_get(node, "spec");
    const struct json *status = json_get(node, "status");
    unsigned at;

    meta_check(c, &node_kind, NAME_DNS_SUBDOMAIN, node, old);
    check_annotations(c, node);
    check_taints(c, spec);
    at = causes_enter(c, "status");
    check_amounts(c, status, "capacity");
    check_amounts(c, status, "allocatable");
    causes_leave(c, at);
    if (old == NULL) {
        check_ranges(c, spec);
    } else {
        check_addresses(c, status);
        check_spec_changes(c, spec, json_get(old, "spec"));
    }
}
