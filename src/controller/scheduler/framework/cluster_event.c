/* SPDX-License-Identifier: Apache-2.0 */
/* An update is taken apart into what it changed, because a waiting pod is tried again only for
 * events that the plugin which rejected it has registered. An event that is missed here leaves
 * a pod waiting until all are tried again after some minutes, and one that is too broad wakes
 * pods in vain; heartbeats arrive all the time, so they must be no event at all.
 */
#include "controller/scheduler/framework/cluster_event.h"

#include <string.h>

#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/taints.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/quantity.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

const struct cluster_event event_node_add = {EVENT_NODE, ACTION_ADD, "NodeAdd"};
const struct cluster_event event_node_delete = {EVENT_NODE, ACTION_DELETE, "NodeDelete"};
const struct cluster_event event_assigned_pod_add = {EVENT_POD, ACTION_ADD, "AssignedPodAdd"};
const struct cluster_event event_assigned_pod_delete = {EVENT_POD, ACTION_DELETE,
                                                        "AssignedPodDelete"};
const struct cluster_event event_anti_affinity_gone = {EVENT_ANTI_AFFINITY, ACTION_DELETE,
                                                       "AssignedPodDelete"};
const struct cluster_event event_reservation_moved = {EVENT_RESERVATION, ACTION_DELETE,
                                                      "ReservationMoved"};
const struct cluster_event event_storage_capacity = {EVENT_STORAGE_CAPACITY, ACTION_UPDATE,
                                                     "storage.k8s.io/CSIStorageCapacityUpdate"};
const struct cluster_event event_partition = {EVENT_PARTITION, ACTION_UPDATE, "PartitionUpdate"};
const struct cluster_event event_node_reservation = {EVENT_NODE_RESERVATION, ACTION_UPDATE,
                                                     "ReservationUpdate"};
const struct cluster_event event_withheld_nodes = {EVENT_WITHHELD_NODES, ACTION_UPDATE,
                                                   "ReservedNodesUpdate"};
const struct cluster_event event_namespace_update = {EVENT_NAMESPACE, ACTION_UPDATE,
                                                     "NamespaceUpdate"};
const struct cluster_event event_priority_class = {EVENT_PRIORITY_CLASS, ACTION_UPDATE,
                                                   "PriorityClassUpdate"};
const struct cluster_event event_unschedulable_timeout = {EVENT_WILDCARD, ACTION_ALL,
                                                          "UnschedulableTimeout"};
const struct cluster_event event_force_activate = {EVENT_WILDCARD, ACTION_ALL, "ForceActivate"};

static bool
same_map(const struct string_map *a, const struct string_map *b)
{
    if (a->count != b->count)
        return false;
    for (unsigned i = 0; i < a->count; i++) {
        const char *other = string_map_find(b, a->items[i].key);

        if (other == NULL || strcmp(other, a->items[i].value) != 0)
            return false;
    }
    return true;
}

static bool
same_amount(const char *a, const char *b)
{
    struct quantity qa, qb;

    return quantity_parse(a, &qa) == 0 && quantity_parse(b, &qb) == 0
           && quantity_compare(&qa, &qb) == 0;
}

static bool
same_quantities(const struct string_map *a, const struct string_map *b)
{
    if (a->count != b->count)
        return false;
    for (unsigned i = 0; i < a->count; i++) {
        const char *other = string_map_find(b, a->items[i].key);

        if (other == NULL || !same_amount(a->items[i].value, other))
            return false;
    }
    return true;
}

/* Compares only type and status of the conditions, because a heartbeat changes
 * the other fields and is not an event.
 */
static bool
same_conditions(const struct node_status *a, const struct node_status *b)
{
    if (a->conditions.count != b->conditions.count)
        return false;
    for (unsigned i = 0; i < a->conditions.count; i++) {
        const struct node_condition *ca = &a->conditions.items[i];
        bool is_same = false;

        for (unsigned j = 0; j < b->conditions.count && !is_same; j++)
            is_same = text_equals_loosely(ca->type, b->conditions.items[j].type)
                      && text_equals_loosely(ca->status, b->conditions.items[j].status);
        if (!is_same)
            return false;
    }
    return true;
}

static void
put(struct cluster_event *out, unsigned *count, enum event_resource resource,
    enum event_action action, const char *label)
{
    out[(*count)++] = (struct cluster_event){resource, action, label};
}

/* A changed topology counts as changed allocatable resources. */
static bool
same_allocatable(const struct node *a, const struct node *b)
{
    return same_quantities(&a->status.allocatable, &b->status.allocatable)
           && (a->status.topology == b->status.topology
               || json_equals(a->status.topology, b->status.topology));
}

unsigned
events_of_node_update(const struct object *old_node, const struct object *new_node,
                      struct cluster_event out[EVENTS_OF_UPDATE])
{
    const struct node *a = node_of(old_node), *b = node_of(new_node);
    unsigned n = 0;

    if (a->spec.unschedulable && !b->spec.unschedulable)
        put(out, &n, EVENT_NODE, ACTION_UPDATE_NODE_TAINT, "NodeUpdateNodeTaint");
    if (!same_allocatable(a, b))
        put(out, &n, EVENT_NODE, ACTION_UPDATE_NODE_ALLOCATABLE, "NodeUpdateNodeAllocatable");
    if (!same_map(&a->meta.labels, &b->meta.labels))
        put(out, &n, EVENT_NODE, ACTION_UPDATE_NODE_LABEL, "NodeUpdateNodeLabel");
    if (!taints_equal(&a->spec, &b->spec))
        put(out, &n, EVENT_NODE, ACTION_UPDATE_NODE_TAINT, "NodeUpdateNodeTaint");
    if (!same_conditions(&a->status, &b->status))
        put(out, &n, EVENT_NODE, ACTION_UPDATE_NODE_CONDITION, "NodeUpdateNodeCondition");
    if (!same_map(&a->meta.annotations, &b->meta.annotations))
        put(out, &n, EVENT_NODE, ACTION_UPDATE_NODE_ANNOTATION, "NodeUpdateNodeAnnotation");
    if (node_scratch_bytes(a) != node_scratch_bytes(b))
        out[n++] = event_storage_capacity;
    return n;
}

static bool
same_requests(const struct pod_spec *a, const struct pod_spec *b)
{
    if (a->containers.count != b->containers.count
        || a->init_containers.count != b->init_containers.count)
        return false;
    for (unsigned i = 0; i < a->containers.count; i++)
        if (!same_map(&a->containers.items[i].resources.requests,
                      &b->containers.items[i].resources.requests))
            return false;
    for (unsigned i = 0; i < a->init_containers.count; i++)
        if (!same_map(&a->init_containers.items[i].resources.requests,
                      &b->init_containers.items[i].resources.requests))
            return false;
    return true;
}

static bool
same_tolerations(const struct pod_spec *a, const struct pod_spec *b)
{
    if (a->tolerations.count != b->tolerations.count)
        return false;
    for (unsigned i = 0; i < a->tolerations.count; i++) {
        const struct toleration *ta = &a->tolerations.items[i];
        const struct toleration *tb = &b->tolerations.items[i];
        const int64_t *sa = ta->toleration_seconds;
        const int64_t *sb = tb->toleration_seconds;

        if (!text_equals_loosely(ta->key, tb->key)
            || !text_equals_loosely(ta->operator_, tb->operator_)
            || !text_equals_loosely(ta->value, tb->value)
            || !text_equals_loosely(ta->effect, tb->effect) || (sa != NULL) != (sb != NULL)
            || (sa != NULL && *sa != *sb))
            return false;
    }
    return true;
}

unsigned
events_of_pod_update(const struct object *old_pod, const struct object *new_pod, bool is_assigned,
                     struct cluster_event out[EVENTS_OF_UPDATE])
{
    const struct pod *a = pod_of(old_pod), *b = pod_of(new_pod);
    unsigned n = 0;

    if (!same_map(&a->meta.labels, &b->meta.labels))
        put(out, &n, EVENT_POD, ACTION_UPDATE_POD_LABEL,
            is_assigned ? "AssignedPodUpdatePodLabel" : "UnschedulablePodUpdatePodLabel");
    if (!same_requests(&a->spec, &b->spec) && pod_view_asks_less(a, b))
        put(out, &n, EVENT_POD, ACTION_UPDATE_POD_SCALE_DOWN,
            is_assigned ? "AssignedPodUpdatePodScaleDown" : "UnschedulablePodUpdatePodScaleDown");
    if (a->spec.scheduling_gates.count > 0 && b->spec.scheduling_gates.count == 0)
        put(out, &n, EVENT_POD, ACTION_UPDATE_POD_GATES_ELIMINATED,
            is_assigned ? "AssignedPodUpdatePodSchedulingGatesEliminated"
                        : "UnschedulablePodUpdatePodSchedulingGatesEliminated");
    if (!same_tolerations(&a->spec, &b->spec))
        put(out, &n, EVENT_POD, ACTION_UPDATE_POD_TOLERATIONS,
            is_assigned ? "AssignedPodUpdatePodTolerations"
                        : "UnschedulablePodUpdatePodTolerations");
    if (n == 0)
        put(out, &n, EVENT_POD, ACTION_UPDATE_OTHER,
            is_assigned ? "AssignedPodUpdate" : "UnschedulablePodUpdate");
    return n;
}

bool
pod_update_is_of_status(const struct object *old_pod, const struct object *new_pod)
{
    const struct meta *a = old_pod->meta, *b = new_pod->meta;
    struct cluster_event events[EVENTS_OF_UPDATE];

    return a->generation == b->generation && a->deleted_at_us == b->deleted_at_us
           && same_map(&a->annotations, &b->annotations)
           && events_of_pod_update(old_pod, new_pod, false, events) == 1
           && events[0].actions == ACTION_UPDATE_OTHER;
}

struct cluster_event
event_of_storage(const struct object *old_object, const struct object *new_object)
{
    static const struct {
        const struct kind *kind;
        enum event_resource resource;
        const char *labels[3];
    } resources[] = {
        {&persistent_volume_kind,
         EVENT_PERSISTENT_VOLUME,
         {"PersistentVolumeAdd", "PersistentVolumeUpdate", "PersistentVolumeDelete"}},
        {&persistent_volume_claim_kind,
         EVENT_PERSISTENT_VOLUME_CLAIM,
         {"PersistentVolumeClaimAdd", "PersistentVolumeClaimUpdate",
          "PersistentVolumeClaimDelete"}},
        {&storage_class_kind,
         EVENT_STORAGE_CLASS,
         {"storage.k8s.io/StorageClassAdd", "storage.k8s.io/StorageClassUpdate",
          "storage.k8s.io/StorageClassDelete"}},
    };
    static const unsigned actions[] = {
        ACTION_ADD,
        ACTION_UPDATE,
        ACTION_DELETE,
    };
    const struct object *any = new_object != NULL ? new_object : old_object;
    unsigned what = old_object == NULL ? 0 : new_object != NULL ? 1 : 2;
    unsigned at = 0;

    while (resources[at].kind != any->kind)
        at++;
    return (struct cluster_event){resources[at].resource, actions[what],
                                  resources[at].labels[what]};
}
