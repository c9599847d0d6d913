/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a reservation: which nodes it may use once they have room, when and where its
 * pods could start together, beside the reservations before it in the order. It also answers
 * whether there are enough nodes for a group at all.
 */
#include "controller/scheduler/planning/reservation_plan.h"

#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/explain/earliest_start.h"
#include "controller/scheduler/explain/shortage.h"
#include "controller/scheduler/explain/start_estimate.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/cycle.h"
#include "controller/scheduler/framework/diagnosis.h"
#include "controller/scheduler/framework/handle.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/planning/planner.h"
#include "controller/scheduler/state/group_domains.h"
#include "controller/scheduler/state/node_domains.h"
#include "lib/allocator/occupancy.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"

/* ---- Nodes that a reservation may use ---- */

/* How many kinds of nodes are remembered, the most recent ones. */
#define SIZES 8u

/* Whether the pod fits on an empty node of the same size: its cores and NUMA
 * nodes may be too small even if its amounts are not.
 */
struct node_sizes {
    struct what_if what_if;
    struct {
        struct node_view *node;
        unsigned room;
    } known[SIZES];
    unsigned count;
};

static bool
has_same(const struct node_view *a, const struct node_view *b)
{
    const struct amounts *x = &a->allocatable, *y = &b->allocatable;
    const struct occupancy *of_a = a->ledger.occupancy;
    const struct occupancy *of_b = b->ledger.occupancy;

    if ((of_a != NULL ? of_a->topology_index : NULL) != (of_b != NULL ? of_b->topology_index : NULL)
        || a->allowed_pods != b->allowed_pods || x->cpu_milli != y->cpu_milli
        || x->memory_bytes != y->memory_bytes || x->ephemeral_bytes != y->ephemeral_bytes
        || x->n_scalars != y->n_scalars)
        return false;
    for (uint32_t i = 0; i < x->n_scalars; i++)
        if (x->scalars[i].resource != y->scalars[i].resource
            || x->scalars[i].value != y->scalars[i].value)
            return false;
    return true;
}

/* How many such pods fit there, at most `most`, which is the same in all calls. */
static unsigned
room_when_empty(struct node_sizes *sizes, struct node_view *node, unsigned most)
{
    unsigned count = sizes->count < SIZES ? sizes->count : SIZES;
    unsigned at = 0;

    while (at < count && !has_same(sizes->known[at].node, node))
        at++;
    if (at == count) {
        at = sizes->count++ % SIZES;
        sizes->known[at].node = node;
        sizes->known[at].room = timeline_room(&sizes->what_if, node, INT64_MAX, INT64_MAX, most);
    }
    return sizes->known[at].room;
}

/* Whether the pod lacks only free room or time there, or another pod of its group has the
 * node and will leave it.
 */
static bool
may_come(const struct reservation *r, const struct shortage *shortage, struct node_sizes *sizes,
         struct node_view *node, struct answer a)
{
    plugin_set room = r->profile->rooms | r->profile->timed;

    return a.verdict == VERDICT_OK
           || (a.plugin < r->profile->n_entries && (room & PLUGIN_BIT(a.plugin)) != 0
               && !shortage_is_of_size(shortage, node)
               && (a.verdict == VERDICT_REJECT || (r->profile->timed & PLUGIN_BIT(a.plugin)) != 0)
               && room_when_empty(sizes, node, 1) > 0);
}

bool
reservation_plan_set_nodes(const struct planner_parts *p, const struct diagnosis *d,
                           struct reservation *r)
{
    const struct snapshot *snapshot = p->snapshot;
    struct cycle cycle;
    struct shortage shortage = {
        .profile = r->profile,
        .cycle = &cycle,
        .resources = p->handle->resources,
        .volumes = p->handle->volumes,
        .scratch_bytes = pod_spec_scratch_bytes(&r->members[0]->pod->spec),
    };
    struct node_sizes sizes = {
        .what_if = {.profile = r->profile,
                    .filters = r->profile->rooms,
                    .cycle = &cycle,
                    .now_us = clock_real_us(p->clock)},
    };
    bool is_any = false;

    timeline_init_cycle(&cycle, r->profile, r->members[0], snapshot);
    free(r->may_come);
    r->n_slots = snapshot->n_slots;
    r->may_come = xnew_array(bool, r->n_slots + 1);
    for (uint32_t i = 0; i < snapshot->n_nodes; i++) {
        struct node_view *node = snapshot->nodes[i];

        r->may_come[node->slot] = may_come(r, &shortage, &sizes, node, diagnosis_answer(d, node));
        is_any |= r->may_come[node->slot];
    }
    cycle_fini(&cycle);
    return is_any;
}

bool
reservation_plan_are_alike(const struct planner_parts *p, const struct profile *profile,
                           struct pod_view *const *members, unsigned count)
{
    uint32_t first = profile_sign(profile, members[0], p->signatures);

    for (unsigned i = 1; i < count; i++)
        if (first == SIGNATURE_NONE || profile_sign(profile, members[i], p->signatures) != first
            || timeline_limit_us(members[i]) != timeline_limit_us(members[0]))
            return false;
    return true;
}

/* ---- Groups that can never run ---- */

/* For how many pods like the one that failed there is room when nothing else runs. The
 * node of a pod that waits for the others of its group is none.
 */
static unsigned
count_room_ever(const struct planner_parts *p, const struct assignment_group *g,
                const struct diagnosis *d)
{
    const struct assignment *a = g->failed;
    const unsigned most = g->is_one_per_node ? 1 : g->wanted;
    struct shortage shortage = {
        .profile = a->profile,
        .cycle = &a->cycle,
        .resources = p->handle->resources,
        .volumes = p->handle->volumes,
        .scratch_bytes = pod_spec_scratch_bytes(&a->cycle.pod->pod->spec),
    };
    const struct closers closers = start_estimate_closers(&shortage);
    struct node_sizes sizes = {
        .what_if = {.profile = a->profile,
                    .filters = a->profile->rooms,
                    .now_us = clock_real_us(p->clock)},
    };
    struct cycle cycle;
    unsigned room = 0;

    timeline_init_cycle(&cycle, a->profile, a->cycle.pod, p->snapshot);
    sizes.what_if.cycle = &cycle;
    for (uint32_t i = 0; i < p->snapshot->n_nodes && room < g->wanted; i++) {
        struct node_view *node = p->snapshot->nodes[i];

        if (start_estimate_may_ever(&closers, &shortage, d, node))
            room += node->is_closed
                        ? timeline_room(&sizes.what_if, node, INT64_MAX, INT64_MAX, most)
                        : room_when_empty(&sizes, node, most);
    }
    cycle_fini(&cycle);
    return room;
}

void
reservation_plan_judge_group(const struct planner_parts *p, struct assignment_group *g,
                             const struct diagnosis *d)
{
    unsigned room;

    if (g->cause == NULL || g->lacks_room || g->lacks_domain || g->failed->owner != NULL
        || strcmp(g->cause, job_reason_name(JOB_REASON_RESOURCES)) != 0)
        return;
    room = count_room_ever(p, g, d);
    if (room >= g->wanted)
        return;
    free(g->cause_words);
    free(g->cause_brief);
    g->cause = job_reason_name(JOB_REASON_BAD_CONSTRAINTS);
    g->cause_words =
        g->is_one_per_node
            ? xasprintf("needs %u nodes at the same time, but only %u could ever run it", g->wanted,
                        room)
            : xasprintf("needs room for %u pods at the same time, but the nodes have room for %u",
                        g->wanted, room);
    g->cause_brief = xstrdup(g->cause_words);
}

/* ---- Nodes of one domain ---- */

void
reservation_plan_set_domains(const struct planner_parts *p, struct reservation *r, const char *key)
{
    const struct node_domain *taken;
    const struct domain_level *level = group_domains_find(p->domains, r->members[0], key, &taken);

    free(r->domain_of);
    r->domain_of = NULL;
    r->n_domains = 0;
    if (level == NULL)
        return;
    r->n_slots = p->snapshot->n_slots;
    r->n_domains = level->n_domains;
    r->domain_of = xnew_array(uint32_t, r->n_slots + 1);
    for (uint32_t i = 0; i < p->snapshot->n_nodes; i++) {
        const struct node_view *node = p->snapshot->nodes[i];
        const struct node_domain *domain = domain_level_of(level, node);

        if (domain != NULL && (taken == NULL || domain == taken))
            r->domain_of[node->slot] = domain->index + 1;
    }
}

/* ---- When and where ---- */

/* How many nodes one plan asks filters about, where amounts alone do not
 * decide.
 */
#define PLAN_TRIALS 4096

static bool
is_same_place(const struct reservation *r, const struct start_answer *a)
{
    if (r->places == NULL || r->from_us < a->from_us)
        return false;
    for (unsigned i = 0; i < r->count; i++)
        if (r->places[i].node != a->nodes[i])
            return false;
    return true;
}

/* The members are equal, so they exchange nodes until each keeps the node that
 * it had, if possible: then nothing new is to be reported for it.
 */
static void
keep_nodes(const struct reservation *r, struct start_answer *a)
{
    for (unsigned i = 0; r->places != NULL && i < r->count; i++) {
        struct node_view *node = r->places[i].node;
        unsigned at = 0;
        bool is_free;

        if (a->nodes[i] == node)
            continue;
        while (at < r->count && (a->nodes[at] != node || r->places[at].node == node))
            at++;
        if (at == r->count)
            continue;
        is_free = a->are_free[at];
        a->nodes[at] = a->nodes[i];
        a->are_free[at] = a->are_free[i];
        a->nodes[i] = node;
        a->are_free[i] = is_free;
    }
}

bool
reservation_plan_find(const struct planner_parts *p, const struct reservation *r,
                      struct start_answer *ret_start, bool *ret_is_moved)
{
    struct timeline *t = p->handle->timeline;
    struct start_answer *a = ret_start;
    struct cycle cycle;

    *ret_is_moved = false;
    timeline_init_cycle(&cycle, r->profile, r->members[0], p->snapshot);
    earliest_start_find(
        &(struct start_question){.what_if = {.timeline = t,
                                             .profile = r->profile,
                                             .filters = r->profile->rooms,
                                             .cycle = &cycle,
                                             .n_binding = timeline_rank(t, &r->order),
                                             .now_us = clock_real_us(p->clock)},
                                 .cache = p->cache,
                                 .node_reservations = p->handle->node_reservations,
                                 .snapshot = p->snapshot,
                                 .may_come = r->may_come,
                                 .n_slots = r->n_slots,
                                 .domain_of = r->domain_of,
                                 .n_domains = r->n_domains,
                                 .count = r->count,
                                 .is_one_per_node = r->is_one_per_node,
                                 .most_ends = UINT32_MAX,
                                 .most_trials = PLAN_TRIALS},
        a);
    cycle_fini(&cycle);
    if (a->from_us <= 0 || !pod_view_is_in_time(r->members[0], a->from_us))
        return false;
    keep_nodes(r, a);
    *ret_is_moved = !is_same_place(r, a);
    return true;
}
