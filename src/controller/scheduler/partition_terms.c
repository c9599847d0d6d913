/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions say of their pods: the tier, a part of the priority that pods
 * have here, and whether a node is for one user alone.
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

/* A view of a pod has these of its partitions. */
struct partition_terms {
    int64_t tier;
    bool keeps_users_off;
    bool heeds_owners;
};

static struct partition_terms
terms_of(struct scheduler *s, const struct object *pod)
{
    const struct profile *profile = scheduler_profile(s, pod);
    const char *names = pod_spec_partition(&pod_of(pod)->spec);
    struct partition_terms terms = {
        .keeps_users_off =
            s->n_partitions_of_one_user > 0
            && partition_names_are_of_one_user(names, s->handle.find, s),
        .heeds_owners = s->n_partitions_of_one_user > 0,
    };

    if (profile != NULL
        && profile_find(profile, PARTITION_PLUGIN) < profile->n_entries)
        terms.tier = partition_tier_of_names(names, s->handle.find, s)
                     - PARTITION_USUAL_TIER;
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
    return view;
}

/* ---- They change ---- */

/* Pods of which they say something else now. */
struct moved_pods {
    struct scheduler *s;
    const struct object **items;
    size_t count, capacity;
};

static void
note_if_moved(struct moved_pods *moved, const struct pod_view *pod)
{
    struct partition_terms terms = terms_of(moved->s, pod->object);

    if (pod->tier == terms.tier && pod->keeps_users_off == terms.keeps_users_off
        && pod->heeds_owners == terms.heeds_owners)
        return;
    xgrow(moved->items, moved->count, moved->capacity);
    moved->items[moved->count++] = object_ref(pod->object);
}

static void
visit_waiting(const struct queued_pod *queued, void *context)
{
    note_if_moved(context, queued->newer != NULL ? queued->newer : queued->pod);
}

/* One that is assumed comes as bound soon, and is looked at then. */
static void
visit_bound(const struct pod_view *pod, bool is_assumed, void *context)
{
    if (!is_assumed)
        note_if_moved(context, pod);
}

void
scheduler_partition_terms_changed(struct scheduler *s)
{
    struct moved_pods moved = {.s = s};

    queue_visit(s->queue, visit_waiting, &moved);
    cache_visit_pods(s->cache, visit_bound, &moved);
    for (size_t i = 0; i < moved.count; i++) {
        scheduler_pod_changed(s, moved.items[i], moved.items[i]);
        object_unref(moved.items[i]);
    }
    free(moved.items);
    /* Pods that could preempt nobody may be able to now. */
    queue_event(s->queue, &event_assigned_pod_delete, NULL, NULL);
}
