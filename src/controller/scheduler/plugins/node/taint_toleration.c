/* SPDX-License-Identifier: Apache-2.0 */
/* TaintToleration - a taint keeps pods away unless they tolerate it
 *
 * Extension points:  filter, prescore, score
 * Cycle state:       none: the tolerations are in the pod
 * Woken by:          a node joining or losing a taint; the pod's tolerations
 */
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/framework/taints.h"
#include "lib/api/node/node.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/strbuf.h"

static int
taint_toleration_make(struct handle *handle, const struct json *args, void **ret_self,
                      struct error *err)
{
    (void)args, (void)err;
    *ret_self = handle;
    return 0;
}

static bool
taint_toleration_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    (void)self;
    tolerations_sign(&pod->pod->spec, out);
    return true;
}

static uint32_t
reason_of(struct handle *handle, const struct taint *taint)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    strbuf_printf(&text, "node(s) had untolerated taint {%s: %s}", taint->key,
                  taint->value != NULL ? taint->value : "");
    return handle_reason(handle, text.text);
}

static void
taint_toleration_filter(void *self, const struct cycle *c, const struct node_view *const *nodes,
                        unsigned count, struct answer *answers)
{
    for (unsigned i = 0; i < count; i++) {
        const struct taint *taint;

        if (!nodes[i]->has_taints)
            continue;
        taint = taints_find_untolerated(&nodes[i]->node->spec, &c->pod->pod->spec);
        if (taint == NULL)
            continue;
        answers[i].verdict = VERDICT_NEVER;
        answers[i].reason = reason_of(self, taint);
    }
}

/* Only tolerations with no effect or with PreferNoSchedule count here. */
static bool
is_preferably_tolerated(const struct taint *taint, const struct pod_spec *pod)
{
    for (unsigned i = 0; i < pod->tolerations.count; i++) {
        const struct toleration *t = &pod->tolerations.items[i];

        if (t->effect != NULL && t->effect[0] != '\0' && strcmp(t->effect, "PreferNoSchedule") != 0)
            continue;
        if (toleration_tolerates(t, taint))
            return true;
    }
    return false;
}

static bool
is_preference(const struct taint *taint)
{
    return taint->effect != NULL && strcmp(taint->effect, "PreferNoSchedule") == 0;
}

static void
taint_toleration_score(void *self, const struct cycle *c, const struct node_view *const *nodes,
                       unsigned count, int64_t *scores)
{
    (void)self;
    for (unsigned i = 0; i < count; i++) {
        const struct node_spec *spec = &nodes[i]->node->spec;

        scores[i] = 0;
        if (nodes[i]->n_soft_taints == 0)
            continue;
        for (unsigned t = 0; t < spec->taints.count; t++)
            if (is_preference(&spec->taints.items[t])
                && !is_preferably_tolerated(&spec->taints.items[t], &c->pod->pod->spec))
                scores[i]++;
    }
}

/* A node's score is at most the number of its PreferNoSchedule taints. */
static int64_t
taint_toleration_best_score(void *self, const struct cycle *c, const struct bounds *bounds)
{
    (void)self, (void)c;
    return bounds->most_soft_taints;
}

static bool
is_kept_away(const struct object *node, const struct pod_view *pod)
{
    return taints_find_untolerated(&node_of(node)->spec, &pod->pod->spec) != NULL;
}

static bool
node_hint(void *self, const struct pod_view *pod, const struct object *old_object,
          const struct object *new_object)
{
    (void)self;
    return (old_object == NULL || is_kept_away(old_object, pod)) && !is_kept_away(new_object, pod);
}

static bool
tolerations_hint(void *self, const struct pod_view *pod, const struct object *old_object,
                 const struct object *new_object)
{
    (void)self, (void)old_object;
    return pod_view_is_of(pod, new_object);
}

static const struct wake wakes[] = {
    {EVENT_NODE, ACTION_ADD | ACTION_UPDATE_NODE_TAINT, node_hint},
    {EVENT_POD, ACTION_UPDATE_POD_TOLERATIONS, tolerations_hint},
};

const struct plugin taint_toleration_plugin = {
    .name = "TaintToleration",
    .make = taint_toleration_make,
    .sign = taint_toleration_sign,
    .filter = taint_toleration_filter,
    .score = taint_toleration_score,
    .best_score = taint_toleration_best_score,
    .normalization = NORMALIZE_REVERSED,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
