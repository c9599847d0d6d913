/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object/resource_rules.h"
#include "lib/api/object/table.h"
#include "lib/api/policy/quota.h"
#include "lib/api/value/resource_name.h"
#include "lib/api/value/rows.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* clang-format off */
static const struct field scoped_resource_selector_requirement_fields[] = {
    OPAQUE(STRING, "operator", ALWAYS | REQUIRED,
        ONE_OF("DoesNotExist", "Exists", "In", "NotIn"),
        HELP("In, NotIn, Exists or DoesNotExist.")),
    OPAQUE(STRING, "scopeName", ALWAYS | REQUIRED,
        ONE_OF("BestEffort", "CrossNamespacePodAffinity", "NotBestEffort",
            "NotTerminating", "PriorityClass", "Terminating"),
        HELP("Such as PriorityClass.")),
    OPAQUE_LIST(STRING, "values", 0,
        HELP("The values it is compared with.")),
};
static OPAQUE_RECORD(scoped_resource_selector_requirement,
       "io.k8s.api.core.v1.ScopedResourceSelectorRequirement",
       MESSAGE("scopeName operator values"),
       HELP("Which pods a quota is for."));

static const struct field scope_selector_fields[] = {
    OPAQUE_OBJECTS("matchExpressions", scoped_resource_selector_requirement, 0,
        HELP("All of these must hold.")),
};
static OPAQUE_RECORD(scope_selector,
       "io.k8s.api.core.v1.ScopeSelector",
       MESSAGE("matchExpressions"),
       HELP("Which pods a quota is for."), ATOMIC);

static const struct field resource_quota_spec_fields[] = {
    OPAQUE_MAP(QUANTITY, "hard", 0,
        HELP("The limits, by resource: requests.cpu, pods, count/jobs.batch.")),
    OPAQUE_LIST(STRING, "scopes", 0,
        HELP("Only for these pods: BestEffort, NotTerminating and so on.")),
    OPAQUE_OBJECT("scopeSelector", scope_selector, 0,
        HELP("Only for these pods, by value.")),
};
static OPAQUE_RECORD(resource_quota_spec,
       "io.k8s.api.core.v1.ResourceQuotaSpec",
       MESSAGE("hard scopes scopeSelector"),
       HELP("The limits of a namespace."));

static const struct field resource_quota_status_fields[] = {
    OPAQUE_MAP(QUANTITY, "hard", 0,
        HELP("The limits in effect.")),
    OPAQUE_MAP(QUANTITY, "used", 0,
        HELP("What is in use.")),
};
static OPAQUE_RECORD(resource_quota_status,
       "io.k8s.api.core.v1.ResourceQuotaStatus",
       MESSAGE("hard used"),
       HELP("How much of it is in use."));

static const struct field resource_quota_fields[] = {
    TYPE_META,
    BARE_METADATA,
    OPAQUE_OBJECT("spec", resource_quota_spec, ALWAYS,
        HELP("Desired state.")),
    OPAQUE_OBJECT("status", resource_quota_status, ALWAYS,
        HELP("Current state; set only by the system.")),
};
static RECORD(resource_quota, meta, "io.k8s.api.core.v1.ResourceQuota",
       MESSAGE("metadata spec status"),
       HELP("Limits what the objects of a namespace may use together."));
/* clang-format on */

static void
set_defaults(struct arena *arena, struct json *quota)
{
    resource_list_set_defaults(arena, json_get(quota, "spec"), "hard");
    resource_list_set_defaults(arena, json_get(quota, "status"), "hard");
    resource_list_set_defaults(arena, json_get(quota, "status"), "used");
}

static void
prepare(struct arena *arena, struct json *quota, const struct json *old)
{
    struct json *status = json_get(old, "status");

    meta_prepare(arena, quota, old);
    json_set(arena, quota, "status", status != NULL ? status : json_object(arena));
}

static void
check_amounts(struct causes *c, const struct json *owner, const char *list)
{
    const struct json *hard = json_get(owner, list);

    for (uint32_t i = 0; i < json_count(hard); i++) {
        const char *name = hard->members[i].name;
        unsigned at = causes_enter_key(c, list, name);

        check_resource_name_form(c, name);
        if (strchr(name, '/') == NULL && !resource_name_is_for_quotas(name))
            causes_add(c, CAUSE_INVALID, "", NULL, "%s: must be a standard resource for quota",
                       name);
        check_quantity(c, hard, name);
        causes_leave(c, at);
    }
}

/* Scopes of pods, and their opposites. */
static const struct {
    const char *name;
    const char *conflicts_with; /* NULL: no conflict */
    bool takes_no_values;
    bool counts_only; /* pods, but not their resources */
} scopes[] = {
    {"Terminating", "NotTerminating", true, false},
    {"NotTerminating", NULL, true, false},
    {"BestEffort", "NotBestEffort", true, true},
    {"NotBestEffort", NULL, true, false},
    {"PriorityClass", NULL, false, false},
    {"CrossNamespacePodAffinity", NULL, true, false},
};

static bool
is_scoped(const char *resource, bool counts_only)
{
    static const char *const of_pods[] = {
        "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory",
    };

    if (strcmp(resource, "pods") == 0)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(of_pods) && !counts_only; i++)
        if (strcmp(resource, of_pods[i]) == 0)
            return true;
    return false;
}

/* Returns the place of the scope in `scopes`, or the length of the array for an
 * unknown scope. Adds causes for resources to which the scope does not apply.
 */
static size_t
check_scope(struct causes *c, const struct json *spec, const char *name, const char *field,
            const struct json *shown)
{
    const struct json *hard = json_get(spec, "hard");
    size_t found = 0;

    while (found < ARRAY_SIZE(scopes) && strcmp(scopes[found].name, name) != 0)
        found++;
    for (uint32_t i = 0; i < json_count(hard) && found < ARRAY_SIZE(scopes); i++) {
        const char *resource = hard->members[i].name;

        if (strchr(resource, '/') == NULL && resource_name_is_for_quotas(resource)
            && !is_scoped(resource, scopes[found].counts_only))
            causes_add(c, CAUSE_INVALID, field, shown, "unsupported scope applied to resource");
    }
    return found;
}

static bool
holds(const struct json *list, const char *text)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        if (strcmp(json_at(list, i)->text, text) == 0)
            return true;
    return false;
}

static void
check_scopes(struct causes *c, const struct json *spec)
{
    const struct json *list = json_get(spec, "scopes");

    for (uint32_t i = 0; i < json_count(list); i++) {
        size_t n = check_scope(c, spec, json_at(list, i)->text, "scopes", list);

        if (n == ARRAY_SIZE(scopes))
            causes_add(c, CAUSE_INVALID, "scopes", list, "unsupported scope");
        else if (scopes[n].conflicts_with != NULL && holds(list, scopes[n].conflicts_with))
            causes_add(c, CAUSE_INVALID, "scopes", list, "conflicting scopes");
    }
}

static void
check_scope_requirement(struct causes *c, const struct json *spec, const struct json *r)
{
    const char *op = check_text(r, "operator");
    const struct json *values = json_get(r, "values");
    size_t n = check_scope(c, spec, check_text(r, "scopeName"), "", r);
    bool lists = strcmp(op, "In") == 0 || strcmp(op, "NotIn") == 0;
    bool exists = strcmp(op, "Exists") == 0;

    if (n == ARRAY_SIZE(scopes))
        causes_add(c, CAUSE_INVALID, "scopeName", json_get(r, "scopeName"), "unsupported scope");
    else if (scopes[n].takes_no_values && !exists)
        causes_add(c, CAUSE_INVALID, "operator", json_get(r, "operator"),
                   "must be 'Exists' when scope is any of "
                   "ResourceQuotaScopeTerminating, "
                   "ResourceQuotaScopeNotTerminating, "
                   "ResourceQuotaScopeBestEffort, "
                   "ResourceQuotaScopeNotBestEffort or "
                   "ResourceQuotaScopeCrossNamespacePodAffinity");
    if (lists && json_count(values) == 0)
        causes_add(c, CAUSE_REQUIRED, "values", NULL,
                   "must be at least one value when `operator` is 'In' or "
                   "'NotIn' for scope selector");
    else if (!lists && !exists && strcmp(op, "DoesNotExist") != 0)
        causes_add(c, CAUSE_INVALID, "operator", json_get(r, "operator"),
                   "not a valid selector operator");
    else if (!lists && json_count(values) > 0)
        causes_add(c, CAUSE_INVALID, "values", values,
                   "must be no value when `operator` is 'Exist' or "
                   "'DoesNotExist' for scope selector");
}

static bool
is_asked(const struct json *list, const char *scope)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        if (strcmp(check_text(json_at(list, i), "scopeName"), scope) == 0)
            return true;
    return false;
}

static void
check_scope_selector(struct causes *c, const struct json *spec)
{
    const struct json *list = json_get_path(spec, "scopeSelector.matchExpressions");
    unsigned at = causes_enter(c, "scopeSelector.matchExpressions");

    for (uint32_t i = 0; i < json_count(list); i++)
        check_scope_requirement(c, spec, json_at(list, i));
    for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
        if (scopes[i].conflicts_with != NULL && is_asked(list, scopes[i].name)
            && is_asked(list, scopes[i].conflicts_with))
            causes_add(c, CAUSE_INVALID, "", json_get(spec, "scopes"), "conflicting scopes");
    causes_leave(c, at);
}

static bool
same_scopes(const struct json *a, const struct json *b)
{
    CHECK_TEXTS(texts);

    if (json_count(a) != json_count(b))
        return false;
    for (uint32_t i = 0; i < json_count(b); i++)
        check_texts_add(&texts, json_at(b, i)->text);
    for (uint32_t i = 0; i < json_count(a); i++)
        if (!check_texts_has(&texts, json_at(a, i)->text))
            return false;
    return true;
}

static void
validate(struct causes *c, const struct json *quota, const struct json *old)
{
    const struct json *spec = json_get(quota, "spec");
    const struct json *was = json_get_path(old, "spec.scopes");
    unsigned at;

    meta_check(c, &resource_quota_kind, NAME_DNS_SUBDOMAIN, quota, old);
    at = causes_enter(c, "spec");
    check_amounts(c, spec, "hard");
    check_scopes(c, spec);
    check_scope_selector(c, spec);
    if (old != NULL && !same_scopes(json_get(spec, "scopes"), was))
        causes_add(c, CAUSE_INVALID, "scopes", json_get(spec, "scopes"), "field is immutable");
    causes_leave(c, at);
}

static void
validate_status(struct causes *c, const struct json *quota, const struct json *old)
{
    const struct json *status = json_get(quota, "status");
    unsigned at;

    meta_check(c, &resource_quota_kind, NAME_DNS_SUBDOMAIN, quota, old);
    at = causes_enter(c, "status");
    check_amounts(c, status, "hard");
    check_amounts(c, status, "used");
    causes_leave(c, at);
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(((const struct json_member *)a)->name, ((const struct json_member *)b)->name);
}

/* Writes a cell such as "pods: 3/100, requests.cpu: 1500m/4". */
static void
add_uses(struct table_row *row, bool of_limits)
{
    const struct json *hard = json_get_path(row->summary, "status.hard");
    const struct json *used = json_get_path(row->summary, "status.used");
    uint32_t count = json_count(hard);
    struct json_member *sorted = arena_new_array(row->arena, struct json_member, count + 1);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (uint32_t i = 0; i < count; i++)
        sorted[i] = hard->members[i];
    qsort(sorted, count, sizeof(*sorted), by_name);
    for (uint32_t i = 0; i < count; i++) {
        const char *use = json_get_text(used, sorted[i].name);

        if ((strncmp(sorted[i].name, "limits.", 7) == 0) == of_limits)
            strbuf_printf(&text, "%s%s: %s/%s", text.length > 0 ? ", " : "", sorted[i].name,
                          use != NULL ? use : "0", sorted[i].value->text);
    }
    table_cell(row, text.text);
}

static void
add_requests(struct table_row *row)
{
    add_uses(row, false);
}

static void
add_limits(struct table_row *row)
{
    add_uses(row, true);
}

/* clang-format off */
static const struct table_column columns[] = {
    TABLE_NAME,
    TABLE_AGE,
    COLUMN("Request", add_requests,
        "What is used of what may be requested."),
    COLUMN("Limit", add_limits,
        "What is used of what limits may add up to."),
};
static const struct table table = {
    TABLE_COLUMNS(columns),
    .summarize = table_tree,
};
/* clang-format on */

static const char *
namespace_value(const struct object *object, char buffer[64])
{
    (void)buffer;
    return object->meta->namespace;
}

static const struct kind_index indexes[] = {
    [RESOURCE_QUOTA_BY_NAMESPACE] = {NULL, namespace_value},
};

const struct kind resource_quota_kind = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .name = "ResourceQuota",
    .list_name = "ResourceQuotaList",
    .plural = "resourcequotas",
    .singular = "resourcequota",
    .short_names = (const char *const[]){"quota", NULL},
    .flags = KIND_NAMESPACED | KIND_HAS_STATUS | KIND_UNCONDITIONAL_UPDATE | KIND_ANSWERS_DELETED,
    .record = &resource_quota_record,
    .set_defaults = set_defaults,
    .prepare = prepare,
    .validate = validate,
    .validate_status = validate_status,
    .table = &table,
    .indexes = indexes,
    .n_indexes = ARRAY_SIZE(indexes),
};
