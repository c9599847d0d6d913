/* SPDX-License-Identifier: Apache-2.0 */
/* ReservedNodes - keeps a pod off nodes that a Reservation has before the pod
 * ends
 *
 * Kiln's own. A pod whose time limit reaches into a window of a Reservation
 * does not get the Reservation's nodes, unless it names the Reservation; a pod
 * without a limit reaches into every window. The Reservation plugin handles
 * pods that name one.
 *
 * Extension points:  prefilter, filter
 * Woken by:          a Reservation that begins, ends, changes or goes; a node
 *                    joining
 */
#include "controller/scheduler/framework/framework.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"

struct reserved_self {
    struct handle *handle;
    uint32_t reason;
};

static int
reserved_nodes_make(struct handle *handle, const struct json *args, void **ret_self,
                    struct error *err)
{
    struct reserved_self *self = xnew(struct reserved_self);

    (void)args;
    (void)err;
    self->handle = handle;
    self->reason = handle_reason(handle, "node(s) are withheld by reservations");
    *ret_self = self;
    return 0;
}

/* Groups unschedulable pods by time limit, because a longer pod reaches into
 * more windows, and by the Reservation that they name, which admits them.
 */
static bool
reserved_nodes_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    const char *name = node_reservations_name(pod);

    (void)self;
    strbuf_add_int(out, timeline_limit_us(pod));
    strbuf_add_char(out, ' ');
    strbuf_add_text(out, name != NULL ? name : "");
    return true;
}

static enum verdict
reserved_nodes_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                         uint32_t *ret_reason)
{
    const struct reserved_self *me = self;

    (void)c;
    (void)ret_result;
    (void)ret_reason;
    return me->handle->node_reservations != NULL
                   && node_reservations_count(me->handle->node_reservations) > 0
               ? VERDICT_OK
               : VERDICT_SKIP;
}

/* The verdict is NEVER, because preemption does not help: the node is reserved
 * whatever runs on it.
 */
static void
reserved_nodes_filter(void *self, const struct cycle *c, const struct node_view *const *nodes,
                      unsigned count, struct answer *answers)
{
    const struct reserved_self *me = self;
    int64_t now_us = clock_real_us(me->handle->clock);
    int64_t end_us = timeline_end_us(c->pod, now_us);

    for (unsigned i = 0; i < count; i++)
        if (nodes[i]->ledger.n_future > 0
            && !node_reservations_admit(nodes[i], c->pod, now_us, end_us)) {
            answers[i].verdict = VERDICT_NEVER;
            answers[i].reason = me->reason;
        }
}

/* All pods that end before the same window begins share a set; pods that name a
 * Reservation have sets of their own.
 */
static bool
reserved_nodes_rejected(void *self, const struct cycle *c, const struct node_set **ret_nodes,
                        uint32_t *ret_reason)
{
    const struct reserved_self *me = self;
    int64_t now_us = clock_real_us(me->handle->clock);

    *ret_nodes = node_reservations_withheld(me->handle->node_reservations, c->pod, now_us,
                                            timeline_end_us(c->pod, now_us));
    *ret_reason = me->reason;
    return true;
}

static const struct wake wakes[] = {
    {EVENT_WITHHELD_NODES, ACTION_ALL, NULL},
    {EVENT_NODE, ACTION_ADD, NULL},
    WAKE_NEW_NODES,
};

const struct plugin reserved_nodes_plugin = {
    .name = "ReservedNodes",
    .make = reserved_nodes_make,
    .drop = free,
    .depends_on_time = true,
    .sign = reserved_nodes_sign,
    .prefilter = reserved_nodes_prefilter,
    .filter = reserved_nodes_filter,
    .rejected_nodes = reserved_nodes_rejected,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
