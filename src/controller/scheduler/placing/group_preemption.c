/* SPDX-License-Identifier: Apache-2.0 */
/* Which pods of lower priority end for a group whose cycle has failed.
 *
 * Victims for all pods of a group are found in one trial, and ended only if all of the
 * pods then fit. Until they have ended, the nodes are promised to the pods of the group,
 * and no further victims are looked for.
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
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/placing/group_placer_state.h"
#include "controller/scheduler/placing/pod_placer.h"
#include "controller/scheduler/plugins/preemption/preemption.h"
#include "controller/scheduler/plugins/preemption/victim_terms.h"
#include "controller/scheduler/plugins/preemption/victims.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/state/group_domains.h"
#include "controller/scheduler/state/node_domains.h"
#include "controller/scheduler/state/pod_groups.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"

/* How often the nodes are searched for candidates, for one group: each search tries a
 * hundred nodes or more.
 */
#define MAX_SEARCHES 8u

/* In how many domains victims are looked for, of a group that must be in one. */
#define MAX_DOMAINS 4u

struct group_trial {
    struct group_placer *placer;
    const struct node_domain *domain; /* for all pods; NULL: any nodes */
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
touch_nodes(struct group_placer *placer, const struct node_view *const *nodes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct node_view *node = cache_find_node(placer->parts.cache, nodes[i]->name);

        if (node != NULL)
            cache_touch(placer->parts.cache, node);
    }
}

/* Victims of gangs may be on many nodes. */
static struct node_view *
try_candidate(struct group_trial *t, struct assignment *a, const struct victims *v)
{
    struct group_placer *placer = t->placer;
    struct node_view *node = cache_find_node(placer->parts.cache, v->node->name);
    const uint32_t before = t->n_victims;
    struct cache_mark mark;

    if (node == NULL || node->is_closed)
        return NULL;
    mark = cache_begin(placer->parts.cache);
    victims_remove(a->profile, &a->cycle, v, note_victim, t);
    touch_nodes(placer, t->nodes + before, t->n_victims - before);
    cycle_fini(&a->cycle);
    cycle_init(&a->cycle, a->queued->pod, placer->parts.snapshot);
    if (node_finder_fits(a->profile, &a->cycle, node)) {
        const int64_t end_us = victims_end_us(a->profile, &a->cycle, v, t->now_us);

        if (end_us > t->victims_end_us)
            t->victims_end_us = end_us;
        cache_keep(placer->parts.cache, mark);
        return node;
    }
    cache_roll_back(placer->parts.cache, mark);
    touch_nodes(placer, t->nodes + before, t->n_victims - before);
    t->n_victims = before;
    return NULL;
}

static struct node_view *
find_node(const struct group_trial *t, struct assignment *a)
{
    struct node_view *node;

    a->cycle.among = t->domain != NULL ? t->domain->nodes : NULL;
    a->cycle.n_among = t->domain != NULL ? t->domain->n_nodes : 0;
    node = pod_placer_find_node(t->placer->parts.pod_placer, a);
    a->cycle.among = NULL;
    return node;
}

/* Candidates of one search serve all pods that are like the first; when none is left,
 * another search finds what the victims so far have changed.
 */
static struct node_view *
make_room(struct group_trial *t, struct assignment *a)
{
    struct group_placer *placer = t->placer;

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
        node = find_node(t, a);
        if (node != NULL) /* a gang that ends elsewhere has made room */
            return node;
        candidates_find_for_group(&t->candidates, a->profile, &a->cycle,
                                  node_finder_diagnosis(placer->parts.node_finder));
        if (t->candidates.count == 0)
            return NULL;
    }
}

static bool
place_in_trial(struct group_trial *t, const struct assignment_group *g)
{
    struct group_placer *placer = t->placer;

    for (unsigned i = 0; i < g->wanted; i++) {
        struct assignment *a = g->members[i];
        struct node_view *node = find_node(t, a);

        if (node == NULL)
            node = make_room(t, a);
        if (node == NULL
            || pod_placer_assume(placer->parts.pod_placer, a, node).verdict != VERDICT_OK)
            return false;
        if (g->is_one_per_node)
            cache_close_node(placer->parts.cache, node);
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
nominate(struct group_placer *placer, struct pod_view *pod, const char *node, bool is_new)
{
    pod_placer_end_nomination(placer->parts.pod_placer, pod, node);
    nominator_add(placer->parts.handle->nominator, pod, cache_make_node(placer->parts.cache, node));
    if (is_new)
        recorder_nominate(placer->parts.recorder, pod, node);
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
    struct group_placer *placer = t->placer;
    struct pod_view *preemptor = g->members[0]->cycle.pod;

    for (uint32_t i = 0; i < t->n_victims; i++)
        wait_for(p, t->victims[i]);
    p->n_preempted = t->n_victims;
    for (uint32_t i = 0; i < t->n_ending; i++)
        if (is_promised(p, t->ending_nodes[i]))
            wait_for(p, t->ending[i]);
    for (uint32_t i = 0; i < t->n_victims; i++)
        placer->parts.handle->evict(placer->parts.handle->owner, p->victims[i], preemptor,
                                    t->nodes[i]->name);
    for (uint32_t i = 0; i < p->n_promised; i++)
        nominate(placer, p->promised[i].pod, p->promised[i].node, true);
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
    struct group_placer *placer = t->placer;
    struct cache_mark mark = cache_begin(placer->parts.cache);
    bool is_placed;

    group_preemption_clear(p);
    group_placer_close_nodes(placer, g->members[0]->cycle.pod);
    for (uint32_t i = 0; until_us > 0 && i < placer->parts.snapshot->n_nodes; i++)
        victims_remove_ending(placer->parts.snapshot->nodes[i], t->now_us, until_us, note_ending,
                              t);
    touch_nodes(placer, t->ending_nodes, t->n_ending);
    is_placed = place_in_trial(t, g);
    for (unsigned i = 0; is_placed && i < g->wanted; i++)
        promise(p, g->members[i]->cycle.pod, g->members[i]->node_name);
    for (unsigned i = g->wanted; i-- > 0;)
        pod_placer_displace(placer->parts.pod_placer, g->members[i]);
    cache_open_nodes(placer->parts.cache);
    cache_roll_back(placer->parts.cache, mark);
    touch_nodes(placer, t->ending_nodes, t->n_ending);
    touch_nodes(placer, t->nodes, t->n_victims);
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

/* For how many of the pods there would be room in the domain at most, with victims; 0: not
 * for enough. Ret free: without any.
 */
static uint64_t
count_possible(const struct assignment_group *g, const struct node_domain *domain,
               uint64_t *ret_free)
{
    const struct pod_view *pod = g->members[0]->cycle.pod;
    const struct domain_need need = {pod->requests.cpu_milli, g->is_one_per_node};
    uint64_t possible = 0;

    *ret_free = 0;
    for (uint32_t i = 0; i < domain->n_nodes; i++) {
        const struct node_view *node = domain->nodes[i];
        const uint64_t room = domain_need_room(&need, node);

        *ret_free += room;
        if (node->lowest_priority < pod->priority)
            possible += g->is_one_per_node ? 1 : g->wanted;
        else
            possible += room;
    }
    return possible >= g->wanted ? possible : 0;
}

/* Those first where least is lacking. */
static unsigned
list_domains(struct group_placer *placer, const struct assignment_group *g,
             const struct node_domain *out[MAX_DOMAINS])
{
    const struct node_domain *taken;
    const struct pod_view *pod = g->members[0]->cycle.pod;
    const struct domain_level *level =
        group_domains_find(placer->parts.domains, pod,
                           pod_groups_topology_key(placer->parts.pod_groups, pod->object), &taken);
    uint64_t rooms[MAX_DOMAINS];
    unsigned count = 0;

    for (unsigned i = 0; level != NULL && i < level->n_domains; i++) {
        const struct node_domain *one = level->domains[i];
        uint64_t room;
        unsigned at = count;

        if ((taken != NULL && one != taken) || count_possible(g, one, &room) == 0)
            continue;
        while (at > 0 && rooms[at - 1] < room)
            at--;
        if (at == MAX_DOMAINS)
            continue;
        count += count < MAX_DOMAINS;
        memmove(&out[at + 1], &out[at], (count - at - 1) * sizeof(*out));
        memmove(&rooms[at + 1], &rooms[at], (count - at - 1) * sizeof(*rooms));
        out[at] = one;
        rooms[at] = room;
    }
    return count;
}

/* The fewest victims that make room in one domain. */
static void
preempt_in_domain(struct group_placer *placer, struct assignment_group *g,
                  struct group_preemption *p)
{
    const int64_t now_us = clock_real_us(placer->parts.handle->clock);
    const struct node_domain *domains[MAX_DOMAINS];
    const unsigned count = list_domains(placer, g, domains);
    struct group_trial best = {.n_victims = UINT32_MAX};
    struct group_preemption of_best = {0};

    for (unsigned i = 0; i < count; i++) {
        struct group_trial t = {
            .placer = placer, .domain = domains[i], .now_us = now_us, .victims_end_us = now_us};

        if (!try_to_place(&t, g, 0, p) || t.n_victims >= best.n_victims) {
            trial_fini(&t);
            continue;
        }
        trial_fini(&best);
        group_preemption_clear(&of_best);
        best = t;
        of_best = *p;
        *p = (struct group_preemption){0};
    }
    group_preemption_clear(p);
    if (best.n_victims == UINT32_MAX)
        return;
    *p = of_best;
    act(&best, g, p);
    trial_fini(&best);
}

static void
try_to_preempt(struct group_placer *placer, struct assignment_group *g, struct group_preemption *p)
{
    const int64_t now_us = clock_real_us(placer->parts.handle->clock);
    struct group_trial first = {.placer = placer, .now_us = now_us, .victims_end_us = now_us};
    struct group_trial second = {.placer = placer, .now_us = now_us, .victims_end_us = now_us};
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
is_waited_for(struct group_placer *placer, const struct pod_view *victim)
{
    const struct pod_view *now = cache_find_pod(placer->parts.cache, victim);

    return now != NULL && !now->has_yielded
           && !placer->parts.handle->refuses_to_yield(placer->parts.handle->owner, now);
}

/* One that ends by itself is not waited for when it should be gone for long. */
static bool
is_late(const struct group_placer *placer, const struct pod_view *pod)
{
    return !victims_ends_by(pod, clock_real_us(placer->parts.handle->clock), INT64_MAX);
}

static bool
has_victims(struct group_placer *placer, const struct group_preemption *p)
{
    for (uint32_t i = 0; i < p->n_victims; i++)
        if (is_waited_for(placer, p->victims[i])
            && (i < p->n_preempted || !is_late(placer, p->victims[i])))
            return true;
    return false;
}

/* A pod that was placed in the attempt that failed is nominated no longer. */
static void
nominate_again(struct group_placer *placer, const struct assignment_group *g,
               const struct group_preemption *p)
{
    for (unsigned i = 0; i < g->count; i++)
        for (uint32_t j = 0; j < p->n_promised; j++)
            if (pod_view_is_same(p->promised[j].pod, g->members[i]->cycle.pod)
                && nominator_node(placer->parts.handle->nominator, g->members[i]->cycle.pod)
                       == NULL)
                nominate(placer, g->members[i]->cycle.pod, p->promised[j].node, false);
}

void
group_placer_preempt(struct group_placer *placer, struct assignment_group *g)
{
    struct queued_group *of = g->members[0]->queued->queued_group;
    struct group_preemption *p = of != NULL ? &of->preemption : NULL;

    if (p == NULL || placer->parts.is_simulation || g->waits_for_switches
        || g->answer.verdict != VERDICT_REJECT || g->members[0]->asks_nodes
        || g->members[0]->queued->is_deleted)
        return;
    if (has_victims(placer, p)) {
        nominate_again(placer, g, p);
        return;
    }
    group_preemption_clear(p);
    if (!preemption_may_help_group(g->members[0]->profile, &g->members[0]->cycle))
        return;
    if (pod_groups_topology_key(placer->parts.pod_groups, g->members[0]->cycle.pod->object) != NULL)
        preempt_in_domain(placer, g, p);
    else
        try_to_preempt(placer, g, p);
}
