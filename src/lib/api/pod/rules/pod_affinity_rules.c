/* SPDX-License-Identifier: Apache-2.0 */
/* pod_affinity_rules.c - validation of affinity, tolerations and spread */
#include <string.h>

#include "lib/api/node/node_selector_rules.h"
#include "lib/api/object/check.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/value/name.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

#define REQUIRED_TERMS  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED_TERMS "preferredDuringSchedulingIgnoredDuringExecution"

static bool
member_is(const struct json *object, const char *name, const char *text)
{
    return strcmp(check_text(object, name), text) == 0;
}

static void
check_weight(struct causes *c, const struct json *term)
{
    int64_t weight = json_get_int(term, "weight", 0);

    if (weight <= 0 || weight > 100)
        causes_add(c, CAUSE_INVALID, "weight", json_get(term, "weight"),
                   "must be in the range 1-100");
}

static void
check_node_affinity(struct causes *c, const struct json *affinity)
{
    const struct json *preferred = json_get(affinity, PREFERRED_TERMS);
    unsigned at;

    if (check_is_set(affinity, REQUIRED_TERMS)) {
        at = causes_enter(c, REQUIRED_TERMS);
        node_selector_check(c, json_get(affinity, REQUIRED_TERMS));
        causes_leave(c, at);
    }
    for (uint32_t i = 0; i < json_count(preferred); i++) {
        const struct json *term = json_at(preferred, i);
        unsigned inside;

        at = causes_enter_index(c, PREFERRED_TERMS, i);
        check_weight(c, term);
        inside = causes_enter(c, "preference");
        node_selector_term_check(c, json_get(term, "preference"));
        causes_leave(c, inside);
        causes_leave(c, at);
    }
}

/* --- other pods ----------------------------------------------------------- */

/* Checks keys whose values are taken from the pod's own labels. */
static void
check_label_keys(struct causes *c, const struct json *term, const char *name,
                 bool may_not_be_selected)
{
    const struct json *keys = json_get(term, name);
    const struct json *selector = json_get(term, "labelSelector");
    CHECK_TEXTS(selected);

    if (json_count(keys) == 0)
        return;
    if (!json_is(selector, JSON_OBJECT)) {
        causes_add(c, CAUSE_FORBIDDEN, name, NULL,
                   "must not be specified when labelSelector is not set");
        return;
    }
    check_texts_add_list(&selected, json_get(selector, "matchExpressions"), "key");
    for (uint32_t i = 0; i < keys->count; i++) {
        const struct json *key = json_at(keys, i);
        unsigned at = causes_enter_index(c, name, i);

        check_form(c, "", NAME_QUALIFIED, key->text, key);
        if (may_not_be_selected
            && (check_texts_has(&selected, key->text)
                || json_get(json_get(selector, "matchLabels"), key->text) != NULL))
            causes_add(c, CAUSE_INVALID, "", key,
                       "exists in both matchLabelKeys and labelSelector");
        causes_leave(c, at);
    }
}

static void
check_pod_term(struct causes *c, const struct json *term)
{
    const struct json *namespaces = json_get(term, "namespaces");
    const struct json *match = json_get(term, "matchLabelKeys");
    const struct json *mismatch = json_get(term, "mismatchLabelKeys");
    CHECK_TEXTS(unmatched);

    check_label_selector(c, term, "labelSelector");
    check_label_selector(c, term, "namespaceSelector");
    for (uint32_t i = 0; i < json_count(namespaces); i++) {
        const struct json *name = json_at(namespaces, i);

        check_form(c, "namespace", NAME_DNS_LABEL, name->text, name);
    }
    check_label_keys(c, term, "matchLabelKeys", false);
    check_label_keys(c, term, "mismatchLabelKeys", false);
    for (uint32_t i = 0; i < json_count(mismatch); i++)
        check_texts_add(&unmatched, json_at(mismatch, i)->text);
    for (uint32_t i = 0; i < json_count(match); i++) {
        const struct json *key = json_at(match, i);
        unsigned at = causes_enter_index(c, "matchLabelKeys", i);

        if (check_texts_has(&unmatched, key->text))
            causes_add(c, CAUSE_INVALID, "", key,
                       "exists in both matchLabelKeys and mismatchLabelKeys");
        causes_leave(c, at);
    }
    check_present(c, term, "topologyKey", "can not be empty");
    check_name(c, term, "topologyKey", NAME_QUALIFIED);
}

static void
check_pod_affinity(struct causes *c, const struct json *affinity)
{
    const struct json *required = json_get(affinity, REQUIRED_TERMS);
    const struct json *preferred = json_get(affinity, PREFERRED_TERMS);
    unsigned at;

    for (uint32_t i = 0; i < json_count(required); i++) {
        at = causes_enter_index(c, REQUIRED_TERMS, i);
        check_pod_term(c, json_at(required, i));
        causes_leave(c, at);
    }
    for (uint32_t i = 0; i < json_count(preferred); i++) {
        const struct json *term = json_at(preferred, i);
        unsigned inside;

        at = causes_enter_index(c, PREFERRED_TERMS, i);
        check_weight(c, term);
        inside = causes_enter(c, "podAffinityTerm");
        check_pod_term(c, json_get(term, "podAffinityTerm"));
        causes_leave(c, inside);
        causes_leave(c, at);
    }
}

void
affinity_check(struct causes *c, const struct json *affinity)
{
    static const struct {
        const char *name;
        void (*check)(struct causes *c, const struct json *affinity);
    } parts[] = {
        {"nodeAffinity", check_node_affinity},
        {"podAffinity", check_pod_affinity},
        {"podAntiAffinity", check_pod_affinity},
    };

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        unsigned at = causes_enter(c, parts[i].name);

        parts[i].check(c, json_get(affinity, parts[i].name));
        causes_leave(c, at);
    }
}

/* --- taints --------------------------------------------------------------- */

static void
check_toleration(struct causes *c, const struct json *t)
{
    const char *value = check_text(t, "value");
    const char *why;

    if (*check_text(t, "key") != '\0')
        check_name(c, t, "key", NAME_QUALIFIED);
    else if (!member_is(t, "operator", "Exists"))
        causes_add(c, CAUSE_INVALID, "operator", json_get(t, "operator"),
                   "operator must be Exists when `key` is empty, which means "
                   "\"match all values and all keys\"");
    if (check_is_set(t, "tolerationSeconds") && !member_is(t, "effect", "NoExecute"))
        causes_add(c, CAUSE_INVALID, "effect", json_get(t, "effect"),
                   "effect must be 'NoExecute' when `tolerationSeconds` is "
                   "set");
    if (member_is(t, "operator", "") || member_is(t, "operator", "Equal")) {
        why = name_refuse_all(c->arena, NAME_LABEL_VALUE, value, ";");
        if (why != NULL)
            causes_add(c, CAUSE_INVALID, "operator", json_get(t, "value"), "%s", why);
    } else if (member_is(t, "operator", "Exists")) {
        if (*value != '\0')
            causes_add(c, CAUSE_INVALID, "operator", json_get(t, "value"),
                       "value must be empty when `operator` is 'Exists'");
    } else {
        check_one_of(c, t, "operator", CHECK_VALUES("Equal", "Exists"));
    }
    check_one_of(c, t, "effect", CHECK_VALUES("NoSchedule", "PreferNoSchedule", "NoExecute"));
}

void
tolerations_check(struct causes *c, const struct json *spec)
{
    const struct json *list = json_get(spec, "tolerations");

    for (uint32_t i = 0; i < json_count(list); i++) {
        unsigned at = causes_enter_index(c, "tolerations", i);

        check_toleration(c, json_at(list, i));
        causes_leave(c, at);
    }
}

/* --- spread --------------------------------------------------------------- */

static void
check_greater_than_zero(struct causes *c, const struct json *object, const char *name,
                        int64_t fallback)
{
    if (json_get_int(object, name, fallback) <= 0)
        causes_add(c, CAUSE_INVALID, name, json_get(object, name), "must be greater than zero");
}

static void
check_spread(struct causes *c, const struct json *constraint)
{
    const char *otherwise = check_text(constraint, "whenUnsatisfiable");

    check_greater_than_zero(c, constraint, "maxSkew", 0);
    check_present(c, constraint, "topologyKey", "can not be empty");
    check_one_of(c, constraint, "whenUnsatisfiable",
                 CHECK_VALUES("DoNotSchedule", "ScheduleAnyway"));
    check_greater_than_zero(c, constraint, "minDomains", 1);
    if (check_is_set(constraint, "minDomains") && strcmp(otherwise, "DoNotSchedule") != 0)
        causes_add(c, CAUSE_INVALID, "minDomains", json_get(constraint, "minDomains"),
                   "can only use minDomains if whenUnsatisfiable=DoNotSchedule,"
                   " not %s",
                   otherwise);
    check_one_of(c, constraint, "nodeAffinityPolicy", CHECK_VALUES("Honor", "Ignore"));
    check_one_of(c, constraint, "nodeTaintsPolicy", CHECK_VALUES("Honor", "Ignore"));
    check_label_keys(c, constraint, "matchLabelKeys", true);
    check_label_selector(c, constraint, "labelSelector");
}

static struct json *
spread_pair(struct causes *c, const struct json *constraint)
{
    return json_stringf(c->arena, "{%s, %s}", check_text(constraint, "topologyKey"),
                        check_text(constraint, "whenUnsatisfiable"));
}

void
topology_spread_check(struct causes *c, const struct json *object, const char *name)
{
    const struct json *list = json_get(object, name);
    uint32_t count = json_count(list);
    bool *comes_again = arena_new_array(c->arena, bool, count + 1);
    CHECK_TEXTS(pairs);

    /* Upstream reports each duplicate but the last. */
    for (uint32_t i = count; i-- > 0;)
        comes_again[i] = !check_texts_add(&pairs, spread_pair(c, json_at(list, i))->text);
    for (uint32_t i = 0; i < count; i++) {
        const struct json *constraint = json_at(list, i);
        unsigned at = causes_enter_index(c, name, i);

        check_spread(c, constraint);
        if (comes_again[i])
            causes_add(c, CAUSE_DUPLICATE, "{topologyKey, whenUnsatisfiable}",
                       spread_pair(c, constraint), "%s", "");
        causes_leave(c, at);
    }
}
