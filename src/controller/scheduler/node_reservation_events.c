/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations of nodes: what the scheduler does when one changes, begins or
 * ends.
 *
 * A change takes effect at once, but waiting pods are notified at the next
 * tick, so that many changes activate them once.
 */
#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/node_reservations.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/start_forecast.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/clock.h"
#include "lib/base/map.h"

static void
note_changed(const struct object *reservation, void *context)
{
    struct scheduler *s = context;

    object_ref(reservation);
    object_unref(
        map_put(s->changed_reservations, reservation->meta->name, (void *)(uintptr_t)reservation));
}

void
scheduler_reservation_changed(struct scheduler *s, const struct object *old_object,
                              const struct object *new_object)
{
    scheduler_object_changed(s, old_object, new_object);
    if (new_object == NULL)
        node_reservations_remove(s->handle.node_reservations, old_object->meta->name);
    else if (node_reservations_set(s->handle.node_reservations, new_object))
        node_finder_forget(s->node_finder);
    note_changed(new_object != NULL ? new_object : old_object, s);
}

void
scheduler_tell_node_reservations(struct scheduler *s)
{
    size_t at = 0;
    void *value;

    node_reservations_turn(s->handle.node_reservations, clock_real_us(s->settings.clock),
                           note_changed, s);
    if (map_count(s->changed_reservations) == 0)
        return;
    while (map_next(s->changed_reservations, &at, NULL, &value)) {
        const struct object *object = value;

        queue_event(s->queue, &event_node_reservation, NULL, object);
        object_unref(object);
    }
    map_clear(s->changed_reservations);
    queue_event(s->queue, &event_withheld_nodes, NULL, NULL);
    scheduler_forecast_changed(s);
    scheduler_room_changed(s, NULL);
}
