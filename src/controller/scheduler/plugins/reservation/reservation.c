/* SPDX-License-Identifier: Apache-2.0 */
/* Reservation - spec.placement.reservation: a pod runs only on the
 * Reservation's nodes and only while it is active
 *
 * Kiln's own. Users may only name Reservations that they have access to; the
 * API checks this when a pod is created.
 *
 * A few nodes are given as prefilter names and filtered one by one. With many
 * nodes, the answers are kept for all equal pods, as without a Reservation.
 *
 * Extension points:  prefilter, filter
 * Woken by:          its Reservation beginning, ending, changing or going; one
 *                    of its nodes joining
 */
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/node_reservation.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"

/* With more nodes than this, prefilter gives no names and the filter decides.
 */
#define NAMES_MOST 64u

struct reservation_self {
    struct handle *handle;
    uint32_t missing, rights, planned, ended, empty, elsewhere;
};

static int
reservation_make(struct handle *handle, const struct json *args, void **ret_self, struct error *err)
{
    struct reservation_self *self = xnew(struct reservation_self);

    (void)args;
    (void)err;
    self->handle = handle;
    self->missing = handle_reason(handle, "reservation does not exist");
    self->rights = handle_reason(handle, "reservation is not for the pod's owner");
    self->planned = handle_reason(handle, "reservation has not begun");
    self->ended = handle_reason(handle, "reservation has ended");
    self->empty = handle_reason(handle, "reservation has no nodes");
    self->elsewhere = handle_reason(handle, "node(s) didn't satisfy plugin(s) [Reservation]");
    *ret_self = self;
    return 0;
}

static bool
reservation_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    const char *name = node_reservations_name(pod);

    (void)self;
    strbuf_add_text(out, name != NULL ? name : "");
    return true;
}

static bool
has_no_right(const struct reservation_self *me, const struct pod_view *pod, const char *name,
             struct strbuf *why)
{
    const struct handle *h = me->handle;

    return h->refuse != NULL
           && h->refuse(pod->pod, &reservation_kind, name, why, h->refuse_context);
}

/* Pods whose owners have lost the right are no group with those of others. */
static bool
reservation_sign_prefilter(void *self, const struct pod_view *pod, struct strbuf *out)
{
    const char *name = node_reservations_name(pod);
    CLEANUP_STRBUF struct strbuf why = STRBUF_INIT;

    if (name == NULL || !has_no_right(self, pod, name, &why))
        return true;
    strbuf_add_int(out, pod->owner);
    strbuf_printf(out, " %s", why.text);
    return true;
}

/* STRING_ID_NONE: the pod may start now. */
static uint32_t
refuse(const struct reservation_self *me, struct cycle *c, const struct object *object,
       const char *name)
{
    int64_t now_us = clock_real_us(me->handle->clock);
    const struct node_reservation *r;
    struct reserved_window window;
    CLEANUP_STRBUF struct strbuf why = STRBUF_INIT;

    if (object == NULL) {
        cycle_set_message(c, "reservation %s is gone", name);
        return me->missing;
    }
    if (has_no_right(me, c->pod, name, &why)) {
        cycle_set_message(c, "not allowed: %s", why.text);
        return me->rights;
    }
    r = node_reservation_of(object);
    if (!node_reservation_window(r, now_us, &window)) {
        cycle_set_message(c, "reservation %s has ended", name);
        return me->ended;
    }
    if (r->spec.is_maintenance) {
        cycle_set_message(c, "reservation %s is for maintenance", name);
        return me->ended;
    }
    if (window.from_us > now_us || (r->spec.is_flexible && r->status.begun_us == 0)) {
        cycle_set_message(c, "waits for reservation %s to begin", name);
        return me->planned;
    }
    return STRING_ID_NONE;
}

static enum verdict
reservation_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                      uint32_t *ret_reason)
{
    const struct reservation_self *me = self;
    const char *name = node_reservations_name(c->pod);
    const struct object *object;
    const char *const *names;
    unsigned count;

    if (name == NULL || me->handle->node_reservations == NULL)
        return VERDICT_SKIP;
    object = node_reservations_find(me->handle->node_reservations, name);
    *ret_reason = refuse(me, c, object, name);
    if (*ret_reason != STRING_ID_NONE)
        return VERDICT_NEVER;
    count = node_reservation_nodes(node_reservation_of(object), &names);
    if (count == 0) {
        cycle_set_message(c, "reservation %s has no nodes", name);
        *ret_reason = me->empty;
        return VERDICT_NEVER;
    }
    if (count > NAMES_MOST)
        return VERDICT_OK;
    ret_result->has_names = true;
    ret_result->count = count;
    ret_result->names = xnew_array(const char *, ret_result->count);
    memcpy(ret_result->names, names, ret_result->count * sizeof(*names));
    return VERDICT_OK;
}

static void
reservation_filter(void *self, const struct cycle *c, const struct node_view *const *nodes,
                   unsigned count, struct answer *answers)
{
    const struct reservation_self *me = self;
    const struct node_bits *own =
        node_reservations_nodes(me->handle->node_reservations, node_reservations_name(c->pod));

    for (unsigned i = 0; i < count; i++)
        if (own == NULL || !node_bits_has(own, nodes[i]->slot)) {
            answers[i].verdict = VERDICT_NEVER;
            answers[i].reason = me->elsewhere;
        }
}

/* ---- Hints ---- */

static bool
reservation_may_help(void *self, const struct pod_view *pod, const struct object *old_object,
                     const struct object *new_object)
{
    const struct object *object = new_object != NULL ? new_object : old_object;
    const char *name = node_reservations_name(pod);

    (void)self;
    return name != NULL && (object == NULL || strcmp(object->meta->name, name) == 0);
}

static bool
names_one(UNUSED void *self, const struct pod_view *pod, UNUSED const struct object *old_object,
          UNUSED const struct object *new_object)
{
    return node_reservations_name(pod) != NULL;
}

static const struct wake wakes[] = {
    {EVENT_NODE_RESERVATION, ACTION_ALL, reservation_may_help},
    {EVENT_NODE, ACTION_ADD | ACTION_UPDATE_NODE_TAINT, names_one},
};

const struct plugin reservation_plugin = {
    .name = "Reservation",
    .make = reservation_make,
    .drop = free,
    .sign = reservation_sign,
    .sign_prefilter = reservation_sign_prefilter,
    .prefilter = reservation_prefilter,
    .filter = reservation_filter,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
