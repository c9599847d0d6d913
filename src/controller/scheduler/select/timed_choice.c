/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes with room now that the pod may not have until its end: who is before
 * it in the order, or a Reservation, has them by then. They are laid over the
 * kept results and refusals, which know nothing of time.
 */
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

/* They are asked of one node; it has room now. */
static struct answer
filter_timed(const struct profile *profile,
             const struct cycle *c,
             const struct node_view *node)
{
    struct answer answer = ANSWER_OK;

    if (node->ledger.n_future > 0)
        profile_filter(profile, profile->timed, c, &node, 1, &answer);
    return answer;
}

bool
node_finder_is_in_time(const struct profile *profile,
                       const struct cycle *c,
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

/* Nodes that a Reservation has before the pod would end. */
static void
mask_withheld(struct timed_mask *m)
{
    const struct handle *handle = m->profile->handle;
    int64_t now_us = clock_real_us(handle->clock);

    if (handle->node_reservations != NULL)
        node_reservations_visit(handle->node_reservations,
                                now_us,
                                timeline_end_us(m->cycle->pod, now_us),
                                mask_timed,
                                m);
}

/* Of the nodes with room now, those with a reserved entry are asked about time,
 * and left out while one is picked.
 */
struct node_view *
node_finder_pick_timed(struct node_finder *ch,
                       const struct profile *profile,
                       const struct cycle *c,
                       struct node_results *node_results)
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
    mask_withheld(&mask);
    ch->facts.feasible = node_results_feasible(node_results);
    node = node_results_pick(node_results,
                             profile->handle->random,
                             &ch->facts.total);
    if (node == NULL) {
        node_finder_make_room(ch, c->snapshot);
        memcpy(ch->answers,
               node_results_answers(node_results),
               c->snapshot->n_slots * sizeof(*ch->answers));
        ch->diagnosis.answers = ch->answers;
        node_finder_note_rejectors(ch, c->snapshot);
    }
    node_results_unmask(node_results, &mask.mask);
    return node;
}

/* Of a shape that hardly any node has room for: what nodes say of time is laid
 * over what they answered.
 */
static void
overlay_timed(struct node_finder *ch,
              const struct cycle *c,
              const struct refusal *r,
              const struct answer *timed)
{
    node_finder_make_room(ch, c->snapshot);
    memcpy(ch->answers,
           r->answers,
           c->snapshot->n_slots * sizeof(*ch->answers));
    answer_counts_copy(&ch->counts, r->counts);
    for (unsigned i = 0; i < r->n_feasible; i++) {
        ch->answers[r->feasible[i]->slot] = timed[i];
        answer_counts_change(&ch->counts,
                             c->snapshot,
                             ch->answers,
                             r->feasible[i],
                             ANSWER_OK);
    }
}

bool
node_finder_are_reserved(struct node_finder *ch,
                         const struct profile *profile,
                         const struct cycle *c,
                         const struct refusal *r)
{
    struct answer timed[REFUSAL_FEASIBLE_MOST];

    if (!node_finder_goes_by_time(profile, c))
        return false;
    for (unsigned i = 0; i < r->n_feasible; i++) {
        timed[i] = filter_timed(profile, c, r->feasible[i]);
        if (timed[i].verdict == VERDICT_OK)
            return false;
    }
    overlay_timed(ch, c, r, timed);
    return true;
}
