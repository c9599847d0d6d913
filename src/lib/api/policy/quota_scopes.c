/* SPDX-License-Identifier: Apache-2.0 */
/* quota_scopes.c - which objects the scopes of a ResourceQuota include */
#include "lib/api/policy/quota.h"

#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static bool
has_other_namespaces(const struct json *terms, const char *inner)
{
    for (uint32_t i = 0; i < json_count(terms); i++) {
        const struct json *term = json_at(terms, i);

        if (inner != NULL)
            term = json_get(term, inner);
        if (json_count(json_get(term, "namespaces")) > 0
            || json_get(term, "namespaceSelector") != NULL)
            return true;
    }
    return false;
}

static bool
crosses_namespaces(const struct json *spec)
{
    static const char *const parts[] = {"podAffinity", "podAntiAffinity"};

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        const struct json *part = json_get(json_get(spec, "affinity"), parts[i]);

        if (has_other_namespaces(json_get(part, "requiredDuringSchedulingIgnoredDuringExecution"),
                                 NULL)
            || has_other_namespaces(
                json_get(part, "preferredDuringSchedulingIgnoredDuringExecution"),
                "podAffinityTerm"))
            return true;
    }
    return false;
}

static bool
is_best_effort(const struct json *spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    static const char *const kinds_of[] = {"requests", "limits"};

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        const struct json *list = json_get(spec, lists[i]);

        for (uint32_t k = 0; k < json_count(list); k++)
            for (size_t n = 0; n < ARRAY_SIZE(kinds_of); n++) {
                const struct json *asked =
                    json_get(json_get(json_at(list, k), "resources"), kinds_of[n]);

                if (quantity_text_milli(check_text(asked, "cpu")) > 0
                    || quantity_text_value(check_text(asked, "memory")) > 0)
                    return false;
            }
    }
    return true;
}

static bool
holds(const struct json *list, const char *text)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        if (strcmp(json_at(list, i)->text, text) == 0)
            return true;
    return false;
}

/* Matches a requirement of the scope PriorityClass. */
static bool
class_matches(const struct json *requirement, const char *class)
{
    const char *op = check_text(requirement, "operator");
    const struct json *values = json_get(requirement, "values");

    if (strcmp(op, "Exists") == 0)
        return *class != '\0';
    if (strcmp(op, "DoesNotExist") == 0)
        return *class == '\0';
    if (strcmp(op, "NotIn") == 0)
        return !holds(values, class);
    return *class != '\0' && holds(values, class);
}

static bool
scope_matches(const char *scope, const struct json *requirement, const struct json *spec)
{
    const char *class = check_text(spec, "priorityClassName");
    bool ends = check_is_set(spec, "activeDeadlineSeconds")
                && json_get_int(spec, "activeDeadlineSeconds", 0) >= 0;

    if (strcmp(scope, "Terminating") == 0)
        return ends;
    if (strcmp(scope, "NotTerminating") == 0)
        return !ends;
    if (strcmp(scope, "BestEffort") == 0)
        return is_best_effort(spec);
    if (strcmp(scope, "NotBestEffort") == 0)
        return !is_best_effort(spec);
    if (strcmp(scope, "CrossNamespacePodAffinity") == 0)
        return crosses_namespaces(spec);
    if (strcmp(scope, "PriorityClass") == 0)
        return requirement == NULL ? *class != '\0' : class_matches(requirement, class);
    return false;
}

bool
quota_covers(const struct json *quota, const struct kind *kind, const struct json *object)
{
    const struct json *scopes = json_get_path(quota, "spec.scopes");
    const struct json *selector = json_get_path(quota, "spec.scopeSelector.matchExpressions");
    const struct json *spec = json_get(object, "spec");

    if (json_count(scopes) + json_count(selector) == 0)
        return true;
    if (kind != &pod_kind)
        return false;
    for (uint32_t i = 0; i < json_count(scopes); i++)
        if (!scope_matches(json_at(scopes, i)->text, NULL, spec))
            return false;
    for (uint32_t i = 0; i < json_count(selector); i++)
        if (!scope_matches(check_text(json_at(selector, i), "scopeName"), json_at(selector, i),
                           spec))
            return false;
    return true;
}
