/* SPDX-License-Identifier: Apache-2.0 */
/* Handles nodes that have room now but that the pod may not keep until its end,
 * because a pod ahead of it in the order, or a Reservation, has them by then.
 * The nodes that Reservations withhold are one set for all pods that end before
 * the same window: results are kept without these nodes. Other time-dependent
 * answers are applied on top of kept results and refusals, which ignore time.
 */
#include <stdio.h>
#include <string.h>

#include "controller/scheduler/framework/node_reservations.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/select/kept_refusals.h"
#include "controller/scheduler/select/node_finder_state.h"
#include "controller/scheduler/select/node_results.h"
#include "lib/base/clock.h"

bool
node_finder_goes_by_time(const struct profile *profile, const struct cycle *c)
{
    return (profile->timed & ~c->skipped_filters) != 0;
}

/* False: the filters must run for each node. Where several plugins reject a
 * node, the answer of the first plugin counts, so a set is used only if it
 * comes from the first.
 */
static bool
find_rejected(const struct profile *p, const struct cycle *c, struct rejected_nodes *ret_rejected)
{
    bool is_first = true;

    *ret_rejected = (struct rejected_nodes){.answer = ANSWER_OK};
    profile_foreach(i, p, POINT_FILTER)
    {
        const struct profile_entry *e = &p->entries[i];
        uint32_t reason = STRING_ID_NONE;

        if ((p->timed & ~c->skipped_filters & PLUGIN_BIT(i)) == 0)
            continue;
        if (e->plugin->rejected_nodes == NULL) {
            is_first = false;
            continue;
        }
        if (!is_first || ret_rejected->nodes != NULL
            || !e->plugin->rejected_nodes(e->self, c, &ret_rejected->nodes, &reason))
            return false;
        p->evaluations[POINT_FILTER][i]++;
        ret_rejected->answer = (struct answer){
            .verdict = VERDICT_NEVER,
            .plugin = (uint8_t)i,
            .reason = reason,
        };
    }
    return true;
}

/* The index to use for the set: where it already is, else one that is unused or
 * outdated, else the one used longest ago. Results kept under that index are
 * updated by the difference of the sets.
 */
static unsigned
find_place(struct node_finder *f, const struct node_set *set)
{
    unsigned oldest = 0;

    for (unsigned i = 0; i < REJECTED_SETS; i++)
        if (f->sets[i].id == set->id)
            return i;
    for (unsigned i = 0; i < REJECTED_SETS; i++) {
        if (f->sets[i].id < set->since)
            return i;
        if (f->sets[i].used < f->sets[oldest].used)
            oldest = i;
    }
    return oldest;
}

uint32_t
node_finder_find_rejected(struct node_finder *f, const struct profile *profile,
                          const struct cycle *c, uint32_t signature, struct timed_nodes *ret_timed)
{
    const struct node_set *set;
    char text[32];
    unsigned place;

    *ret_timed = (struct timed_nodes){.rejected.answer = ANSWER_OK};
    if (!node_finder_goes_by_time(profile, c))
        return signature;
    if (!find_rejected(profile, c, &ret_timed->rejected)) {
        *ret_timed = (struct timed_nodes){.must_ask = true};
        return signature;
    }
    set = ret_timed->rejected.nodes;
    if (set == NULL)
        return signature;
    place = find_place(f, set);
    f->sets[place] = (struct rejected_set_use){set->id, ++f->n_set_uses};
    snprintf(text, sizeof(text), "%u without %u", signature, place);
    return string_ids_add(f->settings.signatures, text);
}

/* Runs the time-dependent filters for a node that has room now. */
static struct answer
filter_timed(const struct profile *profile, const struct cycle *c, const struct node_view *node)
{
    struct answer answer = ANSWER_OK;

    if (node->ledger.n_future > 0)
        profile_filter(profile, profile->timed, c, &node, 1, &answer);
    return answer;
}

bool
node_finder_is_in_time(const struct profile *profile, const struct cycle *c,
                       const struct node_view *node)
{
    return !node_finder_goes_by_time(profile, c)
           || filter_timed(profile, c, node).verdict == VERDICT_OK;
}

struct timed_mask {
    const struct profile *profile;
    const struct cycle *cycle;
    struct node_results *node_results;
    struct node_results_mask mask;
};

static void
mask_timed(struct node_view *node, void *context)
{
    struct timed_mask *m = context;
    struct answer answer;

    if (!node_results_is_feasible(m->node_results, node))
        return;
    answer = filter_timed(m->profile, m->cycle, node);
    if (answer.verdict != VERDICT_OK)
        node_results_mask(m->node_results, &m->mask, node, answer);
}

/* Masks nodes of Reservations that reject the pod, when there is no set of
 * them.
 */
static void
mask_withheld(struct timed_mask *m)
{
    const struct handle *handle = m->profile->handle;
    int64_t now_us = clock_real_us(handle->clock);

    if (handle->node_reservations != NULL)
        node_reservations_visit(handle->node_reservations, now_us,
                                timeline_end_us(m->cycle->pod, now_us), mask_timed, m);
}

/* Runs the time-dependent filters on nodes that have room now and a future
 * entry, and masks those that are rejected while one of the others is picked.
 */
struct node_view *
node_finder_pick_timed(struct node_finder *f, const struct profile *profile, const struct cycle *c,
                       const struct timed_nodes *timed, struct node_results *node_results)
{
    const struct timeline *t = profile->handle->timeline;
    struct timed_mask mask = {
        .profile = profile,
        .cycle = c,
        .node_results = node_results,
    };
    struct node_view *node;

    for (unsigned i = 0; t != NULL && i < timeline_binding(t); i++) {
        const struct reservation *r = timeline_at(t, i);

        for (unsigned p = 0; r->places != NULL && p < r->count; p++)
            mask_timed(r->places[p].node, &mask);
    }
    if (timed->must_ask)
        mask_withheld(&mask);
    f->facts.feasible = node_results_feasible(node_results);
    node = node_results_pick(node_results, profile->handle->random, &f->facts.total);
    if (node == NULL) {
        node_finder_make_room(f, c->snapshot);
        memcpy(f->answers, node_results_answers(node_results),
               c->snapshot->n_slots * sizeof(*f->answers));
        f->diagnosis.answers = f->answers;
        node_finder_note_rejectors(f, c->snapshot);
    }
    node_results_unmask(node_results, &mask.mask);
    return node;
}

/* Overwrites the kept answers of the few nodes with room by the answers of the
 * time-dependent filters.
 */
static void
overlay_timed(struct node_finder *f, const struct cycle *c, const struct refusal_answers *r,
              const struct answer *timed)
{
    node_finder_make_room(f, c->snapshot);
    memcpy(f->answers, r->answers, c->snapshot->n_slots * sizeof(*f->answers));
    answer_counts_copy(&f->counts, r->counts);
    for (unsigned i = 0; i < r->n_feasible; i++) {
        f->answers[r->feasible[i]->slot] = timed[i];
        answer_counts_change(&f->counts, c->snapshot, f->answers, r->feasible[i], ANSWER_OK);
    }
}

bool
node_finder_are_reserved(struct node_finder *f, const struct profile *profile,
                         const struct cycle *c, const struct refusal_answers *r)
{
    struct answer timed[REFUSAL_FEASIBLE_MOST];

    if (!node_finder_goes_by_time(profile, c))
        return false;
    for (unsigned i = 0; i < r->n_feasible; i++) {
        timed[i] = filter_timed(profile, c, r->feasible[i]);
        if (timed[i].verdict == VERDICT_OK)
            return false;
    }
    overlay_timed(f, c, r, timed);
    return true;
}
