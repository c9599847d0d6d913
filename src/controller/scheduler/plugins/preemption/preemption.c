/* SPDX-License-Identifier: Apache-2.0 */
/* DefaultPreemption - makes room for a pod by ending pods of lower priority
 *
 * Extension points:  postfilter
 * Arguments:         minCandidateNodesPercentage (10),
 *                    minCandidateNodesAbsolute (100)
 *
 * Source: kube-scheduler, framework/preemption and plugins/defaultpreemption.
 */
#include "controller/scheduler/plugins/preemption/preemption.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/framework/proposal.h"
#include "controller/scheduler/plugins/preemption/disruption_budget.h"
#include "controller/scheduler/plugins/preemption/victim_terms.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define PLUGIN_NAME "DefaultPreemption"
#define NO_VICTIMS  "No preemption victims found for incoming pod"
#define NOT_HELPFUL "Preemption is not helpful for scheduling"

struct preemption {
    struct handle *handle;
    unsigned percentage, absolute;
    uint64_t generation; /* of the nodes that lowest_priority is from */
    int64_t lowest_priority;
    uint32_t no_victims, not_helpful; /* reasons */
};

static const struct field preemption_args_fields[] = {
    OPAQUE(INT, "minCandidateNodesPercentage", KEPT),
    OPAQUE(INT, "minCandidateNodesAbsolute", KEPT),
};
static OPAQUE_RECORD(preemption_args, "DefaultPreemptionArgs");

static int
preemption_make(struct handle *handle, const struct json *args, void **ret_self, struct error *err)
{
    struct preemption *self;
    int64_t percentage = json_get_int(args, "minCandidateNodesPercentage", 10);
    int64_t absolute = json_get_int(args, "minCandidateNodesAbsolute", 100);

    if (percentage < 0 || percentage > 100 || absolute < 0 || absolute > UINT32_MAX
        || percentage + absolute == 0)
        return error_set(err, -EINVAL,
                         "minCandidateNodesPercentage must be from 0 to 100, "
                         "minCandidateNodesAbsolute must not be negative, "
                         "and one of them must not be 0");
    self = xnew(struct preemption);
    self->handle = handle;
    self->no_victims = handle_reason(handle, NO_VICTIMS);
    self->not_helpful = handle_reason(handle, NOT_HELPFUL);
    self->percentage = (unsigned)percentage;
    self->absolute = (unsigned)absolute;
    *ret_self = self;
    return 0;
}

/* Whether a scheduler has preempted it and it has not ended yet. */
static bool
is_leaving_by_preemption(const struct pod_view *pod)
{
    const struct pod_condition *c;

    if (!pod_view_is_terminating(pod))
        return false;
    c = pod_find_condition(pod->pod, "DisruptionTarget");
    return c != NULL && strcmp(c->status, "True") == 0 && c->reason != NULL
           && strcmp(c->reason, REASON_PREEMPTION_BY_SCHEDULER) == 0;
}

const char *
preemption_refusal(const struct cycle *c, const struct diagnosis *diagnosis,
                   const char *nominated_node)
{
    const char *policy = c->pod->pod->spec.preemption_policy;
    const struct node_view *node;

    if (policy != NULL && strcmp(policy, "Never") == 0)
        return "not eligible due to preemptionPolicy=Never.";
    if (nominated_node == NULL || nominated_node[0] == '\0')
        return NULL;
    node = snapshot_find(c->snapshot, nominated_node);
    if (node == NULL || diagnosis_answer(diagnosis, node).verdict == VERDICT_NEVER)
        return NULL;
    for (uint32_t i = 0; i < node->pods.count; i++)
        if (node->pods.items[i]->priority < c->pod->priority
            && is_leaving_by_preemption(node->pods.items[i]))
            return "not eligible due to a terminating pod on the nominated "
                   "node.";
        else if (node->pods.items[i]->priority < c->pod->priority
                 && node->pods.items[i]->is_to_yield && !node->pods.items[i]->has_yielded)
            return "a pod on the nominated node is not suspended yet.";
    return NULL;
}

uint32_t
candidates_wanted(unsigned percentage, unsigned absolute, uint32_t n_nodes)
{
    uint64_t wanted = (uint64_t)n_nodes * percentage / 100;

    if (wanted < absolute)
        wanted = absolute;
    return wanted > n_nodes ? n_nodes : (uint32_t)wanted;
}

static unsigned
find_potential(const struct diagnosis *d, struct node_view **nodes)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < d->snapshot->n_nodes; i++)
        if (diagnosis_answer(d, d->snapshot->nodes[i]).verdict == VERDICT_REJECT)
            nodes[count++] = d->snapshot->nodes[i];
    return count;
}

static void
try_nodes(struct candidates *found, const struct profile *p, const struct cycle *c,
          struct node_view *const *nodes, unsigned count, uint32_t wanted)
{
    CLEANUP(disruption_budgets_freep) struct budgets *budgets = disruption_budgets_new(p->handle);
    unsigned first = (unsigned)random_below(p->handle->random, count);
    uint32_t nobody = handle_reason(p->handle, NO_VICTIMS);
    bool has_harmless = false;

    for (unsigned i = 0; i < count; i++) {
        struct node_view *node = nodes[(first + i) % count];
        struct victims v = {0};
        struct answer answer = victims_find(p, c, node, budgets, nobody, &v);

        found->answers[node->slot] = answer;
        if (answer.verdict != VERDICT_OK || v.count == 0) {
            victims_fini(&v);
            continue;
        }
        found->items[found->count++] = v;
        has_harmless |= v.violations == 0;
        if (has_harmless && found->count >= wanted)
            return;
    }
}

void
candidates_find(struct candidates *ret_candidates, const struct profile *p, const struct cycle *c,
                const struct diagnosis *diagnosis, unsigned percentage, unsigned absolute)
{
    const struct snapshot *s = c->snapshot;
    CLEANUP_FREE struct node_view **nodes = xnew_array(struct node_view *, s->n_nodes + 1);
    unsigned count = find_potential(diagnosis, nodes);

    ret_candidates->count = 0;
    ret_candidates->items = xnew_array(struct victims, count + 1);
    ret_candidates->answers = xnew_array(struct answer, s->n_slots + 1);
    for (uint32_t i = 0; i < s->n_slots; i++)
        ret_candidates->answers[i] = ANSWER_OK;
    if (count > 0)
        try_nodes(ret_candidates, p, c, nodes, count,
                  candidates_wanted(percentage, absolute, count));
}

void
candidates_fini(struct candidates *c)
{
    for (unsigned i = 0; i < c->count; i++)
        victims_fini(&c->items[i]);
    free(c->items);
    free(c->answers);
}

const struct victims *
candidates_best(const struct candidates *c)
{
    const struct victims *best = NULL;

    for (unsigned i = 0; i < c->count; i++)
        if (best == NULL || victims_compare(&c->items[i], best) < 0)
            best = &c->items[i];
    return best;
}

/* Removes the nominations of pods with lower priority on the node, so that they
 * look for another node.
 */
static void
clear_lower(const struct preemption *me, const struct cycle *c, const struct node_view *node)
{
    for (uint32_t i = node->ledger.n_nominated; i-- > 0;) {
        struct pod_view *pod = nominator_pod(node, i);

        if (pod->priority < c->pod->priority)
            me->handle->clear_nomination(me->handle->owner, pod);
    }
}

/* The pods to be evicted: the victims, and the others of their gangs. */
struct eviction_list {
    struct pod_view **pods;
    const struct node_view **nodes;
    unsigned count, capacity;
};

static void
add_eviction(struct pod_view *pod, const struct node_view *node, void *context)
{
    struct eviction_list *l = context;

    for (unsigned i = 0; i < l->count; i++)
        if (l->pods[i] == pod)
            return;
    if (l->count == l->capacity) {
        l->capacity = l->capacity > 0 ? l->capacity * 2 : 16;
        l->pods = xrealloc_array(l->pods, l->capacity, sizeof(struct pod_view *));
        l->nodes = xrealloc_array(l->nodes, l->capacity, sizeof(struct node_view *));
    }
    pod_view_ref(pod);
    l->pods[l->count] = pod;
    l->nodes[l->count++] = node;
}

/* Evictions change the nodes, so references keep the victims alive until all are
 * evicted.
 */
static void
act(const struct preemption *me, struct cycle *c, const struct victims *best)
{
    struct eviction_list l = {0};

    for (unsigned i = 0; i < best->count; i++) {
        add_eviction(best->pods[i], best->node, &l);
        if (me->handle->visit_gang != NULL)
            me->handle->visit_gang(me->handle->owner, best->pods[i], add_eviction, &l);
    }
    for (unsigned i = 0; i < l.count; i++) {
        me->handle->evict(me->handle->owner, l.pods[i], c->pod, l.nodes[i]->name);
        pod_view_unref(l.pods[i]);
    }
    free(l.pods);
    free(l.nodes);
    clear_lower(me, c, best->node);
}

static void
describe_refusal(const struct preemption *me, const struct cycle *c, const struct answer *answers,
                 const struct diagnosis_totals *totals, struct strbuf *message)
{
    const struct diagnosis d = {
        .snapshot = c->snapshot,
        .answers = answers,
        .totals = totals,
        .absent = {.verdict = VERDICT_NEVER, .plugin = PLUGIN_NONE, .reason = me->not_helpful},
        .prefilter_reason = STRING_ID_NONE,
    };

    strbuf_add_text(message, "preemption: ");
    diagnosis_format(&d, me->handle->reasons, message);
}

/* Whether no pod on any node has a lower priority. */
static bool
ranks_lowest(struct preemption *me, const struct cycle *c)
{
    const struct snapshot *s = c->snapshot;

    if (me->generation != s->generation) {
        me->generation = s->generation;
        me->lowest_priority = INT64_MAX;
        for (uint32_t i = 0; i < s->n_nodes; i++)
            if (s->nodes[i]->lowest_priority < me->lowest_priority)
                me->lowest_priority = s->nodes[i]->lowest_priority;
    }
    return me->lowest_priority >= c->pod->priority;
}

static int
compare_victims(const void *a, const void *b)
{
    return victims_compare(a, b);
}

bool
preemption_may_help_group(const struct profile *p, const struct cycle *c)
{
    const unsigned at = profile_find(p, PLUGIN_NAME);

    return at != p->n_entries && preemption_refusal(c, NULL, NULL) == NULL
           && !ranks_lowest(p->entries[at].self, c);
}

void
candidates_find_for_group(struct candidates *ret_candidates, const struct profile *p,
                          const struct cycle *c, const struct diagnosis *diagnosis)
{
    const struct preemption *me = p->entries[profile_find(p, PLUGIN_NAME)].self;

    candidates_find(ret_candidates, p, c, diagnosis, me->percentage, me->absolute);
    qsort(ret_candidates->items, ret_candidates->count, sizeof(*ret_candidates->items),
          compare_victims);
}

/* Writes the message that trying every node would have given, when no pod has a
 * lower priority. It also draws the random number that try_nodes would have
 * drawn, so that later choices stay the same.
 */
static void
describe_no_victims(const struct preemption *me, const struct cycle *c,
                    const struct diagnosis_totals *refused, struct strbuf *message)
{
    unsigned n_rejected = refused->n_rejected;
    unsigned n_others = c->snapshot->n_nodes - n_rejected;
    struct reason_nodes items[2];
    struct diagnosis_totals totals = {.counts = {.items = items}};

    if (n_rejected > 0) {
        random_below(me->handle->random, n_rejected);
        items[totals.counts.count++] = (struct reason_nodes){
            .reason = me->no_victims,
            .nodes = n_rejected,
        };
    }
    if (n_others > 0)
        items[totals.counts.count++] = (struct reason_nodes){
            .reason = me->not_helpful,
            .nodes = n_others,
        };
    describe_refusal(me, c, NULL, &totals, message);
}

/* Replaces the candidates by those that the extenders left, checked against the
 * current state of the nodes.
 */
static void
keep_proposals(struct candidates *found, const struct profile *p, const struct cycle *c,
               const struct proposals *left)
{
    for (unsigned i = 0; i < found->count; i++)
        victims_fini(&found->items[i]);
    free(found->items);
    found->items = xnew_array(struct victims, left->count + 1);
    found->count = 0;
    for (unsigned i = 0; i < left->count; i++) {
        struct node_view *node = snapshot_find(c->snapshot, left->items[i].node_name);
        struct victims v;

        if (node != NULL && victims_choose(p, c, node, &left->items[i], &v))
            found->items[found->count++] = v;
    }
}

/* Passes the candidates to the extenders, if there are any. */
static enum verdict
propose(const struct preemption *me, const struct profile *p, struct cycle *c,
        struct candidates *found)
{
    CLEANUP(proposals_fini) struct proposals left = {0};
    enum verdict verdict;

    if (found->count == 0 || me->handle->propose == NULL)
        return VERDICT_SKIP;
    for (unsigned i = 0; i < found->count; i++)
        proposals_add(&left, found->items[i].node->name, found->items[i].pods,
                      found->items[i].count, found->items[i].violations);
    verdict = me->handle->propose(me->handle->owner, c, &left);
    if (verdict == VERDICT_OK)
        keep_proposals(found, p, c, &left);
    return verdict;
}

/* Whether victims have yet to be evicted for the pod. Until then they do not
 * look terminating, so preemption_refusal does not see them.
 */
static bool
is_under_way(const struct preemption *me, const struct pod_view *pod)
{
    return me->handle->is_evicting != NULL && me->handle->is_evicting(me->handle->owner, pod);
}

/* Kiln's own: a pod that is ending already, because it was cancelled or came to its
 * time limit, makes room as soon as a victim would. Nobody is ended then, and the
 * room is kept for the pod by its nomination. Upstream, whose profile lacks the
 * plugin Partition, ends the victim.
 */
static const struct node_view *
find_ending_room(const struct profile *p, const struct cycle *c, const struct diagnosis *d,
                 const struct victims *best)
{
    const int64_t now_us = clock_real_us(p->handle->clock);
    int64_t until_us;

    if (profile_find(p, PARTITION_PLUGIN) == p->n_entries)
        return NULL;
    until_us = victims_end_us(p, c, best, now_us);
    for (uint32_t i = 0; i < d->snapshot->n_nodes; i++) {
        struct node_view *node = d->snapshot->nodes[i];

        if (diagnosis_answer(d, node).verdict == VERDICT_REJECT
            && victims_are_ending(p, c, node, now_us, until_us))
            return node;
    }
    return NULL;
}

static enum verdict
preemption_postfilter(void *self, struct cycle *c, const struct diagnosis *diagnosis,
                      const char **ret_nominated_node, struct strbuf *message)
{
    struct preemption *me = self;
    const char *nominated = nominator_node(me->handle->nominator, c->pod);
    const char *refusal = preemption_refusal(c, diagnosis, nominated);
    const struct profile *p = me->handle->profile(me->handle->owner, c->pod);
    struct candidates found;
    const struct victims *best;
    const struct node_view *ending;
    enum verdict said;

    if (is_under_way(me, c->pod))
        refusal = "waiting for the preemption for this pod to be finished.";
    if (refusal != NULL) {
        strbuf_printf(message, "preemption: %s", refusal);
        return VERDICT_REJECT;
    }
    if (diagnosis->totals != NULL && ranks_lowest(me, c)) {
        *ret_nominated_node = "";
        describe_no_victims(me, c, diagnosis->totals, message);
        return VERDICT_REJECT;
    }
    candidates_find(&found, p, c, diagnosis, me->percentage, me->absolute);
    said = propose(me, p, c, &found);
    if (said == VERDICT_WAIT) {
        candidates_fini(&found);
        return VERDICT_WAIT;
    }
    best = candidates_best(&found);
    ending = best != NULL ? find_ending_room(p, c, diagnosis, best) : NULL;
    if (ending != NULL) {
        *ret_nominated_node = ending->name;
        strbuf_printf(message, "preemption: not needed: pods that are ending on node %s make room.",
                      ending->name);
    } else if (best != NULL) {
        *ret_nominated_node = best->node->name;
        act(me, c, best);
    } else if (said == VERDICT_OK) {
        strbuf_add_text(message, "preemption: no candidate node is left by the "
                                 "extenders");
    } else {
        *ret_nominated_node = "";
        describe_refusal(me, c, found.answers, NULL, message);
    }
    candidates_fini(&found);
    return best != NULL ? VERDICT_OK : VERDICT_REJECT;
}

const struct plugin preemption_plugin = {
    .name = PLUGIN_NAME,
    .args = &preemption_args_record,
    .default_args = "{\"minCandidateNodesPercentage\":10,"
                    "\"minCandidateNodesAbsolute\":100}",
    .make = preemption_make,
    .drop = free,
    .postfilter = preemption_postfilter,
};
