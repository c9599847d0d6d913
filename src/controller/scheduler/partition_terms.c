/* SPDX-License-Identifier: Apache-2.0 */
/* Terms of partitions for their pods: the tier, which is part of the priority
 * that pods have here, and whether a node is for one user, or one pod, alone.
 */
#include "controller/scheduler/partition_terms.h"

#include <stdlib.h>

#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/handle.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/state/cache.h"
#include "lib/allocator/shared_demands.h"
#include "lib/api/node/node.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/partition.h"
#include "lib/base/alloc.h"

#define PARTITION_PLUGIN "Partition"

struct moved_pods {
    struct pod_view **items;
    size_t count, capacity;
    size_t told;
};

struct partition_terms {
    struct partition_terms_parts parts;
    struct shared_demands *demands; /* shared by equal pods */
    unsigned n_of_one_user;         /* partitions whose nodes serve one user at a time */
    unsigned n_of_one_pod;          /* partitions whose nodes have one pod each */
    unsigned n_owned_nodes;         /* of rootless agents */
    bool have_changed;              /* since the last tick */
    struct moved_pods *moved;       /* to be notified of new terms, or NULL */
};

/* The view of a pod gets these terms from its partitions. */
struct pod_terms {
    int64_t tier;
    bool keeps_users_off;
    bool heeds_owners;
    bool may_take_node; /* where it starts in a partition whose nodes have one pod each */
};

static struct pod_terms
terms_of(struct partition_terms *t, const struct object *pod)
{
    const struct profile *profile = t->parts.profile_of(pod, t->parts.context);
    const char *names = pod_spec_partition(&pod_of(pod)->spec);
    struct pod_terms terms = {
        .keeps_users_off = t->n_of_one_user > 0
                           && partition_names_are_of_one_user(names, t->parts.handle->find,
                                                              t->parts.handle->owner),
        .heeds_owners = t->n_of_one_user > 0 || t->n_owned_nodes > 0,
    };

    if (profile != NULL && profile_find(profile, PARTITION_PLUGIN) < profile->n_entries)
        terms.tier = partition_tier_of_names(names, t->parts.handle->find, t->parts.handle->owner)
                     - PARTITION_USUAL_TIER;
    if (t->n_of_one_pod > 0)
        (void)partition_names_are_of_one_pod(names, t->parts.handle->find, t->parts.handle->owner,
                                             &terms.may_take_node);
    return terms;
}

struct pod_view *
partition_terms_view(struct partition_terms *t, const struct object *pod)
{
    struct pod_view *view = pod_view_new_sharing(pod, t->parts.handle->resources, t->demands);
    struct pod_terms terms = terms_of(t, pod);

    pod_view_set_tier(view, terms.tier);
    view->keeps_users_off = terms.keeps_users_off;
    view->heeds_owners = terms.heeds_owners;
    if (terms.may_take_node)
        pod_view_set_whole_demand(view, t->demands);
    return view;
}

/* ---- Changed terms ---- */

/* How many pods are updated in the place of one cycle, which takes some hundred
 * microseconds.
 */
#define PODS_A_TURN 32

void
partition_terms_forget(struct partition_terms *t)
{
    struct moved_pods *moved = t->moved;

    t->moved = NULL;
    if (moved == NULL)
        return;
    for (size_t i = moved->told; i < moved->count; i++)
        pod_view_unref(moved->items[i]);
    free(moved->items);
    free(moved);
}

/* Whether the pod's partitions give it other terms now. */
static bool
has_moved(struct partition_terms *t, const struct pod_view *pod)
{
    struct pod_terms terms = terms_of(t, pod->object);

    return pod->tier != terms.tier || pod->keeps_users_off != terms.keeps_users_off
           || pod->heeds_owners != terms.heeds_owners
           || (!pod->demand->is_whole_node && (pod->whole_demand != NULL) != terms.may_take_node);
}

static void
note_if_moved(struct partition_terms *t, struct pod_view *pod)
{
    struct moved_pods *moved = t->moved;

    if (!has_moved(t, pod))
        return;
    xgrow(moved->items, moved->count, moved->capacity);
    moved->items[moved->count++] = pod_view_ref(pod);
}

static struct pod_view *
newest_view(const struct queued_pod *queued)
{
    return queued->newer != NULL ? queued->newer : queued->pod;
}

static void
visit_waiting(const struct queued_pod *queued, void *context)
{
    note_if_moved(context, newest_view(queued));
}

/* An assumed pod will soon be reported as bound, and gets its terms then. */
static void
visit_bound(const struct pod_view *pod, bool is_assumed, void *context)
{
    struct partition_terms *t = context;

    if (!is_assumed)
        note_if_moved(t, cache_find_pod(t->parts.cache, pod));
}

/* The current view of the pod; NULL: the pod is gone, or will be reported. */
static const struct pod_view *
find_now(const struct partition_terms *t, const struct pod_view *pod)
{
    const struct queued_pod *queued = queue_find(t->parts.queue, pod->namespace, pod->name);

    if (queued != NULL && !queued->is_deleted)
        return newest_view(queued);
    return cache_is_assumed(t->parts.cache, pod) ? NULL : cache_find_pod(t->parts.cache, pod);
}

static void
notify_moved(struct partition_terms *t, const struct pod_view *pod)
{
    const struct pod_view *now = find_now(t, pod);
    const struct object *object;

    if (now == NULL || !has_moved(t, now))
        return;
    object = object_ref(now->object);
    t->parts.pod_changed(object, t->parts.context);
    object_unref(object);
}

bool
partition_terms_update_some(struct partition_terms *t)
{
    struct moved_pods *moved = t->moved;

    if (moved == NULL)
        return false;
    for (unsigned n = 0; n < PODS_A_TURN && moved->told < moved->count; n++) {
        struct pod_view *pod = moved->items[moved->told++];

        notify_moved(t, pod);
        pod_view_unref(pod);
    }
    if (moved->told < moved->count)
        return true;
    partition_terms_forget(t);
    /* Pods that could not preempt any pod may be able to now. */
    queue_event(t->parts.queue, &event_assigned_pod_delete, NULL, NULL);
    return true;
}

static void
terms_changed(struct partition_terms *t)
{
    partition_terms_forget(t);
    t->moved = xnew(struct moved_pods);
    queue_visit(t->parts.queue, visit_waiting, t);
    cache_visit_pods(t->parts.cache, visit_bound, t);
    partition_terms_update_some(t);
    if (t->moved != NULL)
        t->parts.ready(t->parts.context);
}

/* ---- Events ---- */

static bool
has_owner(const struct object *node)
{
    uid_t uid;

    return node != NULL && node_find_owner(node_of(node), &uid);
}

/* With the first node of a user, the owners of pods matter. */
void
partition_terms_node_changed(struct partition_terms *t, const struct object *old_object,
                             const struct object *new_object)
{
    const bool had_some = t->n_owned_nodes > 0;

    t->n_owned_nodes += has_owner(new_object);
    t->n_owned_nodes -= has_owner(old_object);
    t->have_changed |= had_some != (t->n_owned_nodes > 0);
}

static int64_t
tier_of(const struct object *partition)
{
    return partition != NULL ? partition_tier(partition_of(partition)) : PARTITION_USUAL_TIER;
}

static unsigned
is_of_one_user(const struct object *partition)
{
    return partition != NULL && partition_is_of_one_user(partition_of(partition));
}

static unsigned
is_of_one_pod(const struct object *partition)
{
    return partition != NULL && partition_is_of_one_pod(partition_of(partition));
}

void
partition_terms_partition_changed(struct partition_terms *t, const struct object *old_object,
                                  const struct object *new_object)
{
    t->n_of_one_user += is_of_one_user(new_object);
    t->n_of_one_user -= is_of_one_user(old_object);
    t->n_of_one_pod += is_of_one_pod(new_object);
    t->n_of_one_pod -= is_of_one_pod(old_object);
    t->have_changed |= tier_of(old_object) != tier_of(new_object)
                       || is_of_one_user(old_object) != is_of_one_user(new_object)
                       || is_of_one_pod(old_object) != is_of_one_pod(new_object);
}

void
partition_terms_tick(struct partition_terms *t)
{
    if (!t->have_changed)
        return;
    t->have_changed = false;
    terms_changed(t);
}

bool
partition_terms_are_told(const struct partition_terms *t)
{
    return t->moved == NULL;
}

/* ---- Life ---- */

void
partition_terms_free(struct partition_terms *t)
{
    if (t == NULL)
        return;
    partition_terms_forget(t);
    shared_demands_free(t->demands);
    free(t);
}

struct partition_terms *
partition_terms_new(const struct partition_terms_parts *parts)
{
    struct partition_terms *t = xnew(struct partition_terms);

    t->parts = *parts;
    t->demands = shared_demands_new();
    return t;
}
