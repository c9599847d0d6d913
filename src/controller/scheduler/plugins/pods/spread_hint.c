/* SPDX-License-Identifier: Apache-2.0 */
/* Queueing hints: events that may help a pod that PodTopologySpread rejected.
 */
#include <string.h>

#include "controller/scheduler/framework/taints.h"
#include "controller/scheduler/plugins/pods/topology_spread.h"
#include "lib/api/node/node.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"

static bool
selects_any(const struct spread_rules *rules, const struct object *pod)
{
    for (unsigned i = 0; i < rules->count; i++)
        if (spread_rule_selects(&rules->items[i], &pod->meta->labels))
            return true;
    return false;
}

static bool
honors_taints(const struct spread_rules *rules)
{
    for (unsigned i = 0; i < rules->count; i++)
        if (rules->items[i].honors_taints)
            return true;
    return false;
}

static bool
same_labels(const struct string_map *a, const struct string_map *b)
{
    if (a->count != b->count)
        return false;
    for (unsigned i = 0; i < a->count; i++) {
        const char *value = string_map_find(b, a->items[i].key);

        if (value == NULL || strcmp(value, a->items[i].value) != 0)
            return false;
    }
    return true;
}

static bool
relabelled(const struct spread_rules *rules, const struct object *a, const struct object *b)
{
    if (same_labels(&a->meta->labels, &b->meta->labels))
        return false;
    for (unsigned i = 0; i < rules->count; i++)
        if (spread_rule_selects(&rules->items[i], &a->meta->labels)
            != spread_rule_selects(&rules->items[i], &b->meta->labels))
            return true;
    return false;
}

static bool
is_elsewhere(const struct object *other, const struct pod_view *pod)
{
    return other != NULL
           && strcmp(other->meta->namespace != NULL ? other->meta->namespace : "", pod->namespace)
                  != 0;
}

static bool
pod_hint(void *self, const struct pod_view *pod, const struct object *a, const struct object *b)
{
    const struct spread *me = self;
    struct spread_rules rules;
    bool helps;

    if (is_elsewhere(a, pod) || is_elsewhere(b, pod))
        return false;
    spread_rules_init(&rules, me->handle, pod, &me->defaults, MUST_SPREAD);
    if (a != NULL && b != NULL)
        helps = relabelled(&rules, a, b);
    else
        helps = selects_any(&rules, b != NULL ? b : a);
    spread_rules_fini(&rules);
    return helps;
}

static bool
tolerations_hint(void *self, const struct pod_view *pod, const struct object *a,
                 const struct object *b)
{
    const struct spread *me = self;
    struct spread_rules rules;
    bool helps;

    if (a == NULL || b == NULL || !pod_view_is_of(pod, b))
        return false;
    spread_rules_init(&rules, me->handle, pod, &me->defaults, MUST_SPREAD);
    helps = honors_taints(&rules);
    spread_rules_fini(&rules);
    return helps;
}

static bool
has_other_values(const struct spread_rules *rules, const struct object *a, const struct object *b)
{
    for (unsigned i = 0; i < rules->count; i++) {
        const char *key = rules->items[i].topology_key;

        if (strcmp(string_map_find(&a->meta->labels, key), string_map_find(&b->meta->labels, key))
            != 0)
            return true;
    }
    return false;
}

static bool
node_hint(void *self, const struct pod_view *pod, const struct object *a, const struct object *b)
{
    const struct spread *me = self;
    struct spread_rules rules;
    bool before, after, helps;

    spread_rules_init(&rules, me->handle, pod, &me->defaults, MUST_SPREAD);
    before = a != NULL && spread_rules_cover(&rules, &a->meta->labels);
    after = b != NULL && spread_rules_cover(&rules, &b->meta->labels);
    if (b == NULL)
        helps = before;
    else
        helps = before != after
                || (before && after
                    && (has_other_values(&rules, a, b)
                        || !taints_equal(&node_of(a)->spec, &node_of(b)->spec)));
    spread_rules_fini(&rules);
    return helps;
}

/* A pod with default constraints shares no hints: they depend on its services
 * and owner.
 */
bool
spread_sign_hints(void *self, const struct pod_view *pod, struct strbuf *out)
{
    const struct spread *me = self;
    struct spread_rules rules;

    if (pod->pod->spec.topology_spread.count == 0)
        return false;
    spread_rules_init(&rules, me->handle, pod, &me->defaults, MUST_SPREAD);
    spread_rules_sign(&rules, pod, out);
    spread_rules_fini(&rules);
    return true;
}

const struct wake spread_wakes[SPREAD_WAKES] = {
    {EVENT_POD, ACTION_ADD | ACTION_DELETE | ACTION_UPDATE_POD_LABEL, pod_hint},
    {EVENT_POD, ACTION_UPDATE_POD_TOLERATIONS, tolerations_hint},
    {EVENT_NODE, ACTION_ADD | ACTION_DELETE | ACTION_UPDATE_NODE_LABEL | ACTION_UPDATE_NODE_TAINT,
     node_hint},
};
