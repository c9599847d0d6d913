/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that room which has come free on a node may help.
 *
 * By the profile's own filters of room, so that cores, NUMA memory and devices
 * count, and so that what a profile leaves out is left out here.
 */
#include <string.h>

#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/cycle.h"
#include "controller/scheduler/framework/ledger.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/queue/pod_group.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"

#define WAKE_ALL_EVERY_US (INT64_C(5) * 1000000)

/* While pods are nominated, an end on one node may help on another: they may go
 * there instead. And now and then an end wakes all: where a pod stands in the
 * order is asked when it wakes.
 */
const char *
scheduler_room_of(const struct object *ended, void *context)
{
    struct scheduler *s = context;
    int64_t now_us = clock_monotonic_us(s->settings.clock);

    if (nominator_count(s->handle.nominator) > 0)
        return NULL;
    if (now_us >= s->next_wake_us) {
        s->next_wake_us = now_us + WAKE_ALL_EVERY_US;
        return NULL;
    }
    return pod_of(ended)->spec.node_name;
}

void
scheduler_end_nomination(struct scheduler *s,
                         const struct pod_view *pod,
                         const char *taken)
{
    const char *node = nominator_node(s->handle.nominator, pod);

    if (node == NULL)
        return;
    s->has_nomination_gone |= taken == NULL || strcmp(node, taken) != 0;
    nominator_remove(s->handle.nominator, pod);
}

void
scheduler_tell_nominations(struct scheduler *s)
{
    bool has_gone = s->has_nomination_gone && !s->settings.without_sharing;

    s->has_nomination_gone = false;
    if (has_gone)
        queue_event(s->queue, &event_assigned_pod_delete, NULL, NULL);
}

static bool
passes(const struct profile *profile,
       const struct cycle *c,
       const struct node_view *node)
{
    struct answer answer = ANSWER_OK;

    profile_filter(profile, profile->rooms, c, &node, 1, &answer);
    return answer.verdict == VERDICT_OK;
}

/* When all pods that preemption could take are gone. */
static bool
would_pass(const struct profile *profile,
           struct cycle *c,
           struct node_view *node)
{
    size_t mark = journal_begin(node->ledger.journal);
    uint32_t count = node->pods.count;
    CLEANUP_FREE struct pod_view **pods =
        xnew_array(struct pod_view *, count + 1);
    bool is_enough;

    for (uint32_t i = 0; i < count; i++)
        pods[i] = node->pods.items[i];
    for (uint32_t i = 0; i < count; i++)
        if (pods[i]->priority < c->pod->priority) {
            node_view_remove_pod(node, pods[i]);
            profile_remove_pod(profile, c, pods[i], node);
        }
    is_enough = passes(profile, c, node);
    journal_roll_back(node->ledger.journal, mark);
    return is_enough;
}

static bool
may_take(const struct scheduler *s,
         const struct queued_pod *queued,
         struct node_view *node)
{
    const struct profile *profile = queued->profile;
    struct cycle cycle;
    bool is_enough;

    timeline_init_cycle(&cycle, profile, queued->pod, &s->snapshot);
    is_enough = passes(profile, &cycle, node);
    if (!is_enough && profile->orders[POINT_POSTFILTER].count > 0
        && node->lowest_priority < queued->pod->priority)
        is_enough = would_pass(profile, &cycle, node);
    cycle_fini(&cycle);
    return is_enough;
}

/* Of a group, what helps one member may help all: others make way for it. */
bool
scheduler_has_room(const struct queued_pod *queued,
                   const char *node_name,
                   void *context)
{
    const struct scheduler *s = context;
    struct node_view *node = cache_find_node(s->cache, node_name);
    const struct pod_group *g = queued->pod_group;
    uint32_t last = SIGNATURE_NONE;

    if (node == NULL || node->node == NULL)
        return false;
    if (g == NULL)
        return may_take(s, queued, node);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct queued_pod *member = g->members[i];
        uint32_t signature =
            profile_sign(member->profile, member->pod, s->signatures);

        if ((signature == SIGNATURE_NONE || signature != last)
            && may_take(s, member, node))
            return true;
        last = signature;
    }
    return false;
}

/* A cycle alone finds out when one of the first may start at the earliest; once
 * it has, the first of those who got no reservation is asked again.
 */
bool
scheduler_must_try(const struct queued_pod *queued, void *context)
{
    const struct scheduler *s = context;

    return nominator_count(s->handle.nominator) > 0
           || (queued->passed_over == 0
               && scheduler_lacks_reservation(s, queued));
}
