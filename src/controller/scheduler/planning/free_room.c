/* SPDX-License-Identifier: Apache-2.0 */
/* Whether free room on a node may help a pod.
 *
 * The profile's own filters of room decide. So cores, NUMA memory and devices
 * count, and a filter that a profile leaves out is left out here, too.
 */
#include "controller/scheduler/planning/free_room.h"

#include <stdlib.h>

#include "controller/scheduler/framework/cycle.h"
#include "controller/scheduler/framework/handle.h"
#include "controller/scheduler/framework/ledger.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/planning/planner.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/state/pod_groups.h"
#include "lib/base/alloc.h"

/* How many answers are kept, by the shape of the pods and the state of the
 * node.
 */
#define ROOM_ANSWERS 8192u

struct room_answer {
    uint64_t generation; /* of the node; never used twice */
    uint32_t signature;
    bool has_room;
    /* In that turn and with that many binding reservations,
     * pods of this shape that run this long or longer are kept off.
     */
    unsigned n_binding;
    uint64_t turn;
    int64_t kept_off_us;
};

struct free_room {
    struct free_room_settings settings;
    struct room_answer *answers; /* NULL: none yet */
    uint64_t turn;
};

void
free_room_free(struct free_room *f)
{
    if (f == NULL)
        return;
    free(f->answers);
    free(f);
}

struct free_room *
free_room_new(const struct free_room_settings *settings)
{
    struct free_room *f = xnew(struct free_room);

    f->settings = *settings;
    return f;
}

void
free_room_begin_turn(struct free_room *f)
{
    f->turn++;
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
find_answer(struct free_room *f, const struct queued_pod *queued, const struct node_view *node)
{
    uint32_t signature = profile_sign(queued->profile, queued->pod, f->settings.signatures);
    uint64_t hash = (node->generation * 31 + signature) * UINT64_C(2654435761);
    struct room_answer *kept;

    if (signature == SIGNATURE_NONE || !f->settings.is_sharing)
        return NULL;
    if (f->answers == NULL)
        f->answers = xnew_array(struct room_answer, ROOM_ANSWERS);
    kept = &f->answers[(hash >> 12) % ROOM_ANSWERS];
    if (kept->generation != node->generation || kept->signature != signature)
        *kept = (struct room_answer){.signature = signature};
    return kept;
}

static bool
passes_as_its_like(struct free_room *f, const struct queued_pod *queued,
                   const struct node_view *node)
{
    struct room_answer *kept = find_answer(f, queued, node);
    struct cycle cycle;
    bool has_room;

    if (kept != NULL && kept->generation == node->generation)
        return kept->has_room;
    timeline_init_cycle(&cycle, queued->profile, queued->pod, f->settings.snapshot);
    has_room = passes(queued->profile, &cycle, node);
    cycle_fini(&cycle);
    if (kept != NULL) {
        kept->generation = node->generation;
        kept->has_room = has_room;
    }
    return has_room;
}

static bool
may_take(struct free_room *f, const struct queued_pod *queued, struct node_view *node)
{
    const struct profile *profile = queued->profile;
    struct cycle cycle;
    bool is_enough = passes_as_its_like(f, queued, node);

    if (is_enough || profile->orders[POINT_POSTFILTER].count == 0
        || node->lowest_priority >= queued->pod->priority)
        return is_enough;
    timeline_init_cycle(&cycle, profile, queued->pod, f->settings.snapshot);
    is_enough = would_pass(profile, &cycle, node);
    cycle_fini(&cycle);
    return is_enough;
}

/* If a pod of the shape is kept off, one that runs longer is kept off, too. */
static bool
is_longer(const struct free_room *f, const struct room_answer *kept, const struct pod_view *pod)
{
    return kept != NULL && kept->turn == f->turn
           && kept->n_binding == timeline_binding(f->settings.handle->timeline)
           && timeline_limit_us(pod) >= kept->kept_off_us;
}

static void
note_kept_off(const struct free_room *f, struct room_answer *kept, const struct pod_view *pod)
{
    if (kept == NULL)
        return;
    kept->turn = f->turn;
    kept->n_binding = timeline_binding(f->settings.handle->timeline);
    kept->kept_off_us = timeline_limit_us(pod);
}

/* Whether the pod has room there, but a filter for reserved time refuses it. */
static bool
is_kept_off(struct free_room *f, const struct queued_pod *queued, const struct node_view *node)
{
    const struct profile *profile = queued->profile;
    struct answer answer = ANSWER_OK;
    struct room_answer *kept;
    struct cycle cycle;

    if (!passes_as_its_like(f, queued, node))
        return false;
    kept = find_answer(f, queued, node);
    if (is_longer(f, kept, queued->pod))
        return true;
    timeline_init_cycle(&cycle, profile, queued->pod, f->settings.snapshot);
    cycle.skipped_filters = ~profile->timed;
    profile_filter(profile, profile->timed, &cycle, &node, 1, &answer);
    cycle_fini(&cycle);
    if (answer.verdict == VERDICT_OK)
        return false;
    note_kept_off(f, kept, queued->pod);
    return true;
}

/* Room that only one member of a group can use may help the whole group, whose
 * other members then use other nodes.
 */
bool
free_room_has(struct free_room *f, const struct queued_pod *queued, const char *node_name)
{
    struct node_view *node = cache_find_node(f->settings.cache, node_name);
    const struct queued_group *g = queued->queued_group;
    uint32_t last = SIGNATURE_NONE;

    if (node == NULL || node->node == NULL
        || (pod_groups_goes_one_per_node(f->settings.pod_groups, queued->pod->object)
            && cache_has_of_group(f->settings.cache, queued->pod, node)))
        return false;
    if (g == NULL)
        return may_take(f, queued, node);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct queued_pod *member = g->members[i];
        uint32_t signature = profile_sign(member->profile, member->pod, f->settings.signatures);

        if ((signature == SIGNATURE_NONE || signature != last) && may_take(f, member, node))
            return true;
        last = signature;
    }
    return false;
}

/* A cycle would find the same until a reservation moves, and that is an event.
 */
bool
free_room_is_kept_off(struct free_room *f, const struct queued_pod *queued, const char *node_name)
{
    struct node_view *node = cache_find_node(f->settings.cache, node_name);
    unsigned bound = timeline_binding(f->settings.handle->timeline);
    bool is_off;

    if (queued->queued_group != NULL || queued->profile->timed == 0 || node == NULL
        || node->node == NULL || node->ledger.n_future == 0)
        return false;
    planner_bind(f->settings.planner, queued);
    is_off = is_kept_off(f, queued, node);
    timeline_bind(f->settings.handle->timeline, bound);
    return is_off;
}
