/* SPDX-License-Identifier: Apache-2.0 */
/* NodeVolumeLimits - limits the number of a driver's volumes attached to a node
 *
 * Extension points:  prefilter, filter
 *
 * Upstream takes the limits from CSINode objects, and a node without one has no
 * limit. Kiln has no CSINode, because its volumes are directories and are not
 * attached, so every pod is skipped. The plugin exists so that upstream's
 * configurations may name it.
 *
 * Source: kube-scheduler, plugins/nodevolumelimits (csi.go).
 */
#include "controller/scheduler/framework/framework.h"

static enum verdict
volume_limits_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                        uint32_t *ret_reason)
{
    (void)self, (void)c, (void)ret_result, (void)ret_reason;
    return VERDICT_SKIP;
}

static enum verdict
volume_limits_filter_one(void *self, const struct cycle *c, const struct node_view *node,
                         uint32_t *ret_reason)
{
    (void)self, (void)c, (void)node, (void)ret_reason;
    return VERDICT_OK;
}

/* Upstream's events, as far as Kiln has them, because a configuration may rely
 * on them.
 */
static const struct wake wakes[] = {
    {EVENT_POD, ACTION_DELETE, NULL},
};

const struct plugin volume_limits_plugin = {
    .name = "NodeVolumeLimits",
    .prefilter = volume_limits_prefilter,
    .filter_one = volume_limits_filter_one,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
