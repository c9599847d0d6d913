/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_event.h - changes in the cluster that may matter to a waiting pod
 *
 * A plugin registers the events that may help a pod that it rejected. A change
 * is reported as one event for each kind of change: a node whose labels and
 * taints changed gives two events.
 *
 * Thread: the scheduler's.
 * Source: kube-scheduler, framework.ClusterEvent and backend/queue; the
 * labels are those of its metrics.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct object;

enum event_resource {
    EVENT_POD, /* bound pods, and the waiting pod itself */
    EVENT_NODE,
    EVENT_PERSISTENT_VOLUME,
    EVENT_PERSISTENT_VOLUME_CLAIM,
    EVENT_STORAGE_CLASS,
    EVENT_STORAGE_CAPACITY, /* a node's scratch, as CSIStorageCapacity */
    EVENT_POD_GROUP,
    EVENT_ANTI_AFFINITY, /* the anti-affinity of a bound pod */
    EVENT_PARTITION,
    EVENT_RESERVATION,      /* a reserved start moved or is gone */
    EVENT_NODE_RESERVATION, /* a Reservation changed, begins or ends */
    EVENT_WITHHELD_NODES,   /* the nodes withheld by Reservations */
    EVENT_NAMESPACE,        /* its members may be others */
    EVENT_PRIORITY_CLASS,   /* who may use it may have changed */
    EVENT_WILDCARD,         /* anything, as in the periodic flush */
};
#define EVENT_RESOURCES 15

enum event_action {
    ACTION_ADD = 1 << 0,
    ACTION_DELETE = 1 << 1,
    ACTION_UPDATE_NODE_ALLOCATABLE = 1 << 2,
    ACTION_UPDATE_NODE_LABEL = 1 << 3,
    ACTION_UPDATE_NODE_TAINT = 1 << 4,
    ACTION_UPDATE_NODE_CONDITION = 1 << 5,
    ACTION_UPDATE_NODE_ANNOTATION = 1 << 6,
    ACTION_UPDATE_POD_LABEL = 1 << 7,
    ACTION_UPDATE_POD_SCALE_DOWN = 1 << 8,
    ACTION_UPDATE_POD_TOLERATIONS = 1 << 9,
    ACTION_UPDATE_POD_GATES_ELIMINATED = 1 << 10,
    ACTION_UPDATE_OTHER = 1 << 11, /* no plugin registers for this */
};
#define ACTION_UPDATE (0xffcu)
#define ACTION_ALL    (0xfffu)

struct cluster_event {
    enum event_resource resource;
    /* Bits of enum event_action; an event that happened has exactly one. */
    unsigned actions;
    const char *label;
};

extern const struct cluster_event event_node_add;
extern const struct cluster_event event_node_delete;
extern const struct cluster_event event_assigned_pod_add;
extern const struct cluster_event event_assigned_pod_delete;
extern const struct cluster_event event_anti_affinity_gone;
extern const struct cluster_event event_reservation_moved;
extern const struct cluster_event event_storage_capacity;
extern const struct cluster_event event_partition;
extern const struct cluster_event event_node_reservation;
extern const struct cluster_event event_withheld_nodes;
extern const struct cluster_event event_namespace_update;
extern const struct cluster_event event_priority_class;
extern const struct cluster_event event_unschedulable_timeout;
extern const struct cluster_event event_force_activate;

/* Whether a plugin that registered for `resource` and `actions` wants the
 * event.
 */
static inline bool
event_is_covered(enum event_resource resource, unsigned actions, const struct cluster_event *event)
{
    return resource == event->resource && (actions & event->actions) != 0;
}

/* Lists the events of an update in upstream's order and returns their number. A
 * pod update without an event of its own gives one event with
 * ACTION_UPDATE_OTHER; a node update without one gives none.
 */
#define EVENTS_OF_UPDATE 8
unsigned events_of_node_update(const struct object *old_node, const struct object *new_node,
                               struct cluster_event out[EVENTS_OF_UPDATE]);
unsigned events_of_pod_update(const struct object *old_pod, const struct object *new_pod,
                              bool is_assigned, struct cluster_event out[EVENTS_OF_UPDATE]);

/* Whether nothing that an attempt would look at has changed: as when the
 * scheduler itself has written why the pod waits, or from when on it starts.
 */
bool pod_update_is_of_status(const struct object *old_pod, const struct object *new_pod);

/* The event of a change to a claim, a volume or a storage class; either object
 * may be NULL.
 */
struct cluster_event event_of_storage(const struct object *old_object,
                                      const struct object *new_object);
