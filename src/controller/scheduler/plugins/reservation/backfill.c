/* SPDX-License-Identifier: Apache-2.0 */
/* Backfill - a pod passes pods that are ahead of it only where it does not
 * delay them
 *
 * The first pods in the order that have no room get a reservation at their
 * earliest start (planning/planner.h of the scheduler, timeline.h). A later pod may
 * take a node that has a reservation if it ends before that begins, or fits
 * beside it.
 *
 * Extension points:  prefilter, filter
 * Arguments:         reservations: the maximum number at a time (1: EASY; many:
 *                    conservative backfill)
 * Woken by:          a reservation that moved or is gone; a pod leaving; a node
 *                    joining or changing its resources
 */
#include <errno.h>

#include "controller/scheduler/framework/framework.h"
#include "lib/api/value/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define MOST_RESERVATIONS 1000

struct backfill {
    struct handle *handle;
    uint32_t reason;
};

/* clang-format off */
static const struct field backfill_args_fields[] = {
    OPAQUE(INT, "reservations", KEPT),
};
static OPAQUE_RECORD(backfill_args, "BackfillArgs");
/* clang-format on */

static int
backfill_make(struct handle *handle, const struct json *args, void **ret_self, struct error *err)
{
    int64_t count = json_get_int(args, "reservations", 1);
    struct backfill *self;

    if (count < 1 || count > MOST_RESERVATIONS)
        return error_set(err, -EINVAL, "reservations: %lld is not between 1 and %d",
                         (long long)count, MOST_RESERVATIONS);
    self = xnew(struct backfill);
    self->handle = handle;
    self->reason = handle_reason(handle, "node(s) are reserved for pods that wait before it");
    if (handle->timeline != NULL)
        timeline_set_most(handle->timeline, (unsigned)count);
    *ret_self = self;
    return 0;
}

/* Groups unschedulable pods by time limit: the longer a pod runs, the fewer
 * reservations it may pass.
 */
static bool
backfill_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    (void)self;
    strbuf_add_int(out, timeline_limit_us(pod));
    return true;
}

static enum verdict
backfill_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                   uint32_t *ret_reason)
{
    const struct backfill *me = self;

    (void)c;
    (void)ret_result;
    (void)ret_reason;
    return me->handle->timeline != NULL && timeline_binding(me->handle->timeline) > 0
               ? VERDICT_OK
               : VERDICT_SKIP;
}

/* The verdict is NEVER, because preemption does not help: the reserved pods are
 * ahead in the order.
 */
static void
backfill_filter(void *self, const struct cycle *c, const struct node_view *const *nodes,
                unsigned count, struct answer *answers)
{
    const struct backfill *me = self;
    const struct handle *handle = me->handle;

    for (unsigned i = 0; i < count; i++) {
        if (nodes[i]->ledger.n_future == 0
            || timeline_admits(handle->timeline, handle->profile(handle->owner, c->pod), c,
                               snapshot_find(c->snapshot, nodes[i]->name)))
            continue;
        answers[i].verdict = VERDICT_NEVER;
        answers[i].reason = me->reason;
    }
}

static const struct wake wakes[] = {
    {EVENT_RESERVATION, ACTION_ALL, NULL},
    {EVENT_POD, ACTION_DELETE, NULL},
    {EVENT_NODE, ACTION_ADD | ACTION_UPDATE_NODE_ALLOCATABLE, NULL},
    WAKE_NEW_NODES,
};

const struct plugin backfill_plugin = {
    .name = "Backfill",
    .args = &backfill_args_record,
    .default_args = "{\"reservations\":1}",
    .make = backfill_make,
    .drop = free,
    .depends_on_time = true,
    .sign = backfill_sign,
    .prefilter = backfill_prefilter,
    .filter = backfill_filter,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
