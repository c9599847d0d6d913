/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/select/node_results.h"

#include <string.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/snapshot.h"
#include "lib/base/alloc.h"
#include "lib/base/random.h"

#define BATCH 256u

/* Different raw scores of one plugin that are told apart. */
#define SPECTRUM_MAX 64u

#define INFEASIBLE INT64_MIN

/* How many feasible nodes have each raw score: tells the largest. */
struct spectrum {
    int64_t values[SPECTRUM_MAX];
    uint32_t counts[SPECTRUM_MAX];
    unsigned count;
    int64_t most; /* what the totals were made with */
};

/* A node of the tournament: the best total below, and how many have it. */
struct bout {
    int64_t best;
    uint32_t count;
};

struct node_results {
    const struct profile *profile;
    uint64_t generation; /* seen */
    uint64_t removal_generation;
    uint32_t n_slots;
    uint32_t n_leaves; /* a power of two */
    struct answer *answers;
    struct node_view **views; /* by slot, NULL: no node */
    int64_t *raw;             /* by slot and scoring plugin */
    int64_t *flat;            /* by slot: the sum of what is not normalized */
    struct bout *bouts;       /* 1 is the root, leaves from n_leaves */
    uint8_t scorers[PROFILE_MAX_PLUGINS];
    unsigned n_scorers;
    struct spectrum *spectra; /* one for each scorer that is normalized */
    plugin_set filters;
    plugin_set scoring;
    plugin_set skipped; /* of the cycles it was made with */
    unsigned feasible;
    unsigned evaluated;
    bool is_overfull;
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
    free(b->bouts);
    free(b->spectra);
    free(b);
}

size_t
node_results_bytes(const struct node_results *b)
{
    return sizeof(*b) + b->n_scorers * sizeof(struct spectrum)
           + b->n_slots
                 * (sizeof(*b->answers) + sizeof(struct node_view *)
                    + (b->n_scorers + 1) * sizeof(*b->raw))
           + (size_t)b->n_leaves * 2 * sizeof(*b->bouts);
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

/* The spectrum */

static bool
spectrum_add(struct spectrum *s, int64_t value)
{
    unsigned empty = s->count;

    for (unsigned i = 0; i < s->count; i++) {
        if (s->values[i] == value) {
            s->counts[i]++;
            return true;
        }
        if (s->counts[i] == 0)
            empty = i;
    }
    if (empty == SPECTRUM_MAX)
        return false;
    s->values[empty] = value;
    s->counts[empty] = 1;
    if (empty == s->count)
        s->count++;
    return true;
}

static void
spectrum_remove(struct spectrum *s, int64_t value)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->values[i] == value)
            s->counts[i]--;
}

static bool
spectrum_is_single(const struct spectrum *s, int64_t *ret_value)
{
    unsigned n = 0;

    for (unsigned i = 0; i < s->count; i++)
        if (s->counts[i] > 0) {
            *ret_value = s->values[i];
            n++;
        }
    return n == 1;
}

static int64_t
spectrum_most(const struct spectrum *s)
{
    int64_t most = 0;

    for (unsigned i = 0; i < s->count; i++)
        if (s->counts[i] > 0 && s->values[i] > most)
            most = s->values[i];
    return most;
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
            score =
                normalize_one(score,
                              b->spectra[i].most,
                              e->plugin->normalization == NORMALIZE_REVERSED);
        total += score * e->weight;
    }
    return total;
}

static struct bout
play(struct bout a, struct bout b)
{
    if (a.best == b.best && a.best != INFEASIBLE)
        return (struct bout){a.best, a.count + b.count};
    return a.best > b.best ? a : b;
}

static void
set_leaf(struct node_results *b, uint32_t slot, int64_t total)
{
    b->bouts[b->n_leaves + slot] =
        (struct bout){total, total == INFEASIBLE ? 0 : 1};
}

static void
replay_path(struct node_results *b, uint32_t slot)
{
    for (uint32_t i = (b->n_leaves + slot) / 2; i >= 1; i /= 2)
        b->bouts[i] = play(b->bouts[2 * i], b->bouts[2 * i + 1]);
}

static bool
is_feasible(const struct node_results *b, uint32_t slot)
{
    return b->views[slot] != NULL && b->answers[slot].verdict == VERDICT_OK;
}

static void
replay_all(struct node_results *b)
{
    for (uint32_t slot = 0; slot < b->n_slots; slot++)
        set_leaf(b,
                 slot,
                 is_feasible(b, slot) ? make_total(b, slot) : INFEASIBLE);
    for (uint32_t i = b->n_leaves - 1; i >= 1; i--)
        b->bouts[i] = play(b->bouts[2 * i], b->bouts[2 * i + 1]);
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
            spectrum_remove(&b->spectra[i], raw[i]);
}

static void
learn_slot(struct node_results *b, uint32_t slot)
{
    const int64_t *raw = b->raw + (size_t)slot * b->n_scorers;

    b->feasible++;
    for (unsigned i = 0; i < b->n_scorers; i++)
        if (is_normalized(b, i) && !spectrum_add(&b->spectra[i], raw[i]))
            b->is_overfull = true;
}

static void
score_batch(struct node_results *b,
            const struct cycle *c,
            const struct node_view *const *nodes,
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
evaluate(struct node_results *b,
         const struct cycle *c,
         struct node_view *const *nodes,
         unsigned count)
{
    const struct node_view *passed[BATCH];
    struct answer answers[BATCH];
    unsigned n_passed = 0;

    profile_filter(b->profile,
                   b->filters,
                   c,
                   (const struct node_view *const *)nodes,
                   count,
                   answers);
    for (unsigned i = 0; i < count; i++) {
        uint32_t slot = nodes[i]->slot;

        forget_slot(b, slot);
        b->views[slot] = nodes[i];
        b->answers[slot] = answers[i];
        if (answers[i].verdict == VERDICT_OK)
            passed[n_passed++] = nodes[i];
    }
    score_batch(b, c, passed, n_passed);
    b->evaluated += count;
}

static void
make_room(struct node_results *b, uint32_t n_slots)
{
    uint32_t n_leaves = 1;

    while (n_leaves < n_slots)
        n_leaves *= 2;
    b->n_slots = n_slots;
    b->answers = xrealloc_array(b->answers, n_slots + 1, sizeof(*b->answers));
    b->views =
        xrealloc_array(b->views, n_slots + 1, sizeof(struct node_view *));
    b->raw = xrealloc_array(b->raw,
                            (size_t)n_slots * b->n_scorers + 1,
                            sizeof(*b->raw));
    b->flat = xrealloc_array(b->flat, n_slots + 1, sizeof(*b->flat));
    if (n_leaves != b->n_leaves) {
        b->n_leaves = n_leaves;
        b->bouts =
            xrealloc_array(b->bouts, (size_t)n_leaves * 2, sizeof(*b->bouts));
    }
    for (uint32_t i = 0; i < 2 * n_leaves; i++)
        b->bouts[i] = (struct bout){INFEASIBLE, 0};
}

static bool
spectra_moved(struct node_results *b)
{
    bool has_moved = false;

    for (unsigned i = 0; i < b->n_scorers; i++) {
        int64_t most;

        if (!is_normalized(b, i))
            continue;
        most = spectrum_most(&b->spectra[i]);
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
        evaluate(b,
                 c,
                 s->nodes + at,
                 s->n_nodes - at < BATCH ? s->n_nodes - at : BATCH);
    spectra_moved(b);
    replay_all(b);
}

static void
flush(struct node_results *b,
      const struct cycle *c,
      struct node_view *const *changed,
      unsigned count)
{
    evaluate(b, c, changed, count);
    if (spectra_moved(b)) {
        replay_all(b);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        uint32_t slot = changed[i]->slot;

        set_leaf(b,
                 slot,
                 is_feasible(b, slot) ? make_total(b, slot) : INFEASIBLE);
        replay_path(b, slot);
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

bool
node_results_update(struct node_results *b, const struct cycle *c)
{
    const struct snapshot *s = c->snapshot;

    b->evaluated = 0;
    if (b->n_slots != s->n_slots || b->n_leaves == 0
        || b->removal_generation != s->removal_generation
        || b->skipped != (c->skipped_scores & b->scoring) || b->is_overfull)
        make_all(b, c);
    else if (b->generation != s->generation)
        make_changed(b, c);
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
node_results_pick(const struct node_results *b,
                  struct random_source *random,
                  int64_t *ret_total)
{
    uint32_t i = 1;
    uint64_t which;

    if (b->feasible == 0)
        return NULL;
    which = random_below(random, b->bouts[1].count);
    while (i < b->n_leaves) {
        struct bout whole = b->bouts[i], left = b->bouts[2 * i];
        uint32_t in_left = left.best == whole.best ? left.count : 0;

        if (which < in_left) {
            i = 2 * i;
        } else {
            which -= in_left;
            i = 2 * i + 1;
        }
    }
    *ret_total = b->bouts[i].best;
    return b->views[i - b->n_leaves];
}

static void
settle_slot(struct node_results *b, uint32_t slot)
{
    if (spectra_moved(b)) {
        replay_all(b);
        return;
    }
    set_leaf(b, slot, is_feasible(b, slot) ? make_total(b, slot) : INFEASIBLE);
    replay_path(b, slot);
}

bool
node_results_is_feasible(const struct node_results *b,
                         const struct node_view *node)
{
    return node->slot < b->n_slots && b->views[node->slot] == node
           && is_feasible(b, node->slot);
}

void
node_results_mask(struct node_results *b,
                  struct node_results_mask *mask,
                  struct node_view *node,
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
node_results_count_stale(const struct node_results *b,
                         const struct snapshot *s,
                         unsigned most)
{
    if (b->n_slots != s->n_slots || b->n_leaves == 0
        || b->removal_generation != s->removal_generation || b->is_overfull)
        return most;
    return snapshot_changed(s, b->generation, most);
}

/* Adds to the total of every node what this scorer gives to each of them, which
 * is one number where all feasible nodes have the same raw score: every
 * selection of them normalizes it to the same. False: they differ.
 */
static bool
adds_constant(const struct node_results *b, unsigned scorer, int64_t *total)
{
    const struct profile_entry *e = entry_of(b, scorer);
    int64_t value;

    if (!spectrum_is_single(&b->spectra[scorer], &value))
        return false;
    *total += e->weight
              * normalize_one(value,
                              value > 0 ? value : 0,
                              e->plugin->normalization == NORMALIZE_REVERSED);
    return true;
}

static void
add_scorer(const struct node_results *b,
           unsigned scorer,
           const struct node_view *const *nodes,
           unsigned count,
           int64_t *totals)
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
        totals[i] += e->weight
                     * normalize_one(raw[(size_t)nodes[i]->slot * stride],
                                     most,
                                     is_reversed);
}

void
node_results_totals(const struct node_results *b,
                    const struct node_view *const *nodes,
                    unsigned count,
                    int64_t *totals)
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
