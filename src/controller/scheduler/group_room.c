/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a pod group has room, whichever nodes its pods would take.
 *
 * Only CPUs are counted, which is cheap: most attempts of a wide group end
 * here.
 */
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/state/cache.h"
#include "lib/base/alloc.h"

/* For how many pods of `mcpu` the nodes have room, at most `most`, without
 * nodes that a reservation keeps this pod off.
 */
static unsigned
count_room(const struct scheduler *s, const struct profile *p, const struct cycle *c, int64_t mcpu,
           unsigned most)
{
    int64_t room = 0;

    for (uint32_t i = 0; i < s->snapshot.n_nodes && room < most; i++) {
        const struct node_view *node = s->snapshot.nodes[i];
        struct answer answer = ANSWER_OK;
        int64_t free_mcpu = node->allocatable.cpu_milli - node->ledger.requested.cpu_milli;

        if (free_mcpu < mcpu)
            continue;
        if (node->ledger.n_future > 0 && p->timed != 0)
            profile_filter(p, p->timed, c, &node, 1, &answer);
        if (answer.verdict == VERDICT_OK)
            room += free_mcpu / mcpu;
    }
    return room < most ? (unsigned)room : most;
}

static void
take_least(int64_t *least_mcpu, const struct pod_view *pod)
{
    if (pod->requests.cpu_milli < *least_mcpu)
        *least_mcpu = pod->requests.cpu_milli;
}

bool
scheduler_group_has_room(const struct scheduler *s, const struct assignment_group *g)
{
    const struct assignment *first = g->members[0];
    int64_t least_mcpu = INT64_MAX;

    for (unsigned i = 0; i < g->count; i++)
        take_least(&least_mcpu, g->members[i]->cycle.pod);
    return least_mcpu <= 0
           || count_room(s, first->profile, &first->cycle, least_mcpu, g->wanted - 1)
                  >= g->wanted - 1;
}

/* True: a cycle would fail in the same way as the last one. */
bool
scheduler_group_sleeps_on(struct queued_pod *queued, void *context)
{
    struct scheduler *s = context;
    const struct queued_group *g = queued->queued_group;
    bool has_reservation = scheduler_find_reservation(s, queued) != NULL;
    int64_t least_mcpu = INT64_MAX;
    struct cycle cycle;
    bool has_room;

    for (unsigned i = 0; i < g->count; i++)
        take_least(&least_mcpu, g->members[i]->pod);
    if (least_mcpu <= 0 || (has_reservation && scheduler_reservation_moves(s, queued)))
        return false;
    cache_update_snapshot(s->cache, &s->snapshot);
    scheduler_bind_reservations(s, queued);
    cycle_init(&cycle, queued->pod, &s->snapshot);
    has_room = count_room(s, queued->profile, &cycle, least_mcpu, g->wanted) >= g->wanted;
    cycle_fini(&cycle);
    if (!has_room && has_reservation)
        queued->passed_over = PASSED_OVER;
    return !has_room;
}
