/* SPDX-License-Identifier: Apache-2.0 */
/* pod_change_rules.c - the few fields of a pod's spec that may change
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation of 1.32.
 */
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/json/item_index.h"
#include "lib/json/json.h"

/* False: the rest of the change need not be checked. */
static bool
check_container_changes(struct causes *c, const struct json *spec, const struct json *old,
                        const char *name)
{
    const struct json *list = json_get(spec, name);

    if (json_count(list) != json_count(json_get(old, name))) {
        causes_add(c, CAUSE_FORBIDDEN, name, NULL, "pod updates may not add or remove containers");
        return false;
    }
    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *image = check_text(json_at(list, i), "image");
        unsigned at = causes_enter_index(c, name, i);

        if (image[strspn(image, " \t\r\n\v\f")] == '\0')
            causes_add(c, CAUSE_REQUIRED, "image", NULL, "%s", "");
        causes_leave(c, at);
    }
    return true;
}

static bool
check_deadline_change(struct causes *c, const struct json *spec, const struct json *old)
{
    const char *name = "activeDeadlineSeconds";
    const struct json *is = json_get(spec, name);
    int64_t after = json_get_int(spec, name, 0);

    if (!check_is_set(spec, name)) {
        if (check_is_set(old, name))
            causes_add(c, CAUSE_INVALID, name, NULL,
                       "must not update from a positive integer to nil value");
        return true;
    }
    if (!check_range(c, spec, name, 0, INT32_MAX))
        return false;
    if (check_is_set(old, name) && json_get_int(old, name, 0) < after) {
        causes_add(c, CAUSE_INVALID, name, is, "must be less than or equal to previous value");
        return false;
    }
    return true;
}

/* The toleration without its duration, which may change. */
static struct json *
without_time(struct arena *arena, const struct json *toleration)
{
    struct json *copy = json_copy(arena, toleration);

    json_remove(copy, "tolerationSeconds");
    return copy;
}

static void
check_toleration_changes(struct causes *c, const struct json *spec, const struct json *old)
{
    const struct json *was = json_get(old, "tolerations");
    const struct json *list = json_get(spec, "tolerations");
    struct json *timeless = json_array(c->arena);
    struct item_index kept;

    for (uint32_t i = 0; i < json_count(list); i++)
        json_append(c->arena, timeless, without_time(c->arena, json_at(list, i)));
    item_index_init(&kept, c->arena, timeless, NULL, 0);
    for (uint32_t i = 0; i < json_count(was); i++)
        if (item_index_find(&kept, without_time(c->arena, json_at(was, i))) < 0) {
            causes_add(c, CAUSE_FORBIDDEN, "tolerations", NULL,
                       "existing toleration can not be modified except its "
                       "tolerationSeconds");
            return;
        }
    tolerations_check(c, spec);
}

static void
check_gate_changes(struct causes *c, const struct json *spec, const struct json *old)
{
    const struct json *gates = json_get(spec, "schedulingGates");
    struct item_index kept;

    item_index_init(&kept, c->arena, json_get(old, "schedulingGates"), NULL, 0);
    for (uint32_t i = 0; i < json_count(gates); i++) {
        const struct json *gate = json_at(gates, i);
        unsigned at = causes_enter_index(c, "schedulingGates", i);

        if (item_index_find(&kept, gate) < 0)
            causes_add(c, CAUSE_FORBIDDEN, "name", NULL,
                       "only deletion is allowed, but found new scheduling "
                       "gate '%s'",
                       check_text(gate, "name"));
        causes_leave(c, at);
    }
}

static void
take_over(struct arena *arena, struct json *spec, const struct json *old, const char *name)
{
    struct json *was = json_get(old, name);

    if (was != NULL)
        json_set(arena, spec, name, was);
    else
        json_remove(spec, name);
}

/* A gated pod's selector of nodes may become narrower, not wider. */
static void
check_gated_selector(struct causes *c, struct json *spec, const struct json *old)
{
    const struct json *was = json_get(old, "nodeSelector");
    const struct json *is = json_get(spec, "nodeSelector");

    for (uint32_t i = 0; i < json_count(was); i++)
        if (!json_equals(json_get(is, was->members[i].name), was->members[i].value)) {
            causes_add(c, CAUSE_INVALID, "nodeSelector", is,
                       "only additions are allowed (no mutations or "
                       "deletions)");
            break;
        }
    take_over(c->arena, spec, old, "nodeSelector");
}

static bool
begins_with(const struct json *list, const struct json *first)
{
    if (json_count(first) > json_count(list))
        return false;
    for (uint32_t i = 0; i < json_count(first); i++)
        if (!json_equals(json_at(list, i), json_at(first, i)))
            return false;
    return true;
}

/* An empty term matches nothing, so adding requirements to it would not narrow
 * it.
 */
static bool
narrows(const struct json *term, const struct json *old)
{
    const struct json *was_labels = json_get(old, "matchExpressions");
    const struct json *was_fields = json_get(old, "matchFields");
    const struct json *labels = json_get(term, "matchExpressions");
    const struct json *fields = json_get(term, "matchFields");

    if (json_count(was_labels) + json_count(was_fields) == 0)
        return json_count(labels) + json_count(fields) == 0;
    return begins_with(labels, was_labels) && begins_with(fields, was_fields);
}

static void
check_gated_terms(struct causes *c, const struct json *affinity, const struct json *old)
{
    static const char path[] = "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    const struct json *was = json_get_path(old, path);
    const struct json *is = json_get_path(affinity, path);

    if (json_count(was) == 0)
        return;
    if (json_count(was) != json_count(is)) {
        causes_add(c, CAUSE_INVALID, path, is,
                   "no additions/deletions to non-empty NodeSelectorTerms "
                   "list are allowed");
        return;
    }
    for (uint32_t i = 0; i < was->count; i++) {
        unsigned at = causes_enter_index(c, path, i);

        if (!narrows(json_at(is, i), json_at(was, i)))
            causes_add(c, CAUSE_INVALID, "", json_at(is, i),
                       "only additions are allowed (no mutations or "
                       "deletions)");
        causes_leave(c, at);
    }
}

static void
check_gated_affinity(struct causes *c, struct json *spec, const struct json *old)
{
    struct json *affinity = json_get(spec, "affinity");
    const struct json *was = json_get_path(old, "affinity.nodeAffinity");
    unsigned at = causes_enter(c, "affinity.nodeAffinity");

    if (was != NULL)
        check_gated_terms(c, json_get(affinity, "nodeAffinity"), was);
    causes_leave(c, at);
    if (affinity == NULL && was == NULL)
        return;
    affinity = json_make_object(c->arena, spec, "affinity");
    take_over(c->arena, affinity, json_get(old, "affinity"), "nodeAffinity");
    if (json_count(affinity) == 0 && json_get(old, "affinity") == NULL)
        json_remove(spec, "affinity");
}

/* Sets the fields that may change to their old values; then the specs must be
 * equal.
 */
static void
check_rest(struct causes *c, const struct json *spec, const struct json *old)
{
    static const char *const lists[] = {"containers", "initContainers"};
    struct json *rest = json_dup(c->arena, spec);

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        for (uint32_t j = 0; j < json_count(json_get(rest, lists[i])); j++)
            take_over(c->arena, json_at(json_get(rest, lists[i]), j),
                      json_at(json_get(old, lists[i]), j), "image");
    take_over(c->arena, rest, old, "activeDeadlineSeconds");
    take_over(c->arena, rest, old, "schedulingGates");
    take_over(c->arena, rest, old, "tolerations");
    if (json_count(json_get(old, "schedulingGates")) > 0) {
        check_gated_selector(c, rest, old);
        check_gated_affinity(c, rest, old);
    }
    if (!json_equals(rest, old))
        causes_add(c, CAUSE_FORBIDDEN, "", NULL,
                   "pod updates may not change fields other than "
                   "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                   "`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
                   "additions to existing tolerations),"
                   "`spec.terminationGracePeriodSeconds` (allow it to be set "
                   "to 1 if it was previously negative)");
}

void
pod_changes_check(struct causes *c, const struct json *spec, const struct json *old)
{
    unsigned at = causes_enter(c, "spec");

    if (check_container_changes(c, spec, old, "containers")
        && check_container_changes(c, spec, old, "initContainers")
        && check_deadline_change(c, spec, old)) {
        check_toleration_changes(c, spec, old);
        check_gate_changes(c, spec, old);
        check_rest(c, spec, old);
    }
    causes_leave(c, at);
}
