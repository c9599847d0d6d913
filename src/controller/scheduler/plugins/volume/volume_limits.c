/* SPDX-License-Identifier: Apache-2.0 */
/* NodeVolumeLimits - a node attaches so many volumes of a driver
 *
 * Extension points:  prefilter, filter
 *
 * Upstream's limits are those of CSINode objects, and a node without one has
 * none. There is no CSINode here, for directories are not attached: no pod has
 * to be looked at. The name is known so that upstream's configurations are.
 *
 * Source: kube-scheduler, plugins/nodevolumelimits (csi.go).
 */
#include "controller/scheduler/framework/framework.h"

static enum verdict
volume_limits_prefilter(void *self,
                        struct cycle *c,
                        struct prefilter_result *ret_result,
                        uint32_t *ret_reason)
{
    (void)self, (void)c, (void)ret_result, (void)ret_reason;
    return VERDICT_SKIP;
}

static enum verdict
volume_limits_filter_one(void *self,
                         const struct cycle *c,
                         const struct node_view *node,
                         uint32_t *ret_reason)
{
    (void)self, (void)c, (void)node, (void)ret_reason;
    return VERDICT_OK;
}

/* Upstream's, of the events there are: a configuration may count on them. */
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
