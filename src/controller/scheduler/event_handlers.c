/* SPDX-License-Identifier: Apache-2.0 */
/* Event handlers: report changes in the cluster to the queue and the cache. */
#include <stdio.h>
#include <string.h>

#include "controller/scheduler/bind/binding_cycle.h"
#include "controller/scheduler/bind/unallocated_pods.h"
#include "controller/scheduler/bind/volume_calls.h"
#include "controller/scheduler/bind/yields.h"
#include "controller/scheduler/extenders/extender_rounds.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/node_reservations.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/framework/volume_book.h"
#include "controller/scheduler/order/pod_ranks.h"
#include "controller/scheduler/partition_terms.h"
#include "controller/scheduler/placing/pod_placer.h"
#include "controller/scheduler/planning/planner.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/report/scheduler_metrics.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/start_forecast.h"
#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/state/group_domains.h"
#include "controller/scheduler/state/node_domains.h"
#include "controller/scheduler/state/pod_groups.h"
#include "controller/scheduler/state/retained_allocations.h"
#include "controller/scheduler/wait_report.h"
#include "lib/api/node/node.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/partition.h"
#include "lib/api/policy/priority_class.h"
#include "lib/base/clock.h"
#include "lib/base/map.h"
#include "lib/base/text.h"

static bool
is_on_a_node(const struct object *pod)
{
    const char *name = pod_of(pod)->spec.node_name;

    return name != NULL && name[0] != '\0';
}

/* A pod that is bound and has not ended holds resources on its node. A pod that
 * is being deleted holds them until it is gone.
 */
static bool
holds_resources(const struct object *pod)
{
    return pod != NULL && is_on_a_node(pod) && !pod_is_finished(pod_of(pod));
}

/* The pod's Job is held; the API would refuse to bind the pod. */
static bool
is_held(const struct object *pod)
{
    return string_map_find(&pod->meta->annotations, ANNOTATION_HOLD) != NULL;
}

static bool
is_ours_to_place(const struct scheduler *s, const struct object *pod)
{
    return pod != NULL && !is_on_a_node(pod) && !pod_is_finished(pod_of(pod))
           && pod->meta->deleted_at_us == 0 && !is_held(pod) && scheduler_profile(s, pod) != NULL;
}

static void
nomination_changed(struct scheduler *s, struct pod_view *pod)
{
    const char *node_name = pod->pod->status.nominated_node_name;

    if (node_name == NULL || node_name[0] == '\0')
        return;
    pod_placer_end_nomination(s->pod_placer, pod, node_name);
    nominator_add(s->handle.nominator, pod, cache_make_node(s->cache, node_name));
}

static void
record_gated(struct scheduler *s, const struct pod_view *pod)
{
    const struct queued_pod *queued = queue_find(s->queue, pod->namespace, pod->name);

    if (queued == NULL || queued->state != QUEUE_GATED || queued->gate_reason == STRING_ID_NONE)
        return;
    wait_report_gates(s->wait_report, pod);
    recorder_condition(s->recorder, pod, REASON_SCHEDULING_GATED,
                       string_ids_text(s->reasons, queued->gate_reason));
}

/* `pod`, here and below, is a view of the newest object, as plugins see it. */
static void
waiting_changed(struct scheduler *s, struct pod_view *pod, const struct object *old_object,
                const struct object *new_object)
{
    struct profile *profile = scheduler_profile(s, new_object);
    struct assignment *a =
        binding_cycle_find(s->binding_cycle, new_object->meta->namespace, new_object->meta->name);

    if (s->extender_rounds != NULL && extender_rounds_concern_nodes(s->extender_rounds, pod))
        pod_view_disable_sharing(pod);
    /* The pod is on its way to a node: the result of its binding decides. If
     * that fails, the pod returns to the queue as its newest object.
     */
    if (a != NULL && a->has_left && old_object != NULL) {
        queue_update_popped(a->queued, pod);
        return;
    }
    if (a == NULL)
        nomination_changed(s, pod);
    if (old_object != NULL)
        queue_update(s->queue, old_object, pod, profile);
    else
        queue_add(s->queue, pod, profile);
    planner_wait_changed(s->planner, pod);
    record_gated(s, pod);
}

/* The pod no longer waits: it was bound, was deleted, or ended before it ran.
 */
static void
waiting_ended(struct scheduler *s, struct pod_view *pod)
{
    struct assignment *a = binding_cycle_find(s->binding_cycle, pod->namespace, pod->name);

    queue_remove(s->queue, pod->namespace, pod->name);
    pod_placer_end_nomination(s->pod_placer, pod, pod->pod->spec.node_name);
    recorder_forget(s->recorder, pod);
    if (a == NULL)
        return;
    a->queued->is_deleted = true;
    if (a->stage == ASSIGNMENT_PERMIT || (a->stage == ASSIGNMENT_PREBIND && a->group != NULL))
        binding_cycle_reject(s->binding_cycle, a, assignment_waits_for(a),
                             string_ids_add(s->reasons, "the pod is gone"));
    else
        volume_calls_abandon(s->volume_calls, a);
}

/* Also true when the pod was frozen or thawed, because a frozen pod does not
 * get closer to its time limit.
 */
static bool
has_other_limit(const struct object *a, const struct object *b)
{
    const int64_t *before = pod_of(a)->spec.active_deadline_seconds;
    const int64_t *now = pod_of(b)->spec.active_deadline_seconds;

    return (before != NULL ? *before : 0) != (now != NULL ? *now : 0)
           || pod_is_frozen(pod_of(a)) != pod_is_frozen(pod_of(b))
           || pod_of(a)->status.frozen_us != pod_of(b)->status.frozen_us;
}

/* Preemption was making room on the node for its nominated pods, and the room
 * is free now.
 */
static void
activate_nominated(const struct scheduler *s, const char *node_name)
{
    const struct node_view *node = cache_find_node(s->cache, node_name);

    for (uint32_t i = 0; node != NULL && i < node->ledger.n_nominated; i++) {
        const struct pod_view *pod = nominator_pod(node, i);

        queue_activate(s->queue, pod->namespace, pod->name);
    }
}

/* Room became free or was taken on the node, or on any if NULL. */
void
scheduler_room_changed(struct scheduler *s, const struct node_view *node)
{
    if (node != NULL)
        yields_wake(s->yields, node);
    planner_room_changed(s->planner, node);
}

static void
resources_taken(struct scheduler *s, struct pod_view *pod, const struct object *old_object,
                const struct object *new_object)
{
    struct cluster_event events[EVENTS_OF_UPDATE];
    unsigned n;

    cache_set_pod(s->cache, pod, pod->pod->spec.node_name);
    yields_note(s->yields, pod);
    /* A pod whose binding cycle is under way still gets its allocation there.
     */
    if (binding_cycle_find(s->binding_cycle, pod->namespace, pod->name) == NULL)
        unallocated_pods_add(s->unallocated_pods, pod);
    if (!holds_resources(old_object)) {
        queue_event(s->queue, &event_assigned_pod_add, NULL, new_object);
        return;
    }
    if (has_other_limit(old_object, new_object))
        scheduler_room_changed(s, cache_find_node(s->cache, pod->pod->spec.node_name));
    if (pod->has_yielded && !pod_has_yielded(pod_of(old_object)))
        activate_nominated(s, pod->pod->spec.node_name);
    n = events_of_pod_update(old_object, new_object, true, events);
    for (unsigned i = 0; i < n; i++)
        if (events[i].actions != ACTION_UPDATE_OTHER)
            queue_event(s->queue, &events[i], old_object, new_object);
}

static void
resources_freed(struct scheduler *s, struct pod_view *pod, const struct object *object)
{
    CLEANUP(pod_view_unrefp) struct pod_view *own = NULL;
    const char *uid = object->meta->uid;

    if (pod->uid == NULL || uid == NULL || strcmp(pod->uid, uid) != 0)
        pod = own = partition_terms_view(s->partition_terms, object); /* another has its name */
    cache_remove_pod(s->cache, pod);
    yields_forget(s->yields, pod);
    retained_allocations_keep(&s->retained_allocations, object);
    unallocated_pods_forget(s->unallocated_pods, pod);
    scheduler_room_changed(s, cache_find_node(s->cache, pod_of(object)->spec.node_name));
    queue_event(s->queue, &event_assigned_pod_delete, object, NULL);
    if (pod->has_required_anti_affinity)
        queue_event(s->queue, &event_anti_affinity_gone, object, NULL);
}

static const char *
event_name(const struct object *old_object, const struct object *new_object)
{
    return old_object == NULL ? "Add" : new_object == NULL ? "Delete" : "Update";
}

/* Measures how long the event was handled, under the kind and the type of
 * event.
 */
static void
observe_handled(const struct scheduler *s, const char *kind, const struct object *old_object,
                const struct object *new_object, int64_t began_us)
{
    char name[64];

    if (s->metrics == NULL)
        return;
    snprintf(name, sizeof(name), "%s%s", kind, event_name(old_object, new_object));
    scheduler_metrics_event_handled(s->metrics, name,
                                    clock_monotonic_us(s->settings.clock) - began_us);
}

/* The order of jobs is updated first, so that the ranks of pods that the event
 * activates include what it has learned.
 */
static void
update_order(struct scheduler *s, struct pod_view *pod, bool is_waiting, bool has_resources)
{
    if (has_resources) {
        pod_ranks_pod_bound(s->pod_ranks, pod);
    } else if (!is_waiting) {
        pod_ranks_pod_gone(s->pod_ranks, pod);
        pod_ranks_pod_ended(s->pod_ranks, pod);
    }
}

/* The terms of waiting pods have changed, but no event of theirs comes. */
static void
note_group_terms(const struct scheduler *s)
{
    if (pod_groups_have_changed(s->pod_groups) && s->settings.ready != NULL)
        s->settings.ready(s->settings.context);
}

static void
group_terms_changed(const struct object *object, void *context)
{
    struct scheduler *s = context;
    CLEANUP(pod_view_unrefp)
    struct pod_view *pod = partition_terms_view(s->partition_terms, object);

    waiting_changed(s, pod, object, object);
}

/* Nodes may have another domain now, or another may be enough. */
static void
topology_changed(struct scheduler *s)
{
    queue_event(s->queue, &event_assigned_pod_delete, NULL, NULL);
    planner_nodes_changed(s->planner);
    scheduler_room_changed(s, NULL);
    start_forecast_changed(s->forecast);
}

void
scheduler_update_topology(struct scheduler *s)
{
    if (group_domains_renew(s->domains))
        topology_changed(s);
}

/* And new levels of the topology. Not at each event: the members of a group are bound in one transaction, which
 * brings an event for each of them.
 */
void
scheduler_flush_pod_groups(struct scheduler *s)
{
    scheduler_update_topology(s);
    if (pod_groups_have_changed(s->pod_groups))
        pod_groups_visit_changed(s->pod_groups, group_terms_changed, s);
}

void
scheduler_pod_changed(struct scheduler *s, const struct object *old_object,
                      const struct object *new_object)
{
    /* The last report of a deleted pod may show it terminating or ended. If it
     * has no node, it waited all the same.
     */
    bool was_waiting =
        is_ours_to_place(s, old_object) || (new_object == NULL && !is_on_a_node(old_object));
    bool is_waiting = is_ours_to_place(s, new_object);
    bool had_resources = holds_resources(old_object);
    bool has_resources = holds_resources(new_object);
    bool is_order_told = s->pod_ranks != NULL && !is_waiting
                         && (has_resources != had_resources || was_waiting || old_object == NULL);
    int64_t began_us = clock_monotonic_us(s->settings.clock);

    start_forecast_pod_changed(s->forecast, old_object, new_object);
    pod_groups_pod_changed(s->pod_groups, old_object, new_object, is_waiting);
    note_group_terms(s);
    if (is_order_told || was_waiting || is_waiting || had_resources || has_resources) {
        CLEANUP(pod_view_unrefp)
        struct pod_view *pod =
            partition_terms_view(s->partition_terms, new_object != NULL ? new_object : old_object);

        if (is_order_told)
            update_order(s, pod, is_waiting, has_resources);
        if (was_waiting && !is_waiting)
            waiting_ended(s, pod);
        if (has_resources)
            resources_taken(s, pod, old_object, new_object);
        else if (had_resources)
            resources_freed(s, pod, old_object);
        if (is_waiting)
            waiting_changed(s, pod, was_waiting ? old_object : NULL, new_object);
    }
    observe_handled(s, had_resources || has_resources ? "AssignedPod" : "UnscheduledPod",
                    old_object, new_object, began_us);
}

static void
node_changed(struct scheduler *s, const struct object *old_object, const struct object *new_object)
{
    struct cluster_event events[EVENTS_OF_UPDATE];
    bool has_changed = false;
    unsigned n;

    partition_terms_node_changed(s->partition_terms, old_object, new_object);
    if (new_object == NULL) {
        retained_allocations_sync(&s->retained_allocations, old_object, NULL);
        planner_node_leaves(s->planner, cache_find_node(s->cache, old_object->meta->name));
        node_reservations_node_leaves(s->handle.node_reservations,
                                      cache_find_node(s->cache, old_object->meta->name));
        cache_remove_node(s->cache, old_object->meta->name);
        queue_event(s->queue, &event_node_delete, old_object, NULL);
        start_forecast_changed(s->forecast);
        return;
    }
    if (old_object == NULL) {
        cache_set_node(s->cache, new_object);
        node_reservations_node_comes(s->handle.node_reservations,
                                     cache_find_node(s->cache, new_object->meta->name));
        retained_allocations_sync(&s->retained_allocations, NULL, new_object);
        unallocated_pods_add_node(s->unallocated_pods, new_object->meta->name);
        queue_event(s->queue, &event_node_add, NULL, new_object);
        start_forecast_changed(s->forecast);
        planner_nodes_changed(s->planner);
        return;
    }
    n = events_of_node_update(old_object, new_object, events);
    cache_set_node(s->cache, new_object);
    if (node_domains_differ(group_domains_last(s->domains), old_object, new_object))
        topology_changed(s);
    retained_allocations_sync(&s->retained_allocations, old_object, new_object);
    for (unsigned i = 0; i < n; i++) {
        if (events[i].actions == ACTION_UPDATE_NODE_ALLOCATABLE)
            unallocated_pods_add_node(s->unallocated_pods, new_object->meta->name);
        queue_event(s->queue, &events[i], old_object, new_object);
        has_changed |= events[i].actions != ACTION_UPDATE_OTHER;
    }
    if (has_changed) {
        start_forecast_changed(s->forecast);
        planner_nodes_changed(s->planner);
    }
}

void
scheduler_node_changed(struct scheduler *s, const struct object *old_object,
                       const struct object *new_object)
{
    int64_t began_us = clock_monotonic_us(s->settings.clock);

    if (s->pod_ranks != NULL)
        pod_ranks_node_changed(s->pod_ranks, old_object, new_object);
    node_changed(s, old_object, new_object);
    observe_handled(s, "Node", old_object, new_object, began_us);
}

void
scheduler_object_changed(struct scheduler *s, const struct object *old_object,
                         const struct object *new_object)
{
    const struct object *object = new_object != NULL ? new_object : old_object;
    struct map *objects = map_find(s->objects, object->kind->name);
    char key[OBJECT_KEY_SIZE];

    if (object->kind == &namespace_kind)
        s->handle.namespaces_version++;
    if (objects == NULL) {
        objects = map_new();
        map_put(s->objects, object->kind->name, objects);
    }
    object_key(object, key);
    if (object->kind == &namespace_kind && old_object != NULL && new_object != NULL)
        queue_event(s->queue, &event_namespace_update, old_object, new_object);
    if (new_object != NULL)
        object_unref(map_put(objects, key, (void *)(uintptr_t)object_ref(new_object)));
    else
        object_unref(map_remove(objects, key));
}

void
scheduler_pod_group_changed(struct scheduler *s, const struct object *old_object,
                            const struct object *new_object)
{
    scheduler_object_changed(s, old_object, new_object);
    pod_groups_changed(s->pod_groups, old_object, new_object);
    note_group_terms(s);
}

void
scheduler_members_ended(struct scheduler *s, const struct object *pod, unsigned count)
{
    pod_groups_add_ended(s->pod_groups, pod, count);
    note_group_terms(s);
}

static bool
is_same_spec(const struct object *a, const struct object *b)
{
    return a != NULL && b != NULL && a->meta->generation == b->meta->generation
           && strcmp(a->meta->uid, b->meta->uid) == 0;
}

/* With another preemption mode other pods may be victims, or victims are
 * preempted in another way.
 */
static bool
has_other_mode(const char *before, const char *now)
{
    return !text_equals_loosely(before, now);
}

static const char *
mode_of_partition(const struct object *partition)
{
    return partition != NULL ? partition_of(partition)->spec.preemption_mode : NULL;
}

static const char *
mode_of_class(const struct object *class)
{
    return class != NULL ? string_map_find(&class->meta->annotations, ANNOTATION_PREEMPTION_MODE)
                         : NULL;
}

void
scheduler_class_changed(struct scheduler *s, const struct object *old_object,
                        const struct object *new_object)
{
    scheduler_object_changed(s, old_object, new_object);
    queue_event(s->queue, &event_priority_class, old_object, new_object);
    s->has_mode_changed |= has_other_mode(mode_of_class(old_object), mode_of_class(new_object));
}

void
scheduler_partition_changed(struct scheduler *s, const struct object *old_object,
                            const struct object *new_object)
{
    const struct object *any = new_object != NULL ? new_object : old_object;
    int64_t began_us = clock_monotonic_us(s->settings.clock);

    scheduler_object_changed(s, old_object, new_object);
    if (is_same_spec(old_object, new_object))
        return;
    node_finder_forget(s->node_finder);
    partition_terms_partition_changed(s->partition_terms, old_object, new_object);
    s->has_mode_changed |=
        has_other_mode(mode_of_partition(old_object), mode_of_partition(new_object));
    object_unref(
        map_put(s->changed_partitions, any->meta->name, (void *)(uintptr_t)object_ref(any)));
    observe_handled(s, any->kind->name, old_object, new_object, began_us);
}

void
scheduler_flush_partitions(struct scheduler *s)
{
    size_t at = 0;
    void *value;

    partition_terms_tick(s->partition_terms);
    if (s->has_mode_changed) {
        s->has_mode_changed = false;
        queue_event(s->queue, &event_assigned_pod_delete, NULL, NULL);
    }
    if (map_count(s->changed_partitions) == 0)
        return;
    start_forecast_changed(s->forecast);
    while (map_next(s->changed_partitions, &at, NULL, &value)) {
        const struct object *object = value;

        queue_event(s->queue, &event_partition, NULL, object);
        object_unref(object);
    }
    map_clear(s->changed_partitions);
}

void
scheduler_storage_changed(struct scheduler *s, const struct object *old_object,
                          const struct object *new_object)
{
    const struct object *any = new_object != NULL ? new_object : old_object;
    struct cluster_event event = event_of_storage(old_object, new_object);
    int64_t began_us = clock_monotonic_us(s->settings.clock);
    bool has_gained = volume_book_set(s->handle.volumes, old_object, new_object);

    queue_event(s->queue, &event, old_object, new_object);
    if (has_gained)
        queue_event(s->queue, &event_storage_capacity, NULL, NULL);
    volume_calls_check(s->volume_calls);
    observe_handled(s, any->kind->name, old_object, new_object, began_us);
}

/* Reservations of nodes. A change takes effect at once, but waiting pods are notified at
 * the next tick, so that many changes activate them once.
 */

static void
note_reservation(const struct object *reservation, void *context)
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
    note_reservation(new_object != NULL ? new_object : old_object, s);
}

void
scheduler_flush_node_reservations(struct scheduler *s)
{
    size_t at = 0;
    void *value;

    node_reservations_turn(s->handle.node_reservations, clock_real_us(s->settings.clock),
                           note_reservation, s);
    if (map_count(s->changed_reservations) == 0)
        return;
    while (map_next(s->changed_reservations, &at, NULL, &value)) {
        const struct object *object = value;

        queue_event(s->queue, &event_node_reservation, NULL, object);
        object_unref(object);
    }
    map_clear(s->changed_reservations);
    queue_event(s->queue, &event_withheld_nodes, NULL, NULL);
    start_forecast_changed(s->forecast);
    scheduler_room_changed(s, NULL);
}
