/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/resource_rules.h"

#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/value/name.h"
#include "lib/api/value/quantity.h"
#include "lib/api/value/resource_name.h"
#include "lib/json/json.h"

/* The resources seen so far, for the rule on huge pages. */
struct seen_resources {
    bool cpu_or_memory;
    bool hugepages;
};

static void
check_resource_name(struct causes *c, const char *name)
{
    bool has_form = check_resource_name_form(c, name);

    if (strchr(name, '/') == NULL) {
        if (has_form && !resource_name_is_standard(name))
            causes_add(c, CAUSE_INVALID, "", NULL,
                       "%s: must be a standard resource type or fully "
                       "qualified",
                       name);
        if (!resource_name_is_for_containers(name))
            causes_add(c, CAUSE_INVALID, "", NULL, "%s: must be a standard resource for containers",
                       name);
    } else if (!resource_name_is_native(name) && !resource_name_is_extended(name)) {
        causes_add(c, CAUSE_INVALID, "", NULL, "%s: doesn't follow extended resource name standard",
                   name);
    }
}

static void
check_hugepages(struct causes *c, const char *name, const struct json *value)
{
    struct quantity page, amount;

    if (quantity_parse(value->text, &amount) < 0)
        return;
    if (quantity_parse(name + strlen("hugepages-"), &page) < 0 || quantity_sign(&page) <= 0
        || amount.nano % page.nano != 0)
        causes_add(c, CAUSE_INVALID, "", value, "%s is not positive integer multiple of %s",
                   value->text, name);
}

static void
check_list(struct causes *c, const struct json *resources, const char *list_name,
           struct seen_resources *seen)
{
    const struct json *list = json_get(resources, list_name);

    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *name = list->members[i].name;
        unsigned at = causes_enter_key(c, list_name, name);

        check_resource_name(c, name);
        check_quantity(c, list, name);
        if (resource_name_is_hugepages(name)) {
            seen->hugepages = true;
            check_hugepages(c, name, list->members[i].value);
        }
        if (strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0)
            seen->cpu_or_memory = true;
        causes_leave(c, at);
    }
}

static void
check_against_limit(struct causes *c, const char *name, const struct json *request,
                    const struct json *limit)
{
    bool may_differ = resource_name_may_overcommit(name);
    struct quantity wanted, most;
    int order;

    if (limit == NULL) {
        if (!may_differ)
            causes_add(c, CAUSE_REQUIRED, "limits", NULL,
                       "Limit must be set for non overcommitable resources");
        return;
    }
    if (quantity_parse(request->text, &wanted) < 0 || quantity_parse(limit->text, &most) < 0)
        return;
    order = quantity_compare(&wanted, &most);
    if (order != 0 && !may_differ)
        causes_add(c, CAUSE_INVALID, "requests", request, "must be equal to %s limit of %s", name,
                   limit->text);
    else if (order > 0)
        causes_add(c, CAUSE_INVALID, "requests", request,
                   "must be less than or equal to %s limit of %s", name, limit->text);
}

void
resources_check(struct causes *c, const struct json *object, const char *name)
{
    const struct json *resources = json_get(object, name);
    const struct json *limits = json_get(resources, "limits");
    const struct json *requests = json_get(resources, "requests");
    struct seen_resources seen = {0};
    unsigned at = causes_enter(c, name);

    check_list(c, resources, "limits", &seen);
    check_list(c, resources, "requests", &seen);
    for (uint32_t i = 0; i < json_count(requests); i++)
        check_against_limit(c, requests->members[i].name, requests->members[i].value,
                            json_get(limits, requests->members[i].name));
    if (seen.hugepages && !seen.cpu_or_memory)
        causes_add(c, CAUSE_FORBIDDEN, "", NULL, "HugePages require cpu or memory");
    causes_leave(c, at);
}

void
resource_list_set_defaults(struct arena *arena, struct json *object, const char *name)
{
    const __int128 milli = 1000000;
    struct json *list = json_get(object, name);

    for (uint32_t i = 0; i < json_count(list); i++) {
        struct json *v = list->members[i].value;
        char text[QUANTITY_TEXT_SIZE];
        struct quantity q;

        if (json_text(v) == NULL || quantity_parse(v->text, &q) < 0 || q.nano % milli == 0)
            continue;
        q.nano += (q.nano > 0 ? milli : 0) - q.nano % milli;
        if (q.nano < 0)
            q.nano -= milli;
        quantity_format(&q, text);
        *v = *json_string(arena, text);
    }
}

void
byte_fraction_warn(struct causes *c, const struct json *object, const char *name)
{
    const char *text = check_text(object, name);
    struct quantity q;

    if (*text != '\0' && quantity_parse(text, &q) == 0 && q.nano % 1000000000 != 0)
        causes_warn(c, "",
                    "fractional byte value \"%s\" is invalid, must be an "
                    "integer",
                    text);
}
