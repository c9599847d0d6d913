/* SPDX-License-Identifier: Apache-2.0 */
/* Terms of partitions for their pods: the tier, which is part of the priority
 * that pods have here, and whether a node is for one user, or one pod, alone.
 */
#include <stdlib.h>

#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/partition.h"
#include "lib/base/alloc.h"

#define PARTITION_PLUGIN "Partition"

/* The view of a pod gets these terms from its partitions. */
struct partition_terms {
    int64_t tier;
    bool keeps_users_off;
    bool heeds_owners;
    bool may_take_node; /* where it starts in a partition whose nodes have one pod each */
};

static struct partition_terms
terms_of(struct scheduler *s, const struct object *pod)
{
    const struct profile *profile = scheduler_profile(s, pod);
    const char *names = pod_spec_partition(&pod_of(pod)->spec);
    struct partition_terms terms = {
        .keeps_users_off = s->n_partitions_of_one_user > 0
                           && partition_names_are_of_one_user(names, s->handle.find, s),
        .heeds_owners = s->n_partitions_of_one_user > 0 || s->n_owned_nodes > 0,
    };

    if (profile != NULL && profile_find(profile, PARTITION_PLUGIN) < profile->n_entries)
        terms.tier = partition_tier_of_names(names, s->handle.find, s) - PARTITION_USUAL_TIER;
    if (s->n_partitions_of_one_pod > 0)
        (void)partition_names_are_of_one_pod(names, s->handle.find, s, &terms.may_take_node);
    return terms;
}

struct pod_view *
scheduler_view_pod(struct scheduler *s, const struct object *pod)
{
    struct pod_view *view = pod_view_new_sharing(pod, s->resources, s->demands);
    struct partition_terms terms = terms_of(s, pod);

    pod_view_set_tier(view, terms.tier);
    view->keeps_users_off = terms.keeps_users_off;
    view->heeds_owners = terms.heeds_owners;
    if (terms.may_take_node)
        pod_view_set_whole_demand(view, s->demands);
    return view;
}

/* ---- Changed terms ---- */

/* How many pods are updated in the place of one cycle, which takes some hundred
 * microseconds.
 */
#define PODS_A_TURN 32

struct moved_pods {
    struct pod_view **items;
    size_t count, capacity;
    size_t told;
};

void
scheduler_forget_moved_pods(struct scheduler *s)
{
    struct moved_pods *moved = s->moved_pods;

    s->moved_pods = NULL;
    if (moved == NULL)
        return;
    for (size_t i = moved->told; i < moved->count; i++)
        pod_view_unref(moved->items[i]);
    free(moved->items);
    free(moved);
}

/* Whether the pod's partitions give it other terms now. */
static bool
has_moved(struct scheduler *s, const struct pod_view *pod)
{
    struct partition_terms terms = terms_of(s, pod->object);

    return pod->tier != terms.tier || pod->keeps_users_off != terms.keeps_users_off
           || pod->heeds_owners != terms.heeds_owners
           || (!pod->demand->is_whole_node && (pod->whole_demand != NULL) != terms.may_take_node);
}

static void
note_if_moved(struct scheduler *s, struct pod_view *pod)
{
    struct moved_pods *moved = s->moved_pods;

    if (!has_moved(s, pod))
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
    struct scheduler *s = context;

    if (!is_assumed)
        note_if_moved(s, cache_find_pod(s->cache, pod));
}

/* The current view of the pod; NULL: the pod is gone, or will be reported. */
static const struct pod_view *
find_now(const struct scheduler *s, const struct pod_view *pod)
{
    const struct queued_pod *queued = queue_find(s->queue, pod->namespace, pod->name);

    if (queued != NULL && !queued->is_deleted)
        return newest_view(queued);
    return cache_is_assumed(s->cache, pod) ? NULL : cache_find_pod(s->cache, pod);
}

static void
tell_moved(struct scheduler *s, const struct pod_view *pod)
{
    const struct pod_view *now = find_now(s, pod);
    const struct object *object;

    if (now == NULL || !has_moved(s, now))
        return;
    object = object_ref(now->object);
    scheduler_pod_changed(s, object, object);
    object_unref(object);
}

bool
scheduler_tell_moved_pods(struct scheduler *s)
{
    struct moved_pods *moved = s->moved_pods;

    if (moved == NULL)
        return false;
    for (unsigned n = 0; n < PODS_A_TURN && moved->told < moved->count; n++) {
        struct pod_view *pod = moved->items[moved->told++];

        tell_moved(s, pod);
        pod_view_unref(pod);
    }
    if (moved->told < moved->count)
        return true;
    scheduler_forget_moved_pods(s);
    /* Pods that could not preempt any pod may be able to now. */
    queue_event(s->queue, &event_assigned_pod_delete, NULL, NULL);
    return true;
}

void
scheduler_partition_terms_changed(struct scheduler *s)
{
    scheduler_forget_moved_pods(s);
    s->moved_pods = xnew(struct moved_pods);
    queue_visit(s->queue, visit_waiting, s);
    cache_visit_pods(s->cache, visit_bound, s);
    scheduler_tell_moved_pods(s);
    if (s->moved_pods != NULL && s->settings.ready != NULL)
        s->settings.ready(s->settings.context);
}
