/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/node/node_selector_rules.h"

#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/value/name.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

static bool
member_is(const struct json *object, const char *name, const char *text)
{
    return strcmp(check_text(object, name), text) == 0;
}

static void
check_requirement(struct causes *c, const struct json *r)
{
    uint32_t count = json_count(json_get(r, "values"));

    if (member_is(r, "operator", "In") || member_is(r, "operator", "NotIn")) {
        if (count == 0)
            causes_add(c, CAUSE_REQUIRED, "values", NULL,
                       "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (member_is(r, "operator", "Exists") || member_is(r, "operator", "DoesNotExist")) {
        if (count > 0)
            causes_add(c, CAUSE_FORBIDDEN, "values", NULL,
                       "may not be specified when `operator` is 'Exists' or "
                       "'DoesNotExist'");
    } else if (member_is(r, "operator", "Gt") || member_is(r, "operator", "Lt")) {
        if (count != 1)
            causes_add(c, CAUSE_REQUIRED, "values", NULL,
                       "must be specified single value when `operator` is "
                       "'Lt' or 'Gt'");
    } else {
        causes_add(c, CAUSE_INVALID, "operator", json_get(r, "operator"),
                   "not a valid selector operator");
    }
    check_name(c, r, "key", NAME_QUALIFIED);
}

static void
check_field_requirement(struct causes *c, const struct json *r)
{
    const struct json *values = json_get(r, "values");

    if (!member_is(r, "operator", "In") && !member_is(r, "operator", "NotIn"))
        causes_add(c, CAUSE_INVALID, "operator", json_get(r, "operator"),
                   "not a valid selector operator");
    else if (json_count(values) != 1)
        causes_add(c, CAUSE_REQUIRED, "values", NULL,
                   "must be only one value when `operator` is 'In' or 'NotIn' "
                   "for node field selector");
    if (!member_is(r, "key", "metadata.name")) {
        causes_add(c, CAUSE_INVALID, "key", json_get(r, "key"), "not a valid field selector key");
        return;
    }
    for (uint32_t i = 0; i < json_count(values); i++) {
        const struct json *value = json_at(values, i);
        unsigned at = causes_enter_index(c, "values", i);

        check_form(c, "", NAME_DNS_SUBDOMAIN, value->text, value);
        causes_leave(c, at);
    }
}

void
node_selector_term_check(struct causes *c, const struct json *term)
{
    const struct json *expressions = json_get(term, "matchExpressions");
    const struct json *fields = json_get(term, "matchFields");

    for (uint32_t i = 0; i < json_count(expressions); i++) {
        unsigned at = causes_enter_index(c, "matchExpressions", i);

        check_requirement(c, json_at(expressions, i));
        causes_leave(c, at);
    }
    for (uint32_t i = 0; i < json_count(fields); i++) {
        unsigned at = causes_enter_index(c, "matchFields", i);

        check_field_requirement(c, json_at(fields, i));
        causes_leave(c, at);
    }
}

void
node_selector_check(struct causes *c, const struct json *selector)
{
    const struct json *terms = json_get(selector, "nodeSelectorTerms");

    check_present(c, selector, "nodeSelectorTerms", "must have at least one node selector term");
    for (uint32_t i = 0; i < json_count(terms); i++) {
        unsigned at = causes_enter_index(c, "nodeSelectorTerms", i);

        node_selector_term_check(c, json_at(terms, i));
        causes_leave(c, at);
    }
}

/* --- deprecated labels -------------------------------------------------------
 */

static const struct old_label {
    const char *name;
    const char *since;
    const char *instead;
} old_labels[] = {
    {"beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch"},
    {"beta.kubernetes.io/os", "v1.14", "kubernetes.io/os"},
    {"failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region"},
    {"failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone"},
    {"beta.kubernetes.io/instance-type", "v1.17", "node.kubernetes.io/instance-type"},
};

static const struct old_label *
find_old_label(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(old_labels); i++)
        if (strcmp(old_labels[i].name, name) == 0)
            return &old_labels[i];
    return NULL;
}

void
node_label_warn(struct causes *c, const struct json *object, const char *name, bool is_named)
{
    const struct old_label *l = find_old_label(check_text(object, name));

    if (l != NULL)
        causes_warn(c, name, "%s%sdeprecated since %s; use \"%s\" instead", is_named ? l->name : "",
                    is_named ? " is " : "", l->since, l->instead);
}

void
node_labels_warn(struct causes *c, const struct json *object, const char *name)
{
    const struct json *selector = json_get(object, name);

    for (uint32_t i = 0; i < json_count(selector); i++) {
        const struct old_label *l = find_old_label(selector->members[i].name);
        unsigned at;

        if (l == NULL)
            continue;
        at = causes_enter_key(c, name, l->name);
        causes_warn(c, "", "deprecated since %s; use \"%s\" instead", l->since, l->instead);
        causes_leave(c, at);
    }
}

void
node_selector_term_warn(struct causes *c, const struct json *term)
{
    const struct json *list = json_get(term, "matchExpressions");

    for (uint32_t i = 0; i < json_count(list); i++) {
        unsigned at = causes_enter_index(c, "matchExpressions", i);

        node_label_warn(c, json_at(list, i), "key", true);
        causes_leave(c, at);
    }
}
