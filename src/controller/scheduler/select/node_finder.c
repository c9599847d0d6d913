/* SPDX-License-Identifier: Apache-2.0 */
/* Upstream's search over the nodes is the meaning of a decision; kept refusals, the bounded
 * search and kept results are shortcuts, in this order, and each must give the decision, the
 * ties and the message that the search would have given. So they are taken only where nothing
 * outside them decides: for a pod that has a signature and no nominated node, in a profile
 * that looks at all nodes, without extenders and without a plugin that names the nodes. The
 * first two also need that no other pods matter to the pod and that no pod is nominated.
 */
#include "controller/scheduler/select/node_finder.h"

#include <string.h>

#include "controller/scheduler/extenders/extender_results.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/report/cycle_trace.h"
#include "controller/scheduler/select/answer_counts.h"
#include "controller/scheduler/select/bounded_search.h"
#include "controller/scheduler/select/kept_refusals.h"
#include "controller/scheduler/select/linear_search.h"
#include "controller/scheduler/select/node_finder_state.h"
#include "controller/scheduler/select/node_results.h"
#include "controller/scheduler/select/result_cache.h"
#include "lib/base/alloc.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"

#define MIN_FEASIBLE         100u
#define MIN_PERCENTAGE       5u
#define ADAPTIVE_PERCENTAGE  50u
#define BOUNDED_SEARCH_NODES 256u

struct node_finder *
node_finder_new(const struct node_finder_settings *settings)
{
    struct node_finder *f = xnew(struct node_finder);

    f->settings = *settings;
    if (f->settings.bounded_search_nodes == 0)
        f->settings.bounded_search_nodes = BOUNDED_SEARCH_NODES;
    f->result_cache = result_cache_new(settings->result_bytes);
    f->bounded_search = bounded_search_new();
    f->refusals = kept_refusals_new(0);
    return f;
}

void
node_finder_free(struct node_finder *f)
{
    if (f == NULL)
        return;
    result_cache_free(f->result_cache);
    bounded_search_free(f->bounded_search);
    kept_refusals_free(f->refusals);
    answer_counts_fini(&f->counts);
    free(f->answers);
    free(f->feasible);
    free(f->totals);
    free(f->scores);
    free(f);
}

void
node_finder_forget(struct node_finder *f)
{
    result_cache_free(f->result_cache);
    f->result_cache = result_cache_new(f->settings.result_bytes);
    kept_refusals_free(f->refusals);
    f->refusals = kept_refusals_new(0);
}

uint32_t
node_finder_wanted(unsigned percentage, uint32_t n_nodes)
{
    uint32_t wanted;

    if (n_nodes < MIN_FEASIBLE || percentage >= 100)
        return n_nodes;
    if (percentage == 0) {
        percentage = n_nodes / 125 < ADAPTIVE_PERCENTAGE ? ADAPTIVE_PERCENTAGE - n_nodes / 125 : 0;
        if (percentage < MIN_PERCENTAGE)
            percentage = MIN_PERCENTAGE;
    }
    wanted = (uint32_t)((uint64_t)n_nodes * percentage / 100);
    return wanted < MIN_FEASIBLE ? MIN_FEASIBLE : wanted;
}

/* Makes room for one answer for each slot. */
void
node_finder_make_room(struct node_finder *f, const struct snapshot *s)
{
    if (f->n_answers < s->n_slots) {
        f->n_answers = s->n_slots;
        f->answers = xrealloc_array(f->answers, s->n_slots, sizeof(*f->answers));
    }
    if (f->capacity >= s->n_nodes)
        return;
    f->capacity = s->n_nodes;
    f->feasible = xrealloc_array(f->feasible, f->capacity, sizeof(struct node_view *));
    f->totals = xrealloc_array(f->totals, f->capacity, sizeof(*f->totals));
    f->scores = xrealloc_array(f->scores, f->capacity, sizeof(*f->scores));
}

/* Marks every node as not evaluated. */
void
node_finder_clear_answers(struct node_finder *f, const struct snapshot *s)
{
    node_finder_make_room(f, s);
    for (uint32_t i = 0; i < s->n_slots; i++)
        f->answers[i] = ANSWER_OK;
}

static void
start_diagnosis(struct node_finder *f, const struct cycle *c)
{
    f->diagnosis = (struct diagnosis){
        .snapshot = c->snapshot,
        .answers = f->answers,
        .absent = ANSWER_OK,
        .prefilter_reason = STRING_ID_NONE,
    };
    f->facts = (struct node_finder_facts){0};
}

/* Without kept results */

/* "node(s) didn't satisfy plugin(s) [NodeAffinity]": the answer for nodes
 * outside the prefilter result.
 */
static void
set_absent(struct node_finder *f, const struct profile *profile, plugin_set narrowers)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    unsigned first = PLUGIN_NONE;

    strbuf_add_text(&text, "node(s) didn't satisfy plugin(s) [");
    for (unsigned i = 0; i < profile->n_entries; i++) {
        if ((narrowers & PLUGIN_BIT(i)) == 0)
            continue;
        if (first == PLUGIN_NONE)
            first = i;
        else
            strbuf_add_char(&text, ' ');
        strbuf_add_text(&text, profile->entries[i].plugin->name);
    }
    strbuf_add_char(&text, ']');
    f->diagnosis.absent = (struct answer){
        .verdict = VERDICT_NEVER,
        .plugin = PLUGIN_NONE,
        .reason = handle_reason(profile->handle, text.text),
    };
    f->diagnosis.unschedulable |= narrowers;
}

void
node_finder_note_rejectors(struct node_finder *f, const struct snapshot *s)
{
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        struct answer a = f->diagnosis.answers[s->nodes[i]->slot];

        if (a.verdict == VERDICT_PENDING)
            f->diagnosis.pending |= PLUGIN_BIT(a.plugin);
        else if (a.verdict != VERDICT_OK && a.plugin != PLUGIN_NONE)
            f->diagnosis.unschedulable |= PLUGIN_BIT(a.plugin);
    }
}

void
node_finder_add_scores(struct node_finder *f, const struct profile *profile, plugin_set plugins,
                       struct cycle *c, unsigned count)
{
    const struct node_view *const *nodes = (const struct node_view *const *)f->feasible;

    plugins &= profile->scores & ~c->skipped_scores;
    for (unsigned p = 0; p < profile->n_entries; p++) {
        if ((plugins & PLUGIN_BIT(p)) == 0)
            continue;
        profile_score(profile, p, c, nodes, count, f->scores);
        profile_normalize(profile, p, c, nodes, count, f->scores);
        for (unsigned i = 0; i < count; i++)
            f->totals[i] += f->scores[i] * profile->entries[p].weight;
    }
}

static void
make_totals(struct node_finder *f, const struct profile *profile, struct cycle *c, unsigned count)
{
    const struct node_view *const *nodes = (const struct node_view *const *)f->feasible;

    profile_prescore(profile, ALL_PLUGINS, c, nodes, count);
    node_finder_mark(f, STEP_PRESCORE);
    memset(f->totals, 0, count * sizeof(*f->totals));
    node_finder_add_scores(f, profile, ALL_PLUGINS, c, count);
    node_finder_mark(f, STEP_SCORE);
}

struct node_view *
node_finder_pick_best(struct node_finder *f, unsigned count)
{
    unsigned ties = 0, at = 0;
    int64_t best = INT64_MIN;
    uint64_t which;

    for (unsigned i = 0; i < count; i++)
        best = f->totals[i] > best ? f->totals[i] : best;
    for (unsigned i = 0; i < count; i++)
        ties += f->totals[i] == best;
    which = random_below(f->settings.handle->random, ties);
    while (f->totals[at] != best || which-- > 0)
        at++;
    f->facts.total = best;
    return f->feasible[at];
}

static void
add_extender_scores(struct node_finder *f, const struct extender_results *extender_results,
                    unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        f->totals[i] += extender_results_find(extender_results, f->feasible[i]->name)->score;
}

static void
set_outside(struct node_finder *f, const struct profile *profile)
{
    f->diagnosis.absent = (struct answer){
        .verdict = VERDICT_NEVER,
        .plugin = PLUGIN_NONE,
        .reason = handle_reason(profile->handle,
                                "node(s) are outside of the topology domain of the group"),
    };
    f->diagnosis.unschedulable |= profile->rooms;
}

/* False: the extenders were not asked about the nodes that were found. */
static bool
search_nodes(struct node_finder *f, struct linear_search *s,
             const struct prefilter_result *prefilter_result)
{
    if (s->c->among != NULL) {
        linear_search_among(s, prefilter_result);
        return s->extender_results == NULL;
    }
    if (s->extender_results != NULL) {
        linear_search_by_extenders(s);
        if (s->found > 0)
            return true;
        s->rejected = 0;
    }
    if (linear_search_nominated(s))
        return s->extender_results == NULL;
    s->found = s->rejected = 0;
    if (prefilter_result->has_names)
        linear_search_named(s, prefilter_result);
    else
        f->next_start = linear_search_all(s, f->next_start);
    return s->extender_results == NULL;
}

static struct node_view *
choose_by_linear_search(struct node_finder *f, const struct profile *profile, struct cycle *c,
                        const struct extender_results *extender_results,
                        const struct prefilter_result *prefilter_result, plugin_set narrowers)
{
    struct linear_search s = {
        .profile = profile,
        .c = c,
        .extender_results = extender_results,
        .wanted = node_finder_wanted(profile->percentage_of_nodes, c->snapshot->n_nodes),
    };
    bool is_known;

    if (c->among == NULL)
        node_finder_clear_answers(f, c->snapshot);
    else
        node_finder_make_room(f, c->snapshot);
    s.answers = f->answers;
    s.feasible = f->feasible;
    f->diagnosis.answers = f->answers;
    if (prefilter_result->has_names)
        set_absent(f, profile, narrowers);
    is_known = search_nodes(f, &s, prefilter_result);
    if (s.found == 0 && c->among != NULL) {
        /* The answers of the others matter now, and were not cleared: it is rare. */
        node_finder_clear_answers(f, c->snapshot);
        s.rejected = 0;
        is_known = search_nodes(f, &s, prefilter_result);
        set_outside(f, profile);
    }
    node_finder_mark(f, STEP_FILTER);
    f->facts.evaluated = s.found + s.rejected;
    f->facts.feasible = s.found;
    f->facts.nodes = f->feasible;
    if (s.found == 0) {
        node_finder_note_rejectors(f, c->snapshot);
        return NULL;
    }
    f->diagnosis.unschedulable = 0;
    f->facts.must_ask = !is_known;
    if (!is_known)
        return NULL;
    if (s.found == 1)
        return f->feasible[0];
    make_totals(f, profile, c, s.found);
    if (extender_results != NULL)
        add_extender_scores(f, extender_results, s.found);
    f->facts.totals = f->totals;
    f->facts.n_totals = s.found;
    return node_finder_pick_best(f, s.found);
}

/* With kept results */

static struct node_view *
pick_from_results(struct node_finder *f, const struct profile *profile, const struct cycle *c,
                  const struct timed_nodes *timed, struct node_results *node_results)
{
    struct node_view *node;

    f->facts.by_cache = true;
    f->facts.evaluated = node_results_evaluated(node_results);
    if (node_finder_goes_by_time(profile, c))
        return node_finder_pick_timed(f, profile, c, timed, node_results);
    f->facts.feasible = node_results_feasible(node_results);
    node = node_results_pick(node_results, profile->handle->random, &f->facts.total);
    if (node == NULL) {
        f->diagnosis.answers = node_results_answers(node_results);
        node_finder_note_rejectors(f, c->snapshot);
    }
    return node;
}

/* The search is used where no other pods matter and kept results are not worth their cost.
 * False: it was not used or found no node.
 */
static bool
choose_by_bounded_search(struct node_finder *f, const struct profile *profile,
                         const struct cycle *c, uint32_t signature, struct node_view **ret_node)
{
    bool has_found;

    if (c->snapshot->n_nodes < f->settings.bounded_search_nodes
        || result_cache_is_worth(f->result_cache, signature, c->snapshot,
                                 bounded_search_cost(f->bounded_search)))
        return false;
    has_found = bounded_search_run(f->bounded_search, profile, c);
    node_finder_mark(f, STEP_FILTER);
    if (!has_found)
        return false;
    f->facts.by_bounds = true;
    f->facts.evaluated = bounded_search_evaluated(f->bounded_search);
    f->facts.feasible = bounded_search_feasible(f->bounded_search);
    *ret_node = bounded_search_pick(f->bounded_search, profile->handle->random, &f->facts.total);
    return node_finder_is_in_time(profile, c, *ret_node);
}

/* Rejects the pod by the kept answers to its signature. False: some node may be
 * feasible.
 */
static bool
refuse_again(struct node_finder *f, const struct profile *profile, const struct cycle *c,
             const struct timed_nodes *timed, uint32_t signature)
{
    const struct answer_counts *counts;
    struct refusal_answers r;

    if (!kept_refusals_find(f->refusals, profile, c, signature, &timed->rejected, &r)
        || (r.n_feasible > 0 && !node_finder_are_reserved(f, profile, c, &r)))
        return false;
    counts = r.n_feasible > 0 ? &f->counts : r.counts;
    f->diagnosis.answers = r.n_feasible > 0 ? f->answers : r.answers;
    f->diagnosis.totals = &counts->totals;
    f->diagnosis.unschedulable = counts->totals.unschedulable;
    f->diagnosis.pending = counts->totals.pending;
    node_finder_mark(f, STEP_FILTER);
    f->facts.by_cache = true;
    f->facts.evaluated = r.evaluated;
    return true;
}

/* Keeps the answers for later pods with the same signature. */
static void
keep_refusal(struct node_finder *f, const struct profile *profile, const struct cycle *c,
             const struct timed_nodes *timed, uint32_t signature,
             const struct node_results *node_results)
{
    unsigned evaluated = f->facts.evaluated;

    if (node_results_feasible(node_results) > REFUSAL_FEASIBLE_MOST)
        return;
    kept_refusals_keep(f->refusals, c, signature, &timed->rejected,
                       node_results_answers(node_results));
    if (refuse_again(f, profile, c, timed, signature))
        f->facts.evaluated = evaluated;
}

static bool
choose_by_cache(struct node_finder *f, const struct profile *profile, struct cycle *c,
                struct node_view **ret_node)
{
    struct timed_nodes timed = {.rejected.answer = ANSWER_OK};
    struct node_results *node_results;
    uint32_t signature;
    plugin_set others;
    bool is_alone;

    /* For a nominated pod, its nominated node is tried first, alone. */
    if (!f->settings.is_sharing || profile->percentage_of_nodes != 100
        || nominator_node(profile->handle->nominator, c->pod) != NULL || c->snapshot->n_nodes == 0)
        return false;
    others = node_finder_find_others(profile, c);
    if (others != 0 && !profile->others_filter_last)
        return false;
    signature = profile_sign(profile, c->pod, f->settings.signatures);
    if (signature == SIGNATURE_NONE)
        return false;
    is_alone = others == 0 && nominator_count(profile->handle->nominator) == 0;
    if (is_alone)
        signature = node_finder_find_rejected(f, profile, c, signature, &timed);
    if (is_alone && refuse_again(f, profile, c, &timed, signature))
        return true;
    if (is_alone && choose_by_bounded_search(f, profile, c, signature, ret_node))
        return true;
    node_results = result_cache_get(f->result_cache, profile, signature);
    if (!node_results_update(node_results, c, &timed.rejected))
        return false;
    node_finder_mark(f, STEP_FILTER);
    result_cache_trim(f->result_cache, node_results);
    if (is_alone) {
        *ret_node = pick_from_results(f, profile, c, &timed, node_results);
        if (*ret_node == NULL)
            keep_refusal(f, profile, c, &timed, signature, node_results);
    } else
        *ret_node = node_finder_choose_with_others(f, profile, c, node_results);
    return true;
}

struct node_view *
node_finder_find(struct node_finder *f, const struct profile *profile, struct cycle *c,
                 const struct extender_results *extender_results)
{
    struct prefilter_result prefilter_result;
    plugin_set narrowers;
    struct answer answer;
    struct node_view *node = NULL;

    start_diagnosis(f, c);
    answer = profile_prefilter(profile, c, &prefilter_result, &narrowers);
    node_finder_mark(f, STEP_PREFILTER);
    if (f->settings.trace != NULL)
        cycle_trace_set_verdict(f->settings.trace, STEP_PREFILTER, answer.verdict);
    if (answer.verdict != VERDICT_OK) {
        node_finder_clear_answers(f, c->snapshot);
        f->diagnosis.answers = f->answers;
        f->diagnosis.absent = answer;
        f->diagnosis.prefilter_reason = answer.reason;
        f->diagnosis.prefilter_words = c->words;
        if (answer.verdict == VERDICT_PENDING)
            f->diagnosis.pending = PLUGIN_BIT(answer.plugin);
        else if (answer.verdict != VERDICT_ERROR)
            f->diagnosis.unschedulable = PLUGIN_BIT(answer.plugin);
    } else if (extender_results != NULL || prefilter_result.has_names || c->among != NULL
               || !choose_by_cache(f, profile, c, &node)) {
        node =
            choose_by_linear_search(f, profile, c, extender_results, &prefilter_result, narrowers);
    }
    free((void *)prefilter_result.names);
    return node;
}

bool
node_finder_fits(const struct profile *profile, struct cycle *c, struct node_view *node)
{
    const struct node_view *only = node;
    struct prefilter_result named;
    plugin_set narrowers;
    struct answer answer = profile_prefilter(profile, c, &named, &narrowers);
    bool is_named = !named.has_names;

    for (unsigned i = 0; named.has_names && i < named.count && !is_named; i++)
        is_named = strcmp(named.names[i], node->name) == 0;
    free((void *)named.names);
    if (answer.verdict != VERDICT_OK || !is_named)
        return false;
    profile_filter(profile, profile->filters, c, &only, 1, &answer);
    if (answer.verdict == VERDICT_OK && nominator_count(profile->handle->nominator) > 0
        && profile_has_nominated(c, node))
        answer = profile_filter_nominated(profile, c, node);
    return answer.verdict == VERDICT_OK;
}

bool
node_finder_prepare(const struct profile *profile, struct cycle *c)
{
    struct prefilter_result named;
    plugin_set narrowers;
    struct answer answer = profile_prefilter(profile, c, &named, &narrowers);

    free((void *)named.names);
    return answer.verdict == VERDICT_OK && !named.has_names;
}

void
node_finder_diagnose(struct node_finder *f, const struct profile *profile, struct cycle *c)
{
    const struct snapshot *s = c->snapshot;

    start_diagnosis(f, c);
    node_finder_clear_answers(f, s);
    f->diagnosis.answers = f->answers;
    if (!node_finder_prepare(profile, c)) {
        f->diagnosis.absent = (struct answer){.verdict = VERDICT_NEVER, .plugin = PLUGIN_NONE};
        return;
    }
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct node_view *node = s->nodes[i];

        profile_filter(profile, profile->filters, c, &node, 1, &f->answers[node->slot]);
    }
    node_finder_note_rejectors(f, s);
}

const struct diagnosis *
node_finder_diagnosis(const struct node_finder *f)
{
    return &f->diagnosis;
}

struct node_finder_facts
node_finder_facts(const struct node_finder *f)
{
    return f->facts;
}

struct node_finder_place
node_finder_place(const struct node_finder *f)
{
    return (struct node_finder_place){
        f->next_start,
        *f->settings.handle->random,
    };
}

void
node_finder_set_place(struct node_finder *f, struct node_finder_place place)
{
    f->next_start = place.next_start;
    *f->settings.handle->random = place.random;
}
