/* SPDX-License-Identifier: Apache-2.0 */
/* Whether free room on a node may help a pod.
 *
 * The profile's own filters of room decide. So cores, NUMA memory and devices
 * count, and a filter that a profile leaves out is left out here, too.
 */
#include <string.h>

#include "controller/scheduler/bind/yields.h"
#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/cycle.h"
#include "controller/scheduler/framework/ledger.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"

/* All unschedulable pods are ranked again once in this time. */
#define RANK_EVERY_US (INT64_C(5) * 1000000)

/* How many groups are ranked in the time of a cycle, and how many are few
 * enough to rank all at once.
 */
#define RANKED_AT_ONCE 16u
#define FEW_GROUPS     256u

/* How many answers are kept, by the shape of the pods and the state of the
 * node.
 */
#define ROOM_ANSWERS 8192u

struct room_answer {
    uint64_t generation; /* of the node; never used twice */
    uint32_t signature;
    bool has_room;
    /* In that turn of scheduler_work and with that many binding reservations,
     * pods of this shape that run this long or longer are kept off.
     */
    unsigned n_binding;
    uint64_t turn;
    int64_t kept_off_us;
};

/* Few groups are ranked all at once, so that no rank is older than the pod's
 * end that is handled; of many, some are ranked in each turn of the loop.
 */
void
scheduler_tick_ranks(struct scheduler *s)
{
    int64_t now_us = clock_monotonic_us(s->settings.clock);

    if (s->pod_ranks == NULL || now_us < s->next_ranking_us)
        return;
    s->next_ranking_us = now_us + RANK_EVERY_US;
    s->n_to_rank = (unsigned)queue_count(s->queue).groups;
    if (s->n_to_rank > FEW_GROUPS) {
        if (s->settings.ready != NULL)
            s->settings.ready(s->settings.context);
        return;
    }
    queue_rank_asleep(s->queue, s->n_to_rank);
    s->n_to_rank = 0;
}

void
scheduler_rank_asleep(struct scheduler *s)
{
    unsigned count = s->n_to_rank < RANKED_AT_ONCE ? s->n_to_rank : RANKED_AT_ONCE;

    if (count == 0)
        return;
    s->n_to_rank -= count;
    queue_rank_asleep(s->queue, count);
}

/* While pods are nominated, the end of a pod on one node may help pods on
 * another: a nominated pod may go to the first node instead.
 */
const char *
scheduler_room_of(const struct object *ended, void *context)
{
    struct scheduler *s = context;

    scheduler_tick_ranks(s);
    if (nominator_count(s->handle.nominator) > 0)
        return NULL;
    return pod_of(ended)->spec.node_name;
}

void
scheduler_end_nomination(struct scheduler *s, const struct pod_view *pod, const char *taken)
{
    const char *node = nominator_node(s->handle.nominator, pod);
    struct node_view *left;

    if (node == NULL)
        return;
    s->has_nomination_gone |= taken == NULL || strcmp(node, taken) != 0;
    left = nominator_remove(s->handle.nominator, pod);
    yields_wake(s->yields, left); /* before the cache may free it */
    cache_leave_node(s->cache, left);
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
passes(const struct profile *profile, const struct cycle *c, const struct node_view *node)
{
    struct answer answer = ANSWER_OK;

    profile_filter(profile, profile->rooms, c, &node, 1, &answer);
    return answer.verdict == VERDICT_OK;
}

/* Whether the node passes when all pods that preemption could take are gone. */
static bool
would_pass(const struct profile *profile, struct cycle *c, struct node_view *node)
{
    size_t mark = journal_begin(node->ledger.journal);
    uint32_t count = node->pods.count;
    CLEANUP_FREE struct pod_view **pods = xnew_array(struct pod_view *, count + 1);
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

/* Pods of one shape share their answer about a node until the node changes. */
static struct room_answer *
find_answer(struct scheduler *s, const struct queued_pod *queued, const struct node_view *node)
{
    uint32_t signature = profile_sign(queued->profile, queued->pod, s->signatures);
    uint64_t hash = (node->generation * 31 + signature) * UINT64_C(2654435761);
    struct room_answer *kept;

    if (signature == SIGNATURE_NONE || s->settings.without_sharing)
        return NULL;
    if (s->room_answers == NULL)
        s->room_answers = xnew_array(struct room_answer, ROOM_ANSWERS);
    kept = &s->room_answers[(hash >> 12) % ROOM_ANSWERS];
    if (kept->generation != node->generation || kept->signature != signature)
        *kept = (struct room_answer){.signature = signature};
    return kept;
}

static bool
passes_as_its_like(struct scheduler *s, const struct queued_pod *queued,
                   const struct node_view *node)
{
    struct room_answer *kept = find_answer(s, queued, node);
    struct cycle cycle;
    bool has_room;

    if (kept != NULL && kept->generation == node->generation)
        return kept->has_room;
    timeline_init_cycle(&cycle, queued->profile, queued->pod, &s->snapshot);
    has_room = passes(queued->profile, &cycle, node);
    cycle_fini(&cycle);
    if (kept != NULL) {
        kept->generation = node->generation;
        kept->has_room = has_room;
    }
    return has_room;
}

static bool
may_take(struct scheduler *s, const struct queued_pod *queued, struct node_view *node)
{
    const struct profile *profile = queued->profile;
    struct cycle cycle;
    bool is_enough = passes_as_its_like(s, queued, node);

    if (is_enough || profile->orders[POINT_POSTFILTER].count == 0
        || node->lowest_priority >= queued->pod->priority)
        return is_enough;
    timeline_init_cycle(&cycle, profile, queued->pod, &s->snapshot);
    is_enough = would_pass(profile, &cycle, node);
    cycle_fini(&cycle);
    return is_enough;
}

/* If a pod of the shape is kept off, one that runs longer is kept off, too. */
static bool
is_longer(const struct scheduler *s, const struct room_answer *kept, const struct pod_view *pod)
{
    return kept != NULL && kept->turn == s->room_turn
           && kept->n_binding == timeline_binding(s->handle.timeline)
           && timeline_limit_us(pod) >= kept->kept_off_us;
}

static void
note_kept_off(const struct scheduler *s, struct room_answer *kept, const struct pod_view *pod)
{
    if (kept == NULL)
        return;
    kept->turn = s->room_turn;
    kept->n_binding = timeline_binding(s->handle.timeline);
    kept->kept_off_us = timeline_limit_us(pod);
}

/* Whether the pod has room there, but a filter for reserved time refuses it. */
static bool
is_kept_off(struct scheduler *s, const struct queued_pod *queued, const struct node_view *node)
{
    const struct profile *profile = queued->profile;
    struct answer answer = ANSWER_OK;
    struct room_answer *kept;
    struct cycle cycle;

    if (!passes_as_its_like(s, queued, node))
        return false;
    kept = find_answer(s, queued, node);
    if (is_longer(s, kept, queued->pod))
        return true;
    timeline_init_cycle(&cycle, profile, queued->pod, &s->snapshot);
    cycle.skipped_filters = ~profile->timed;
    profile_filter(profile, profile->timed, &cycle, &node, 1, &answer);
    cycle_fini(&cycle);
    if (answer.verdict == VERDICT_OK)
        return false;
    note_kept_off(s, kept, queued->pod);
    return true;
}

/* Room that only one member of a group can use may help the whole group, whose
 * other members then use other nodes.
 */
bool
scheduler_has_room(const struct queued_pod *queued, const char *node_name, void *context)
{
    struct scheduler *s = context;
    struct node_view *node = cache_find_node(s->cache, node_name);
    const struct queued_group *g = queued->queued_group;
    uint32_t last = SIGNATURE_NONE;

    if (node == NULL || node->node == NULL
        || (scheduler_goes_one_per_node(s, queued->pod)
            && cache_has_of_group(s->cache, queued->pod, node)))
        return false;
    if (g == NULL)
        return may_take(s, queued, node);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct queued_pod *member = g->members[i];
        uint32_t signature = profile_sign(member->profile, member->pod, s->signatures);

        if ((signature == SIGNATURE_NONE || signature != last) && may_take(s, member, node))
            return true;
        last = signature;
    }
    return false;
}

/* A cycle would find the same until a reservation moves, and that is an event.
 */
bool
scheduler_is_kept_off(const struct queued_pod *queued, const char *node_name, void *context)
{
    struct scheduler *s = context;
    struct node_view *node = cache_find_node(s->cache, node_name);
    unsigned bound = timeline_binding(s->handle.timeline);
    bool is_off;

    if (queued->queued_group != NULL || queued->profile->timed == 0 || node == NULL
        || node->node == NULL || node->ledger.n_future == 0)
        return false;
    scheduler_bind_reservations(s, queued);
    is_off = is_kept_off(s, queued, node);
    timeline_bind(s->handle.timeline, bound);
    return is_off;
}

/* Only a cycle finds out when one of the first pods may start at the earliest.
 * After it, fill() in reservations.c asks the first pod without reservation
 * again.
 */
bool
scheduler_must_try(const struct queued_pod *queued, void *context)
{
    const struct scheduler *s = context;

    return nominator_count(s->handle.nominator) > 0
           || (queued->passed_over == 0 && scheduler_lacks_reservation(s, queued));
}

bool
scheduler_is_first(const struct queued_pod *queued, void *context)
{
    const struct scheduler *s = context;

    return nominator_count(s->handle.nominator) > 0 || scheduler_may_reserve(s, queued);
}

bool
scheduler_is_reserved(const struct queued_pod *queued, void *context)
{
    return scheduler_find_reservation(context, queued) != NULL;
}

/* If there are fewer reservations than allowed, this is not needed: the first
 * unschedulable pod gets the next one.
 */
bool
scheduler_overtakes(const struct queued_pod *queued, void *context)
{
    const struct scheduler *s = context;
    const struct timeline *t = s->handle.timeline;

    return timeline_count(t) >= timeline_most(t) && timeline_most(t) > 0
           && scheduler_lacks_reservation(s, queued);
}
