/* SPDX-License-Identifier: Apache-2.0 */
/* PrioritySort - the highest priority first, then the pod queued longest ago
 *
 * Extension points:  queue sort
 */
#include "controller/scheduler/framework/framework.h"

static bool
priority_sort_less(void *self, const struct queued_pod *a, const struct queued_pod *b)
{
    (void)self;
    if (a->pod->priority != b->pod->priority)
        return a->pod->priority > b->pod->priority;
    if (a->queued_at_us != b->queued_at_us)
        return a->queued_at_us < b->queued_at_us;
    return a->order < b->order;
}

const struct plugin priority_sort_plugin = {
    .name = "PrioritySort",
    .less = priority_sort_less,
};
