/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a pod group has room, whichever nodes its pods would take; which nodes
 * its pods leave to others; and which pod gets which of its nodes.
 *
 * Only CPUs are counted, which is cheap: most attempts of a wide group end
 * here.
 */
#include <stdlib.h>

#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/state/pod_groups.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/alloc.h"

bool
scheduler_goes_one_per_node(const struct scheduler *s, const struct pod_view *pod)
{
    struct group_terms terms;

    if (pod->pod->spec.scheduling_group == NULL)
        return false;
    pod_groups_terms(s->pod_groups, pod->object, &terms);
    return terms.is_one_per_node;
}

bool
scheduler_close_nodes(struct scheduler *s, const struct pod_view *pod)
{
    bool is_one_per_node = scheduler_goes_one_per_node(s, pod);

    if (is_one_per_node)
        cache_close_nodes_of_group(s->cache, pod);
    return is_one_per_node;
}

/* The pods to be counted: like the cycle's, of that much CPU. */
struct room_count {
    const struct profile *profile;
    const struct cycle *cycle;
    int64_t mcpu;
    bool is_one_per_node;
};

/* For how many of the pods the nodes have room, at most `most`, without nodes
 * that are closed to them or that a reservation keeps them off.
 */
static unsigned
count_room(const struct scheduler *s, const struct room_count *r, unsigned most)
{
    const struct profile *p = r->profile;
    int64_t room = 0;

    for (uint32_t i = 0; i < s->snapshot.n_nodes && room < most; i++) {
        const struct node_view *node = s->snapshot.nodes[i];
        struct answer answer = ANSWER_OK;
        int64_t free_mcpu = node->allocatable.cpu_milli - node->ledger.requested.cpu_milli;

        if (free_mcpu < r->mcpu || node->is_closed)
            continue;
        if (node->ledger.n_future > 0 && p->timed != 0)
            profile_filter(p, p->timed, r->cycle, &node, 1, &answer);
        if (answer.verdict == VERDICT_OK)
            room += r->is_one_per_node ? 1 : free_mcpu / r->mcpu;
    }
    return room < most ? (unsigned)room : most;
}

static void
take_least(int64_t *least_mcpu, const struct pod_view *pod)
{
    if (pod->requests.cpu_milli < *least_mcpu)
        *least_mcpu = pod->requests.cpu_milli;
}

static bool
has_room(const struct scheduler *s, const struct assignment_group *g)
{
    const struct assignment *first = g->members[0];
    int64_t least_mcpu = INT64_MAX;

    for (unsigned i = 0; i < g->count; i++)
        take_least(&least_mcpu, g->members[i]->cycle.pod);
    return least_mcpu <= 0
           || count_room(s,
                         &(struct room_count){first->profile, &first->cycle, least_mcpu,
                                              g->is_one_per_node},
                         g->wanted - 1)
                  >= g->wanted - 1;
}

static char *
format_lack(const struct assignment_group *g)
{
    return xasprintf("there is not enough room for %s%u pods of its group%s",
                     g->wanted == g->count ? "all " : "", g->wanted,
                     g->is_one_per_node ? ", each on its own node" : "");
}

/* Most attempts of a wide group end here, after its first member has found a
 * node: the nodes have not enough free CPUs for the others, wherever they go. A
 * group that may get a reservation goes on, to learn which nodes lack room.
 */
struct answer
scheduler_check_group_room(struct scheduler *s, struct assignment_group *g)
{
    struct assignment *first = g->members[0];

    if (first->asks_nodes || scheduler_may_reserve(s, first->queued) || has_room(s, g))
        return ANSWER_OK;
    first->queued->unschedulable = first->profile->rooms | first->profile->timed;
    first->queued->pending = 0;
    g->lacks_room = true;
    first->error = format_lack(g);
    return (struct answer){
        .verdict = VERDICT_REJECT,
        .plugin = PLUGIN_NONE,
        .reason = STRING_ID_NONE,
    };
}

/* True: a cycle would fail in the same way as the last one. */
bool
scheduler_group_sleeps_on(struct queued_pod *queued, void *context)
{
    struct scheduler *s = context;
    const struct queued_group *g = queued->queued_group;
    bool has_reservation = scheduler_find_reservation(s, queued) != NULL;
    struct room_count count = {.profile = queued->profile, .mcpu = INT64_MAX};
    struct cycle cycle;
    bool is_enough;

    for (unsigned i = 0; i < g->count; i++)
        take_least(&count.mcpu, g->members[i]->pod);
    if (count.mcpu <= 0 || (has_reservation && scheduler_reservation_moves(s, queued)))
        return false;
    count.is_one_per_node = scheduler_close_nodes(s, queued->pod);
    cache_update_snapshot(s->cache, &s->snapshot);
    scheduler_bind_reservations(s, queued);
    cycle_init(&cycle, queued->pod, &s->snapshot);
    count.cycle = &cycle;
    is_enough = count_room(s, &count, g->wanted) >= g->wanted;
    cycle_fini(&cycle);
    cache_open_nodes(s->cache);
    if (!is_enough && has_reservation)
        queued->passed_over = PASSED_OVER;
    return !is_enough;
}

/* ---- Ranks ----
 *
 * Each pod of a Job with its own node has its index as rank. Programs sort host
 * lists, and neighbours in a rack have neighbouring names, so the order of the
 * ranks is that of the names. The cycle has found the nodes one after the other,
 * best first; now that all are known, the pods are placed again, each where its
 * index belongs.
 */

static int
compare_index(const void *a, const void *b)
{
    const struct assignment *x = *(struct assignment *const *)a;
    const struct assignment *y = *(struct assignment *const *)b;
    const int64_t i = x->cycle.pod->job_index, j = y->cycle.pod->job_index;

    return (i > j) - (i < j);
}

/* Only pods of one Job have indexes that can be compared. */
static bool
has_ranks(const struct assignment_group *g)
{
    const int64_t job = g->members[0]->cycle.pod->job_id;

    if (!g->is_one_per_node || g->count < 2 || job == 0)
        return false;
    for (unsigned i = 0; i < g->count; i++)
        if (g->members[i]->cycle.pod->job_id != job || g->members[i]->asks_nodes)
            return false;
    return true;
}

static bool
place(struct scheduler *s, struct assignment *a, const char *node_name)
{
    struct node_view *node;

    cache_update_snapshot(s->cache, &s->snapshot);
    cycle_fini(&a->cycle);
    cycle_init(&a->cycle, a->queued->pod, &s->snapshot);
    node = cache_find_node(s->cache, node_name);
    return node != NULL && node_finder_fits(a->profile, &a->cycle, node)
           && scheduler_assume(s, a, node).verdict == VERDICT_OK;
}

/* Takes all of them back, then places them. */
static bool
place_all(struct scheduler *s, struct cache_mark *mark, struct assignment **members,
          char *const *nodes, unsigned count)
{
    for (unsigned i = count; i-- > 0;)
        scheduler_displace(s, members[i]);
    cache_roll_back(s->cache, *mark);
    *mark = cache_begin(s->cache);
    for (unsigned i = 0; i < count; i++)
        if (!place(s, members[i], nodes[i]))
            return false;
    return true;
}

/* The members that were left out have no node. */
static unsigned
list_placed(const struct assignment_group *g, struct assignment **ret_members)
{
    unsigned count = 0;

    for (unsigned i = 0; i < g->count; i++)
        if (g->members[i]->node_name != NULL)
            ret_members[count++] = g->members[i];
    return count;
}

bool
scheduler_order_group(struct scheduler *s, struct assignment_group *g, struct cache_mark *mark)
{
    CLEANUP_FREE struct assignment **members = NULL;
    CLEANUP_FREE char **sorted = NULL, **found = NULL;
    bool is_sorted = true, is_placed;
    unsigned count;

    if (!has_ranks(g))
        return true;
    members = xnew_array(struct assignment *, g->count);
    sorted = xnew_array(char *, g->count);
    found = xnew_array(char *, g->count);
    count = list_placed(g, members);
    qsort(members, count, sizeof(*members), compare_index);
    for (unsigned i = 0; i < count; i++)
        sorted[i] = found[i] = xstrdup(members[i]->node_name);
    qsort(sorted, count, sizeof(*sorted), hostlist_compare);
    for (unsigned i = 0; i < count && is_sorted; i++)
        is_sorted = sorted[i] == found[i];
    /* A pod that differs from the others, by its volumes, may not fit there. */
    is_placed = is_sorted || place_all(s, mark, members, sorted, count)
                || place_all(s, mark, members, found, count);
    for (unsigned i = 0; i < count; i++)
        free(found[i]);
    return is_placed;
}
