/* SPDX-License-Identifier: Apache-2.0 */
/* Constraints of the pod and the defaults of the profile lead to one form, so that counting
 * and scoring know no difference. The defaults need what the pod's services and owners select,
 * as upstream has it; Kiln runs no controllers for these, but their objects may exist.
 * Whatever a rule depends on is also written into the signature: pods that would be counted
 * differently must not share answers.
 */
#include "controller/scheduler/plugins/pods/spread_rule.h"

#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/framework/taints.h"
#include "controller/scheduler/plugins/node/selector_sign.h"
#include "lib/api/node/node.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/selector.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

static void
add_same(struct string_map *map, const char *key, const char *value)
{
    map->items = xrealloc_array(map->items, map->count + 1, sizeof(struct string_entry));
    map->items[map->count].key = xstrdup(key);
    map->items[map->count++].value = xstrdup(value);
}

static void
set_same(struct string_map *map, const char *key, const char *value)
{
    for (unsigned i = 0; i < map->count; i++)
        if (strcmp(map->items[i].key, key) == 0) {
            free((char *)(uintptr_t)map->items[i].value);
            map->items[i].value = xstrdup(value);
            return;
        }
    add_same(map, key, value);
}

static void
read_rule(struct spread_rule *rule, const struct topology_spread *s, const struct pod_view *pod)
{
    *rule = (struct spread_rule){
        .topology_key = s->topology_key,
        .max_skew = s->max_skew,
        .min_domains = s->min_domains != NULL ? *s->min_domains : 1,
        .honors_affinity = !text_is(s->node_affinity_policy, "Ignore"),
        .honors_taints = text_is(s->node_taints_policy, "Honor"),
        .is_hostname = text_is(s->topology_key, LABEL_HOSTNAME),
        .selector = s->label_selector,
    };
    for (unsigned i = 0; i < s->match_label_keys.count; i++) {
        const char *key = s->match_label_keys.items[i];
        const char *value = string_map_find(&pod->pod->meta.labels, key);

        if (value != NULL)
            add_same(&rule->same, key, value);
    }
}

static void
read_rules(struct spread_rules *rules, const struct topology_spread *items, unsigned count,
           const struct pod_view *pod, const char *when_unsatisfiable)
{
    for (unsigned i = 0; i < count; i++) {
        if (!text_is(items[i].when_unsatisfiable, when_unsatisfiable))
            continue;
        rules->is_cut = rules->count == SPREAD_RULES;
        if (rules->is_cut)
            return;
        read_rule(&rules->items[rules->count++], &items[i], pod);
    }
}

/* Collects what the pod's services select. Kiln has no controllers for services
 * or replica sets, but such objects may exist.
 */
struct default_selector {
    const struct pod_view *pod;
    struct string_map labels;
    struct arena *arena;
};

static bool
map_matches(const struct json *map, const struct string_map *labels)
{
    for (uint32_t i = 0; i < json_count(map); i++) {
        const char *value = string_map_find(labels, map->members[i].name);

        if (value == NULL || strcmp(value, json_text(map->members[i].value)) != 0)
            return false;
    }
    return true;
}

static void
merge_map(struct string_map *labels, const struct json *map)
{
    for (uint32_t i = 0; i < json_count(map); i++)
        set_same(labels, map->members[i].name, json_text(map->members[i].value));
}

static bool
visit_service(const struct object *object, void *context)
{
    struct default_selector *d = context;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *selector = json_get_path(object_tree(object, arena), "spec.selector");

    if (json_count(selector) > 0 && map_matches(selector, &d->pod->pod->meta.labels))
        merge_map(&d->labels, selector);
    return true;
}

static bool
is_known_owner(const struct owner_reference *owner)
{
    if (text_is(owner->kind, "ReplicationController"))
        return text_is(owner->api_version, "v1");
    return text_is(owner->api_version, "apps/v1")
           && (text_is(owner->kind, "ReplicaSet") || text_is(owner->kind, "StatefulSet"));
}

static bool
has_known_owner(const struct pod_view *pod)
{
    const struct owner_reference *owner = meta_controller(&pod->pod->meta);

    return owner != NULL && is_known_owner(owner);
}

static const struct json *
owner_selector(const struct handle *handle, const struct pod_view *pod, struct arena *arena,
               bool *ret_is_plain)
{
    const struct owner_reference *owner = meta_controller(&pod->pod->meta);
    const struct object *object;
    CLEANUP_FREE char *key = NULL;

    *ret_is_plain = false;
    if (!has_known_owner(pod) || handle->find == NULL)
        return NULL;
    key = xasprintf("%s/%s", pod->namespace, owner->name);
    object = handle->find(handle->owner, owner->kind, key);
    if (object == NULL)
        return NULL;
    *ret_is_plain = text_is(owner->kind, "ReplicationController");
    return json_get_path(object_tree(object, arena), "spec.selector");
}

/* Upstream's DefaultSelector; false: it is empty. The owner's selector is
 * allocated in the arena, which the rules keep.
 */
static bool
find_default_selector(const struct handle *handle, const struct pod_view *pod, struct arena *arena,
                      struct string_map *ret_labels, const struct label_selector **ret_owner)
{
    struct default_selector d = {.pod = pod};
    const struct json *owner;
    bool is_plain;

    if (handle->visit != NULL)
        handle->visit(handle->owner, "Service", pod->namespace, visit_service, &d);
    owner = owner_selector(handle, pod, arena, &is_plain);
    if (owner != NULL && is_plain) {
        merge_map(&d.labels, owner);
    } else if (owner != NULL) {
        struct label_selector *s = arena_alloc(arena, sizeof(*s));

        record_decode(&label_selector_record, arena, owner, s);
        *ret_owner = s;
    }
    *ret_labels = d.labels;
    return d.labels.count > 0
           || (*ret_owner != NULL
               && ((*ret_owner)->match_labels.count > 0
                   || (*ret_owner)->match_expressions.count > 0));
}

static const struct label_selector anything;

static void
use_default_selector(struct spread_rules *rules, const struct handle *handle,
                     const struct pod_view *pod)
{
    const struct label_selector *owner = NULL;
    struct string_map labels = {0};
    bool selects;

    if (pod->pod->meta.labels.count == 0 && !has_known_owner(pod)) {
        rules->count = 0; /* no service selects it */
        return;
    }
    rules->arena = arena_new(0);
    selects = find_default_selector(handle, pod, rules->arena, &labels, &owner);
    if (!selects)
        rules->count = 0;
    for (unsigned r = 0; r < rules->count; r++) {
        struct spread_rule *rule = &rules->items[r];

        rule->selector = &anything;
        rule->owner = owner;
        for (unsigned i = 0; i < labels.count; i++)
            add_same(&rule->same, labels.items[i].key, labels.items[i].value);
    }
    for (unsigned i = 0; i < labels.count; i++) {
        free((char *)(uintptr_t)labels.items[i].key);
        free((char *)(uintptr_t)labels.items[i].value);
    }
    free(labels.items);
}

static void
find_bits(struct spread_rules *rules)
{
    for (unsigned i = 0; i < rules->count; i++) {
        struct spread_rule *rule = &rules->items[i];

        rule->label_bits = label_bits(&rule->same) | label_selector_bits(rule->selector)
                           | label_selector_bits(rule->owner);
    }
}

static void
read_all_rules(struct spread_rules *rules, const struct handle *handle, const struct pod_view *pod,
               const struct spread_defaults *defaults, const char *when_unsatisfiable)
{
    const struct pod_spec *spec = &pod->pod->spec;

    rules->count = 0;
    rules->is_cut = false;
    rules->arena = NULL;
    if (spec->topology_spread.count > 0) {
        read_rules(rules, spec->topology_spread.items, spec->topology_spread.count, pod,
                   when_unsatisfiable);
        return;
    }
    read_rules(rules, defaults->items, defaults->count, pod, when_unsatisfiable);
    if (rules->count > 0)
        use_default_selector(rules, handle, pod);
}

void
spread_rules_init(struct spread_rules *rules, const struct handle *handle,
                  const struct pod_view *pod, const struct spread_defaults *defaults,
                  const char *when_unsatisfiable)
{
    read_all_rules(rules, handle, pod, defaults, when_unsatisfiable);
    find_bits(rules);
}

void
spread_rules_fini(struct spread_rules *rules)
{
    for (unsigned r = 0; r < rules->count; r++) {
        struct string_map *same = &rules->items[r].same;

        for (unsigned i = 0; i < same->count; i++) {
            free((char *)(uintptr_t)same->items[i].key);
            free((char *)(uintptr_t)same->items[i].value);
        }
        free(same->items);
    }
    rules->count = 0;
    if (rules->arena != NULL)
        arena_free(rules->arena);
    rules->arena = NULL;
}

static bool
is_empty(const struct label_selector *s)
{
    return s->match_labels.count == 0 && s->match_expressions.count == 0;
}

bool
spread_rule_selects(const struct spread_rule *rule, const struct string_map *labels)
{
    for (unsigned i = 0; i < rule->same.count; i++) {
        const char *value = string_map_find(labels, rule->same.items[i].key);

        if (value == NULL || strcmp(value, rule->same.items[i].value) != 0)
            return false;
    }
    if (rule->owner != NULL && !label_selector_matches(rule->owner, labels))
        return false;
    if (rule->selector == NULL)
        return rule->same.count > 0;
    return label_selector_matches(rule->selector, labels);
}

/* A selector without any requirement counts no pods. */
static bool
counts_nobody(const struct spread_rule *rule)
{
    return rule->same.count == 0 && (rule->owner == NULL || is_empty(rule->owner))
           && (rule->selector == NULL || is_empty(rule->selector));
}

int64_t
spread_rule_count(const struct spread_rule *rule, const struct node_view *node,
                  const char *namespace)
{
    int64_t count = 0;

    if (counts_nobody(rule))
        return 0;
    for (uint32_t i = 0; i < node->pods.count; i++) {
        const struct pod_view *pod = node->pods.items[i];

        if ((node->pods.label_bits[i] & rule->label_bits) != rule->label_bits)
            continue;
        count += !pod_view_is_terminating(pod) && strcmp(pod->namespace, namespace) == 0
                 && spread_rule_selects(rule, &pod->pod->meta.labels);
    }
    return count;
}

static bool
may_go_to(const struct pod_view *pod, const struct node *node)
{
    const struct pod_spec *spec = &pod->pod->spec;
    const struct node_selector *required =
        spec->affinity != NULL && spec->affinity->node_affinity != NULL
            ? spec->affinity->node_affinity->required
            : NULL;

    for (unsigned i = 0; i < spec->node_selector.count; i++) {
        const char *value = string_map_find(&node->meta.labels, spec->node_selector.items[i].key);

        if (value == NULL || strcmp(value, spec->node_selector.items[i].value) != 0)
            return false;
    }
    return required == NULL || node_selector_matches(required, &node->meta.labels, node->meta.name);
}

bool
spread_rule_includes(const struct spread_rule *rule, const struct pod_view *pod,
                     const struct node_view *node)
{
    if (rule->honors_affinity && !may_go_to(pod, node->node))
        return false;
    return !rule->honors_taints
           || taints_find_untolerated(&node->node->spec, &pod->pod->spec) == NULL;
}

bool
spread_rules_cover(const struct spread_rules *rules, const struct string_map *labels)
{
    for (unsigned i = 0; i < rules->count; i++)
        if (string_map_find(labels, rules->items[i].topology_key) == NULL)
            return false;
    return true;
}

void
spread_rules_sign(const struct spread_rules *rules, const struct pod_view *pod, struct strbuf *out)
{
    bool honors_affinity = false, honors_taints = false;

    strbuf_add_text(out, pod->namespace);
    for (unsigned i = 0; i < rules->count; i++) {
        const struct spread_rule *rule = &rules->items[i];

        strbuf_printf(out, "\n%s %d%d ", rule->topology_key, rule->honors_affinity,
                      rule->honors_taints);
        labels_sign(&rule->same, out);
        label_selector_sign(rule->selector, out);
        honors_affinity |= rule->honors_affinity;
        honors_taints |= rule->honors_taints;
    }
    strbuf_add_char(out, '\n');
    if (honors_affinity)
        required_nodes_sign(&pod->pod->spec, out);
    strbuf_add_char(out, '\n');
    if (honors_taints)
        tolerations_sign(&pod->pod->spec, out);
}
