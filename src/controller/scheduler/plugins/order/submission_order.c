/* SPDX-License-Identifier: Apache-2.0 */
/* SubmissionOrder - the highest priority first, then the pod that became
 * eligible first
 *
 * Kiln's own, in place of PrioritySort, which orders by when the scheduler
 * first saw a pod: after a restart that is the same time for all pods. This
 * plugin uses only what is stored with the pod: when it became eligible, the
 * number of its job, its index.
 *
 * Extension points:  queue sort
 */
#include "controller/scheduler/framework/framework.h"

static bool
submission_order_less(void *self, const struct queued_pod *a, const struct queued_pod *b)
{
    const struct pod_view *pa = a->pod, *pb = b->pod;

    (void)self;
    if (pa->priority != pb->priority)
        return pa->priority > pb->priority;
    if (pa->eligible_at_us != pb->eligible_at_us)
        return pa->eligible_at_us < pb->eligible_at_us;
    if (pa->job_id != pb->job_id)
        return pa->job_id < pb->job_id;
    if (pa->job_index != pb->job_index)
        return pa->job_index < pb->job_index;
    return a->order < b->order;
}

const struct plugin submission_order_plugin = {
    .name = "SubmissionOrder",
    .less = submission_order_less,
};
