/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a pod group has room, whichever nodes its pods would take; which nodes
 * its pods leave to others; and which pods of lower priority end for it.
 *
 * Only CPUs are counted, which is cheap: most attempts of a wide group end
 * here.
 */
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/handle.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/plugins/preemption/preemption.h"
#include "controller/scheduler/plugins/preemption/victim_terms.h"
#include "controller/scheduler/plugins/preemption/victims.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/state/node_domains.h"
#include "controller/scheduler/state/pod_groups.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"

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
has_room(const struct scheduler *s, const struct assignment_group *g, unsigned wanted)
{
    const struct assignment *first = g->members[0];
    int64_t least_mcpu = INT64_MAX;

    for (unsigned i = 0; i < g->count; i++)
        take_least(&least_mcpu, g->members[i]->cycle.pod);
    return least_mcpu <= 0
           || count_room(s,
                         &(struct room_count){first->profile, &first->cycle, least_mcpu,
                                              g->is_one_per_node},
                         wanted)
                  >= wanted;
}

bool
scheduler_has_group_room(const struct scheduler *s, const struct assignment_group *g)
{
    return has_room(s, g, g->wanted);
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

    if (first->asks_nodes || scheduler_may_reserve(s, first->queued)
        || has_room(s, g, g->wanted - 1))
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
    is_enough = scheduler_may_find_domain(s, queued->pod,
                                          &(struct domain_need){count.mcpu, count.is_one_per_node},
                                          g->wanted)
                && count_room(s, &count, g->wanted) >= g->wanted;
    cycle_fini(&cycle);
    cache_open_nodes(s->cache);
    if (!is_enough && has_reservation)
        queued->passed_over = PASSED_OVER;
    return !is_enough;
}

/* ---- Preemption ----
 *
 * Victims for all pods of a group are found in one trial, and ended only if all of the
 * pods then fit. Until they have ended, the nodes are promised to the pods of the group,
 * and no further victims are looked for.
 */

/* How often the nodes are searched for candidates, for one group: each search tries a
 * hundred nodes or more.
 */
#define MAX_SEARCHES 8u

struct group_trial {
    struct scheduler *s;
    struct candidates candidates;
    unsigned next; /* of the candidates */
    unsigned n_searches;
    struct pod_view **victims;
    const struct node_view **nodes; /* of the victims */
    uint32_t n_victims, victim_room, node_room;
    int64_t now_us, victims_end_us; /* when the last of the victims is gone */
    struct pod_view **ending;       /* pods that make room by themselves; not counted at first */
    const struct node_view **ending_nodes;
    uint32_t n_ending, ending_room, ending_node_room;
};

static void
note_victim(struct pod_view *pod, const struct node_view *node, void *context)
{
    struct group_trial *t = context;

    xgrow(t->victims, t->n_victims, t->victim_room);
    xgrow(t->nodes, t->n_victims, t->node_room);
    t->victims[t->n_victims] = pod;
    t->nodes[t->n_victims++] = node;
}

static void
note_ending(struct pod_view *pod, const struct node_view *node, void *context)
{
    struct group_trial *t = context;

    xgrow(t->ending, t->n_ending, t->ending_room);
    xgrow(t->ending_nodes, t->n_ending, t->ending_node_room);
    t->ending[t->n_ending] = pod;
    t->ending_nodes[t->n_ending++] = node;
}

/* No result of before the trial, or of within it, holds for these nodes. */
static void
touch_nodes(struct scheduler *s, const struct node_view *const *nodes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct node_view *node = cache_find_node(s->cache, nodes[i]->name);

        if (node != NULL)
            cache_touch(s->cache, node);
    }
}

/* Victims of gangs may be on many nodes. */
static struct node_view *
try_candidate(struct group_trial *t, struct assignment *a, const struct victims *v)
{
    struct scheduler *s = t->s;
    struct node_view *node = cache_find_node(s->cache, v->node->name);
    const uint32_t before = t->n_victims;
    struct cache_mark mark;

    if (node == NULL || node->is_closed)
        return NULL;
    mark = cache_begin(s->cache);
    victims_remove(a->profile, &a->cycle, v, note_victim, t);
    touch_nodes(s, t->nodes + before, t->n_victims - before);
    cycle_fini(&a->cycle);
    cycle_init(&a->cycle, a->queued->pod, &s->snapshot);
    if (node_finder_fits(a->profile, &a->cycle, node)) {
        const int64_t end_us = victims_end_us(a->profile, &a->cycle, v, t->now_us);

        if (end_us > t->victims_end_us)
            t->victims_end_us = end_us;
        cache_keep(s->cache, mark);
        return node;
    }
    cache_roll_back(s->cache, mark);
    touch_nodes(s, t->nodes + before, t->n_victims - before);
    t->n_victims = before;
    return NULL;
}

/* Candidates of one search serve all pods that are like the first; when none is left,
 * another search finds what the victims so far have changed.
 */
static struct node_view *
make_room(struct group_trial *t, struct assignment *a)
{
    struct scheduler *s = t->s;

    for (;;) {
        struct node_view *node;

        while (t->next < t->candidates.count) {
            node = try_candidate(t, a, &t->candidates.items[t->next++]);
            if (node != NULL)
                return node;
        }
        if (t->n_searches++ == MAX_SEARCHES)
            return NULL;
        candidates_fini(&t->candidates);
        t->candidates = (struct candidates){0};
        t->next = 0;
        node = scheduler_find_node(s, a);
        if (node != NULL) /* a gang that ends elsewhere has made room */
            return node;
        candidates_find_for_group(&t->candidates, a->profile, &a->cycle,
                                  node_finder_diagnosis(s->node_finder));
        if (t->candidates.count == 0)
            return NULL;
    }
}

static bool
place_in_trial(struct group_trial *t, const struct assignment_group *g)
{
    struct scheduler *s = t->s;

    for (unsigned i = 0; i < g->wanted; i++) {
        struct assignment *a = g->members[i];
        struct node_view *node = scheduler_find_node(s, a);

        if (node == NULL)
            node = make_room(t, a);
        if (node == NULL || scheduler_assume(s, a, node).verdict != VERDICT_OK)
            return false;
        if (g->is_one_per_node)
            cache_close_node(s->cache, node);
    }
    return true;
}

static void
promise(struct group_preemption *p, struct pod_view *pod, const char *node)
{
    xgrow(p->promised, p->n_promised, p->promised_room);
    pod_view_ref(pod);
    p->promised[p->n_promised++] = (struct promised_node){pod, xstrdup(node)};
}

/* ---- After the trial ---- */

static void
nominate(struct scheduler *s, struct pod_view *pod, const char *node, bool is_new)
{
    scheduler_end_nomination(s, pod, node);
    nominator_add(s->handle.nominator, pod, cache_make_node(s->cache, node));
    if (is_new)
        recorder_nominate(s->recorder, pod, node);
}

static void
wait_for(struct group_preemption *p, struct pod_view *pod)
{
    xgrow(p->victims, p->n_victims, p->victim_room);
    pod_view_ref(pod);
    p->victims[p->n_victims++] = pod;
}

static bool
is_promised(const struct group_preemption *p, const struct node_view *node)
{
    for (uint32_t i = 0; i < p->n_promised; i++)
        if (strcmp(p->promised[i].node, node->name) == 0)
            return true;
    return false;
}

/* Evictions change the nodes, so references keep the victims alive. */
static void
act(struct group_trial *t, const struct assignment_group *g, struct group_preemption *p)
{
    struct scheduler *s = t->s;
    struct pod_view *preemptor = g->members[0]->cycle.pod;

    for (uint32_t i = 0; i < t->n_victims; i++)
        wait_for(p, t->victims[i]);
    p->n_preempted = t->n_victims;
    for (uint32_t i = 0; i < t->n_ending; i++)
        if (is_promised(p, t->ending_nodes[i]))
            wait_for(p, t->ending[i]);
    for (uint32_t i = 0; i < t->n_victims; i++)
        s->handle.evict(s->handle.owner, p->victims[i], preemptor, t->nodes[i]->name);
    for (uint32_t i = 0; i < p->n_promised; i++)
        nominate(s, p->promised[i].pod, p->promised[i].node, true);
}

static void
trial_fini(struct group_trial *t)
{
    candidates_fini(&t->candidates);
    free(t->victims);
    free(t->nodes);
    free(t->ending);
    free(t->ending_nodes);
}

/* Until_us: pods that are ending by then are gone; 0: none are. False: not all of the
 * pods that the group needs fit.
 */
static bool
try_to_place(struct group_trial *t, struct assignment_group *g, int64_t until_us,
             struct group_preemption *p)
{
    struct scheduler *s = t->s;
    struct cache_mark mark = cache_begin(s->cache);
    bool is_placed;

    group_preemption_clear(p);
    scheduler_close_nodes(s, g->members[0]->cycle.pod);
    for (uint32_t i = 0; until_us > 0 && i < s->snapshot.n_nodes; i++)
        victims_remove_ending(s->snapshot.nodes[i], t->now_us, until_us, note_ending, t);
    touch_nodes(s, t->ending_nodes, t->n_ending);
    is_placed = place_in_trial(t, g);
    for (unsigned i = 0; is_placed && i < g->wanted; i++)
        promise(p, g->members[i]->cycle.pod, g->members[i]->node_name);
    for (unsigned i = g->wanted; i-- > 0;)
        scheduler_displace(s, g->members[i]);
    cache_open_nodes(s->cache);
    cache_roll_back(s->cache, mark);
    touch_nodes(s, t->ending_nodes, t->n_ending);
    touch_nodes(s, t->nodes, t->n_victims);
    return is_placed;
}

/* Kiln's own, as for a single pod: nobody is ended for room that pods which are ending
 * already make as soon. They may be victims of this group: a scheduler that was restarted
 * does not know. Upstream's profile lacks the plugin Partition.
 */
static bool
counts_ending(const struct assignment_group *g, const struct group_trial *first)
{
    const struct profile *p = g->members[0]->profile;

    return first->n_victims > 0 && profile_find(p, PARTITION_PLUGIN) != p->n_entries;
}

static void
try_to_preempt(struct scheduler *s, struct assignment_group *g, struct group_preemption *p)
{
    const int64_t now_us = clock_real_us(s->handle.clock);
    struct group_trial first = {.s = s, .now_us = now_us, .victims_end_us = now_us};
    struct group_trial second = {.s = s, .now_us = now_us, .victims_end_us = now_us};
    struct group_preemption instead = {0};

    if (!try_to_place(&first, g, 0, p)) {
        group_preemption_clear(p);
    } else if (counts_ending(g, &first) && try_to_place(&second, g, first.victims_end_us, &instead)
               && second.n_victims < first.n_victims) {
        group_preemption_clear(p);
        *p = instead;
        instead = (struct group_preemption){0};
        act(&second, g, p);
    } else {
        act(&first, g, p);
    }
    group_preemption_clear(&instead);
    trial_fini(&first);
    trial_fini(&second);
}

/* A victim that has yielded its cores, or will not, is waited for no longer. */
static bool
is_waited_for(struct scheduler *s, const struct pod_view *victim)
{
    const struct pod_view *now = cache_find_pod(s->cache, victim);

    return now != NULL && !now->has_yielded && !s->handle.refuses_to_yield(s->handle.owner, now);
}

/* One that ends by itself is not waited for when it should be gone for long. */
static bool
is_late(const struct scheduler *s, const struct pod_view *pod)
{
    return !victims_ends_by(pod, clock_real_us(s->handle.clock), INT64_MAX);
}

static bool
has_victims(struct scheduler *s, const struct group_preemption *p)
{
    for (uint32_t i = 0; i < p->n_victims; i++)
        if (is_waited_for(s, p->victims[i]) && (i < p->n_preempted || !is_late(s, p->victims[i])))
            return true;
    return false;
}

/* A pod that was placed in the attempt that failed is nominated no longer. */
static void
nominate_again(struct scheduler *s, const struct assignment_group *g,
               const struct group_preemption *p)
{
    for (unsigned i = 0; i < g->count; i++)
        for (uint32_t j = 0; j < p->n_promised; j++)
            if (pod_view_is_same(p->promised[j].pod, g->members[i]->cycle.pod)
                && nominator_node(s->handle.nominator, g->members[i]->cycle.pod) == NULL)
                nominate(s, g->members[i]->cycle.pod, p->promised[j].node, false);
}

void
scheduler_preempt_for_group(struct scheduler *s, struct assignment_group *g)
{
    struct queued_group *of = g->members[0]->queued->queued_group;
    struct group_preemption *p = of != NULL ? &of->preemption : NULL;

    if (p == NULL || s->settings.is_simulation || g->lacks_domain
        || g->answer.verdict != VERDICT_REJECT || g->members[0]->asks_nodes
        || g->members[0]->queued->is_deleted)
        return;
    if (has_victims(s, p)) {
        nominate_again(s, g, p);
        return;
    }
    group_preemption_clear(p);
    if (preemption_may_help_group(g->members[0]->profile, &g->members[0]->cycle))
        try_to_preempt(s, g, p);
}
