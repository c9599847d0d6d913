/* SPDX-License-Identifier: Apache-2.0 */
/* This is what makes the thousandth equal pod cheap (decision 41): the answers and scores of
 * one signature are kept for all nodes, and a pod pays for the nodes that have changed since.
 * It holds only for plugins whose answers depend on the node and the pod alone; those that
 * look at other pods or at the time are asked again, on the nodes that are left.
 *
 * A score that is normalized by the largest depends on all nodes. So raw scores are kept, with
 * a count of how often each value occurs; the largest changes seldom, and then only are all
 * totals made again. A spectrum with too many values is given up, for it would cost more than
 * it saves.
 */
#include "controller/scheduler/select/node_results.h"

#include <string.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/select/rejected_nodes.h"
#include "controller/scheduler/select/score_spectrum.h"
#include "controller/scheduler/select/tournament.h"
#include "lib/base/alloc.h"

#define BATCH 256u

struct node_results {
    const struct profile *profile;
    uint64_t generation; /* of the latest node change seen */
    uint64_t removal_generation;
    uint32_t n_slots;
    struct answer *answers;
    struct node_view **views; /* by slot; NULL: no node */
    int64_t *raw;             /* by slot and scoring plugin */
    int64_t *flat;            /* by slot: the sum of scores not normalized */
    struct tournament totals;
    /* False: no node was ever feasible, so the tournament was not made */
    bool has_totals;
    uint8_t scorers[PROFILE_MAX_PLUGINS];
    unsigned n_scorers;
    struct spectrum *spectra; /* one for each scorer that is normalized */
    plugin_set filters;
    plugin_set scoring;
    plugin_set skipped; /* prescore skips; fixed until all is remade */
    unsigned feasible;
    unsigned evaluated;
    bool is_overfull;

    /* A copy of the set of rejected nodes, with its id */
    uint64_t rejected_id;
    struct node_bits rejected;
    struct answer rejection;
};

struct node_results *
node_results_new(const struct profile *profile)
{
    struct node_results *b = xnew(struct node_results);

    b->profile = profile;
    for (unsigned i = 0; i < profile->n_entries; i++) {
        const struct plugin *plugin = profile->entries[i].plugin;

        if (plugin->depends_on_others || plugin->depends_on_time)
            continue;
        b->filters |= profile->filters & PLUGIN_BIT(i);
        if ((profile->scores & PLUGIN_BIT(i)) != 0) {
            b->scorers[b->n_scorers++] = (uint8_t)i;
            b->scoring |= PLUGIN_BIT(i);
        }
    }
    b->spectra = xnew_array(struct spectrum, b->n_scorers + 1);
    return b;
}

void
node_results_free(struct node_results *b)
{
    if (b == NULL)
        return;
    free(b->answers);
    free(b->views);
    free(b->raw);
    free(b->flat);
    tournament_fini(&b->totals);
    free(b->spectra);
    node_bits_fini(&b->rejected);
    free(b);
}

size_t
node_results_bytes(const struct node_results *b)
{
    return sizeof(*b) + b->n_scorers * sizeof(struct spectrum)
           + b->n_slots
                 * (sizeof(*b->answers) + sizeof(struct node_view *)
                    + (b->n_scorers + 1) * sizeof(*b->raw))
           + tournament_bytes(&b->totals) + b->rejected.n_words * sizeof(uint64_t);
}

static const struct profile_entry *
entry_of(const struct node_results *b, unsigned scorer)
{
    return &b->profile->entries[b->scorers[scorer]];
}

static bool
is_normalized(const struct node_results *b, unsigned scorer)
{
    return entry_of(b, scorer)->plugin->normalization != NORMALIZE_NOT;
}

/* Totals and the tournament */

static int64_t
make_total(const struct node_results *b, uint32_t slot)
{
    const int64_t *raw = b->raw + (size_t)slot * b->n_scorers;
    int64_t total = 0;

    for (unsigned i = 0; i < b->n_scorers; i++) {
        const struct profile_entry *e = entry_of(b, i);
        int64_t score = raw[i];

        if ((b->skipped & PLUGIN_BIT(b->scorers[i])) != 0)
            continue;
        if (e->plugin->normalization != NORMALIZE_NOT)
            score = profile_normalize_one(score, b->spectra[i].most,
                                          e->plugin->normalization == NORMALIZE_REVERSED);
        total += score * e->weight;
    }
    return total;
}

static bool
is_feasible(const struct node_results *b, uint32_t slot)
{
    return b->views[slot] != NULL && b->answers[slot].verdict == VERDICT_OK;
}

static void
set_leaf(struct node_results *b, uint32_t slot)
{
    tournament_set(&b->totals, slot, is_feasible(b, slot) ? make_total(b, slot) : TOURNAMENT_OUT);
}

/* Most signatures with many waiting pods have no feasible node, so the
 * tournament is made only when there is one.
 */
static void
replay_all(struct node_results *b)
{
    if (b->feasible == 0 && !b->has_totals)
        return;
    if (!b->has_totals)
        tournament_reset(&b->totals, b->n_slots);
    b->has_totals = true;
    for (uint32_t slot = 0; slot < b->n_slots; slot++)
        set_leaf(b, slot);
    tournament_play_all(&b->totals);
}

/* Evaluation */

static void
forget_slot(struct node_results *b, uint32_t slot)
{
    const int64_t *raw = b->raw + (size_t)slot * b->n_scorers;

    if (!is_feasible(b, slot))
        return;
    b->feasible--;
    for (unsigned i = 0; i < b->n_scorers; i++)
        if (is_normalized(b, i))
            score_spectrum_remove(&b->spectra[i], raw[i]);
}

static void
learn_slot(struct node_results *b, uint32_t slot)
{
    const int64_t *raw = b->raw + (size_t)slot * b->n_scorers;

    b->feasible++;
    for (unsigned i = 0; i < b->n_scorers; i++)
        if (is_normalized(b, i) && !score_spectrum_add(&b->spectra[i], raw[i]))
            b->is_overfull = true;
}

static void
score_batch(struct node_results *b, const struct cycle *c, const struct node_view *const *nodes,
            unsigned count)
{
    int64_t scores[BATCH];

    for (unsigned n = 0; n < count; n++)
        b->flat[nodes[n]->slot] = 0;
    for (unsigned i = 0; i < b->n_scorers; i++) {
        int64_t weight = is_normalized(b, i) ? 0 : entry_of(b, i)->weight;

        if ((b->skipped & PLUGIN_BIT(b->scorers[i])) != 0)
            memset(scores, 0, count * sizeof(*scores));
        else
            profile_score(b->profile, b->scorers[i], c, nodes, count, scores);
        for (unsigned n = 0; n < count; n++) {
            b->raw[(size_t)nodes[n]->slot * b->n_scorers + i] = scores[n];
            b->flat[nodes[n]->slot] += scores[n] * weight;
        }
    }
    for (unsigned n = 0; n < count; n++)
        learn_slot(b, nodes[n]->slot);
}

static void
evaluate(struct node_results *b, const struct cycle *c, struct node_view *const *nodes,
         unsigned count)
{
    const struct node_view *passed[BATCH];
    struct answer answers[BATCH];
    unsigned n_passed = 0;

    profile_filter(b->profile, b->filters, c, (const struct node_view *const *)nodes, count,
                   answers);
    for (unsigned i = 0; i < count; i++) {
        uint32_t slot = nodes[i]->slot;

        forget_slot(b, slot);
        b->views[slot] = nodes[i];
        b->answers[slot] = answers[i].verdict == VERDICT_OK && node_bits_has(&b->rejected, slot)
                               ? b->rejection
                               : answers[i];
        if (b->answers[slot].verdict == VERDICT_OK)
            passed[n_passed++] = nodes[i];
    }
    score_batch(b, c, passed, n_passed);
    b->evaluated += count;
}

static void
make_room(struct node_results *b, uint32_t n_slots)
{
    b->n_slots = n_slots;
    b->answers = xrealloc_array(b->answers, n_slots + 1, sizeof(*b->answers));
    b->views = xrealloc_array(b->views, n_slots + 1, sizeof(struct node_view *));
    b->raw = xrealloc_array(b->raw, (size_t)n_slots * b->n_scorers + 1, sizeof(*b->raw));
    b->flat = xrealloc_array(b->flat, n_slots + 1, sizeof(*b->flat));
    b->has_totals = false;
}

static bool
spectra_moved(struct node_results *b)
{
    bool has_moved = false;

    for (unsigned i = 0; i < b->n_scorers; i++) {
        int64_t most;

        if (!is_normalized(b, i))
            continue;
        most = score_spectrum_most(&b->spectra[i]);
        has_moved |= most != b->spectra[i].most;
        b->spectra[i].most = most;
    }
    return has_moved;
}

static void
make_all(struct node_results *b, const struct cycle *c)
{
    const struct snapshot *s = c->snapshot;

    make_room(b, s->n_slots);
    for (uint32_t slot = 0; slot < s->n_slots; slot++) {
        b->views[slot] = NULL;
        b->answers[slot] = ANSWER_OK;
    }
    memset(b->spectra, 0, b->n_scorers * sizeof(*b->spectra));
    b->feasible = 0;
    b->is_overfull = false;
    b->skipped = c->skipped_scores & b->scoring;
    for (uint32_t at = 0; at < s->n_nodes; at += BATCH)
        evaluate(b, c, s->nodes + at, s->n_nodes - at < BATCH ? s->n_nodes - at : BATCH);
    spectra_moved(b);
    replay_all(b);
}

static void
flush(struct node_results *b, const struct cycle *c, struct node_view *const *changed,
      unsigned count)
{
    evaluate(b, c, changed, count);
    if (spectra_moved(b) || !b->has_totals) {
        replay_all(b);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        uint32_t slot = changed[i]->slot;

        set_leaf(b, slot);
        tournament_play(&b->totals, slot);
    }
}

static void
make_changed(struct node_results *b, const struct cycle *c)
{
    struct node_view *changed[BATCH];
    unsigned count = 0;

    list_foreach(link, c->snapshot->recent)
    {
        struct node_view *v = container_of(link, struct node_view, recent);

        if (v->generation <= b->generation)
            break;
        changed[count++] = v;
        if (count == BATCH) {
            flush(b, c, changed, count);
            count = 0;
        }
    }
    if (count > 0)
        flush(b, c, changed, count);
}

static void
set_rejected(struct node_results *b, const struct rejected_nodes *rejected)
{
    uint32_t n = rejected->nodes != NULL ? rejected->nodes->bits.n_words : 0;

    node_bits_reach(&b->rejected, n);
    node_bits_empty(&b->rejected);
    if (n > 0)
        node_bits_add(&b->rejected, &rejected->nodes->bits);
    b->rejected_id = node_set_id(rejected);
    if (n > 0)
        b->rejection = rejected->answer;
}

static bool
is_rejection(const struct node_results *b, struct answer answer)
{
    return answer.verdict != VERDICT_OK && answer.plugin == b->rejection.plugin
           && answer.reason == b->rejection.reason;
}

/* Updates a node that has entered or left the set of rejected nodes. */
static void
turn_slot(struct node_results *b, const struct cycle *c, uint32_t slot)
{
    struct node_view *node = b->views[slot];

    if (node_bits_has(&b->rejected, slot)) {
        if (!is_feasible(b, slot))
            return;
        forget_slot(b, slot);
        b->answers[slot] = b->rejection;
    } else if (node != NULL && is_rejection(b, b->answers[slot])) {
        evaluate(b, c, &node, 1);
    }
}

/* Updates the nodes by which the two sets differ. Their kept answers must be up
 * to date.
 */
static void
change_rejected(struct node_results *b, const struct cycle *c,
                const struct rejected_nodes *rejected)
{
    CLEANUP_FREE uint64_t *differ = NULL;
    bool is_other = false;
    uint32_t n;

    node_bits_reach(&b->rejected, (b->n_slots + 63) / 64);
    n = b->rejected.n_words;
    differ = xnew_array(uint64_t, n + 1);
    memcpy(differ, b->rejected.words, n * sizeof(*differ));
    set_rejected(b, rejected);
    for (uint32_t i = 0; i < n; i++)
        for (uint64_t left = differ[i] ^ b->rejected.words[i]; left != 0; left &= left - 1) {
            uint32_t slot = i * 64 + (uint32_t)__builtin_ctzll(left);

            if (slot >= b->n_slots)
                continue;
            turn_slot(b, c, slot);
            is_other = true;
        }
    if (!is_other)
        return;
    spectra_moved(b);
    replay_all(b);
}

static bool
must_make_all(const struct node_results *b, const struct cycle *c)
{
    const struct snapshot *s = c->snapshot;

    return b->n_slots != s->n_slots || b->views == NULL
           || b->removal_generation != s->removal_generation
           || b->skipped != (c->skipped_scores & b->scoring) || b->is_overfull;
}

bool
node_results_update(struct node_results *b, const struct cycle *c,
                    const struct rejected_nodes *rejected)
{
    const struct snapshot *s = c->snapshot;
    bool has_other_set = b->rejected_id != node_set_id(rejected);

    b->evaluated = 0;
    if (must_make_all(b, c)) {
        if (has_other_set)
            set_rejected(b, rejected);
        make_all(b, c);
    } else {
        if (b->generation != s->generation)
            make_changed(b, c);
        if (has_other_set)
            change_rejected(b, c, rejected);
    }
    b->generation = s->generation;
    b->removal_generation = s->removal_generation;
    return !b->is_overfull;
}

unsigned
node_results_feasible(const struct node_results *b)
{
    return b->feasible;
}

struct node_view *
node_results_pick(const struct node_results *b, struct random_source *random, int64_t *ret_total)
{
    uint32_t slot;

    if (b->feasible == 0)
        return NULL;
    slot = tournament_pick(&b->totals, random, ret_total);
    return b->views[slot];
}

static void
settle_slot(struct node_results *b, uint32_t slot)
{
    if (spectra_moved(b) || !b->has_totals) {
        replay_all(b);
        return;
    }
    set_leaf(b, slot);
    tournament_play(&b->totals, slot);
}

bool
node_results_is_feasible(const struct node_results *b, const struct node_view *node)
{
    return node->slot < b->n_slots && b->views[node->slot] == node && is_feasible(b, node->slot);
}

void
node_results_mask(struct node_results *b, struct node_results_mask *mask, struct node_view *node,
                  struct answer answer)
{
    xgrow(mask->nodes, mask->count, mask->capacity);
    mask->nodes[mask->count++] = node;
    forget_slot(b, node->slot);
    b->answers[node->slot] = answer;
    settle_slot(b, node->slot);
}

void
node_results_unmask(struct node_results *b, struct node_results_mask *mask)
{
    for (unsigned i = 0; i < mask->count; i++) {
        uint32_t slot = mask->nodes[i]->slot;

        b->answers[slot] = ANSWER_OK;
        learn_slot(b, slot);
        settle_slot(b, slot);
    }
    free(mask->nodes);
    *mask = (struct node_results_mask){0};
}

const struct answer *
node_results_answers(const struct node_results *b)
{
    return b->answers;
}

unsigned
node_results_evaluated(const struct node_results *b)
{
    return b->evaluated;
}

unsigned
node_results_count_stale(const struct node_results *b, const struct snapshot *s, unsigned most)
{
    if (b->n_slots != s->n_slots || b->views == NULL
        || b->removal_generation != s->removal_generation || b->is_overfull)
        return most;
    return snapshot_changed(s, b->generation, most);
}

/* When all feasible nodes have the same raw score, every selection of them is
 * normalized to the same number: adds that number to `total`. False: the raw
 * scores differ.
 */
static bool
adds_constant(const struct node_results *b, unsigned scorer, int64_t *total)
{
    const struct profile_entry *e = entry_of(b, scorer);
    int64_t value;

    if (!score_spectrum_is_single(&b->spectra[scorer], &value))
        return false;
    *total += e->weight
              * profile_normalize_one(value, value > 0 ? value : 0,
                                      e->plugin->normalization == NORMALIZE_REVERSED);
    return true;
}

static void
add_scorer(const struct node_results *b, unsigned scorer, const struct node_view *const *nodes,
           unsigned count, int64_t *totals)
{
    const struct profile_entry *e = entry_of(b, scorer);
    const int64_t *raw = b->raw + scorer;
    unsigned stride = b->n_scorers;
    bool is_reversed = e->plugin->normalization == NORMALIZE_REVERSED;
    int64_t most = 0;

    for (unsigned i = 0; i < count; i++)
        if (raw[(size_t)nodes[i]->slot * stride] > most)
            most = raw[(size_t)nodes[i]->slot * stride];
    for (unsigned i = 0; i < count; i++)
        totals[i] +=
            e->weight
            * profile_normalize_one(raw[(size_t)nodes[i]->slot * stride], most, is_reversed);
}

void
node_results_totals(const struct node_results *b, const struct node_view *const *nodes,
                    unsigned count, int64_t *totals)
{
    uint64_t differing = 0;
    int64_t constant = 0;

    for (unsigned i = 0; i < b->n_scorers; i++)
        if (is_normalized(b, i) && (b->skipped & PLUGIN_BIT(b->scorers[i])) == 0
            && !adds_constant(b, i, &constant))
            differing |= UINT64_C(1) << i;
    for (unsigned i = 0; i < count; i++)
        totals[i] = b->flat[nodes[i]->slot] + constant;
    for (unsigned i = 0; i < b->n_scorers; i++)
        if ((differing >> i & 1) != 0)
            add_scorer(b, i, nodes, count, totals);
}
