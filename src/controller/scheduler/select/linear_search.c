/* SPDX-License-Identifier: Apache-2.0 */
/* The search continues where the one before has ended, so that samples cover the cluster in
 * turn, as upstream does. The nodes are filtered in batches, so that a plugin prepares itself
 * once for many of them. The recorded decisions of kube-scheduler fix where a search stops: a
 * node that is found beyond the wanted number is not counted, and the next search starts with
 * it.
 */
#include "controller/scheduler/select/linear_search.h"

#include <string.h>

#include "controller/scheduler/extenders/extender_results.h"
#include "controller/scheduler/framework/cycle.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/snapshot.h"

#define BATCH 256u

/* The extenders' answer for a node that passes the filters. */
static struct answer
apply_extender_result(const struct linear_search *s, const struct node_view *node)
{
    const struct extender_result *result =
        s->extender_results != NULL ? extender_results_find(s->extender_results, node->name) : NULL;

    return result != NULL ? result->answer : ANSWER_OK;
}

/* Records the answers in order. False: one more than the wanted number of nodes
 * is feasible; that last node does not count as evaluated.
 */
static bool
take_answers(struct linear_search *s, struct node_view *const *nodes, const struct answer *answers,
             unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct answer answer = answers[i];

        if (answer.verdict == VERDICT_OK)
            answer = apply_extender_result(s, nodes[i]);
        if (answer.verdict == VERDICT_OK) {
            if (s->found == s->wanted)
                return false;
            s->feasible[s->found++] = nodes[i];
            continue;
        }
        s->answers[nodes[i]->slot] = answer;
        s->rejected++;
    }
    return true;
}

static bool
search_batch(struct linear_search *s, struct node_view *const *nodes, unsigned count)
{
    const struct node_view *const *batch = (const struct node_view *const *)nodes;
    struct answer answers[BATCH];

    profile_filter(s->profile, s->profile->filters, s->c, batch, count, answers);
    if (nominator_count(s->profile->handle->nominator) > 0)
        for (unsigned i = 0; i < count; i++)
            if (profile_has_nominated(s->c, batch[i]))
                answers[i] = profile_filter_nominated(s->profile, s->c, nodes[i]);
    return take_answers(s, nodes, answers, count);
}

uint32_t
linear_search_all(struct linear_search *s, uint32_t start)
{
    const struct snapshot *snapshot = s->c->snapshot;
    uint32_t n = snapshot->n_nodes, done = 0;

    if (n == 0)
        return start;
    start %= n;
    while (done < n) {
        uint32_t at = (start + done) % n;
        uint32_t count = n - done;

        if (count > n - at)
            count = n - at;
        if (count > BATCH)
            count = BATCH;
        if (!search_batch(s, snapshot->nodes + at, count))
            break;
        done += count;
    }
    return (start + s->found + s->rejected) % n;
}

void
linear_search_named(struct linear_search *s, const struct prefilter_result *prefilter_result)
{
    for (unsigned i = 0; i < prefilter_result->count; i++) {
        struct node_view *node = snapshot_find(s->c->snapshot, prefilter_result->names[i]);

        if (node != NULL && !search_batch(s, &node, 1))
            return;
    }
}

bool
linear_search_nominated(struct linear_search *s)
{
    const char *name = nominator_node(s->profile->handle->nominator, s->c->pod);
    struct node_view *node = name != NULL ? snapshot_find(s->c->snapshot, name) : NULL;
    struct journal *journal;
    size_t mark;

    if (node == NULL)
        return false;
    if (node->ledger.n_yielded == 0)
        return search_batch(s, &node, 1) && s->found == 1;
    journal = node->ledger.journal;
    mark = journal_begin(journal);
    node_view_lend_to(node, s->c->pod);
    search_batch(s, &node, 1);
    journal_roll_back(journal, mark);
    return s->found == 1;
}

void
linear_search_by_extenders(struct linear_search *s)
{
    unsigned at = 0, n = extender_results_count(s->extender_results);

    while (at < n) {
        struct node_view *nodes[BATCH];
        unsigned count = 0;

        for (; at < n && count < BATCH; at++) {
            const struct extender_result *result = extender_results_at(s->extender_results, at);
            struct node_view *node = result->answer.verdict == VERDICT_OK
                                         ? snapshot_find(s->c->snapshot, result->node_name)
                                         : NULL;

            if (node != NULL)
                nodes[count++] = node;
        }
        if (!search_batch(s, nodes, count))
            return;
    }
}

static bool
is_named(const struct prefilter_result *named, const struct node_view *node)
{
    for (unsigned i = 0; i < named->count; i++)
        if (strcmp(named->names[i], node->name) == 0)
            return true;
    return !named->has_names;
}

void
linear_search_among(struct linear_search *s, const struct prefilter_result *prefilter_result)
{
    const struct cycle *c = s->c;

    for (uint32_t at = 0; at < c->n_among && !prefilter_result->has_names; at += BATCH) {
        const uint32_t left = c->n_among - at;

        if (!search_batch(s, c->among + at, left < BATCH ? left : BATCH))
            return;
    }
    for (uint32_t at = 0; at < c->n_among && prefilter_result->has_names; at++)
        if (is_named(prefilter_result, c->among[at]) && !search_batch(s, &c->among[at], 1))
            return;
}
