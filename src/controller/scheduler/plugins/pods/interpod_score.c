/* SPDX-License-Identifier: Apache-2.0 */
/* The score of InterPodAffinity: sums of weights by topology value. */
#include <string.h>

#include "controller/scheduler/plugins/pods/interpod_affinity.h"
#include "lib/api/pod/pod.h"

static const char score_key;

/* The plugin and the pod that nodes are counted for. */
struct score_query {
    const struct interpod *me;
    const struct pod_view *pod;
    bool looks_at_all;
};

static void
add_score(const struct counted_node *counted, const char *label, int64_t by)
{
    unsigned column = domain_counts_column(counted->domain_counts, SCORE, label);

    domain_counts_include(counted->domain_counts, column, counted->node);
    domain_counts_add(counted->domain_counts, column, counted->node, by);
}

/* Adds for each term of `of` that matches `pod` its weight times `weight`; for
 * a required term, which has no weight, just `weight`.
 */
static void
add_terms(const struct counted_node *counted, const struct pod_view *of, enum affinity_kind kind,
          const struct pod_view *pod, const struct string_map *ns, int64_t weight)
{
    struct affinity_term term;

    for (unsigned i = 0; affinity_term_at(of, kind, i, &term); i++)
        if (affinity_term_matches(&term, pod, ns))
            add_score(counted, term.term->topology_key,
                      term.weight != 0 ? term.weight * weight : weight);
}

static void
score_pod(const struct interpod *me, const struct counted_node *counted, const struct pod_view *pod,
          const struct string_map *pod_ns, const struct pod_view *other)
{
    const struct string_map *other_ns = namespace_labels(me->handle, other);

    add_terms(counted, pod, AFFINITY_PREFERRED, other, other_ns, 1);
    add_terms(counted, pod, ANTI_AFFINITY_PREFERRED, other, other_ns, -1);
    if (!interpod_concerns(me, other, pod))
        return;
    if (me->hard_weight > 0)
        add_terms(counted, other, AFFINITY_REQUIRED, pod, pod_ns, me->hard_weight);
    add_terms(counted, other, AFFINITY_PREFERRED, pod, pod_ns, 1);
    add_terms(counted, other, ANTI_AFFINITY_PREFERRED, pod, pod_ns, -1);
}

static void
score_into(struct domain_counts *d, const struct node_view *node, void *context)
{
    const struct score_query *query = context;
    const struct pod_list *pods = query->looks_at_all ? &node->pods : &node->with_affinity;
    const struct string_map *ns = namespace_labels_or_none(query->me->handle, query->pod);
    struct counted_node counted = {d, node};

    for (uint32_t i = 0; i < pods->count; i++)
        score_pod(query->me, &counted, query->pod, ns, pods->items[i]);
}

static bool
has_preferences(const struct pod_view *pod)
{
    struct affinity_term term;

    return affinity_term_at(pod, AFFINITY_PREFERRED, 0, &term)
           || affinity_term_at(pod, ANTI_AFFINITY_PREFERRED, 0, &term);
}

/* Whether some node is in a domain of some column. */
static bool
has_sums(const struct domain_counts *d)
{
    for (unsigned i = 0; i < domain_counts_columns(d); i++)
        if (domain_counts_at(d, i)->n_inhabited > 0)
            return true;
    return false;
}

/* A pod with preferences considers all pods; a pod without them only pods that
 * have terms themselves.
 */
enum verdict
interpod_prescore(void *self, struct cycle *c, const struct node_view *const *nodes, unsigned count)
{
    const struct interpod *me = self;
    const struct snapshot *s = c->snapshot;
    bool prefers = has_preferences(c->pod);
    struct score_query query = {
        .me = me,
        .pod = c->pod,
        .looks_at_all = prefers,
    };
    struct domain_counts *d;

    (void)nodes, (void)count;
    if ((prefers ? s->n_nodes : s->n_with_affinity) == 0 || (me->ignores_existing && !prefers))
        return VERDICT_SKIP;
    d = interpod_domain_counts(me, c->pod, 'S');
    domain_counts_update(d, s, me->handle->namespaces_version, score_into, &query);
    if (!has_sums(d))
        return VERDICT_SKIP;
    cycle_put(c, &score_key, d, NULL, NULL);
    return VERDICT_OK;
}

void
interpod_score(void *self, const struct cycle *c, const struct node_view *const *nodes,
               unsigned count, int64_t *scores)
{
    const struct domain_counts *d = cycle_get(c, &score_key);

    (void)self;
    memset(scores, 0, count * sizeof(*scores));
    for (unsigned i = 0; i < domain_counts_columns(d); i++) {
        const struct domain_column *column = domain_counts_at(d, i);

        for (unsigned n = 0; n < count; n++) {
            uint32_t id = column->ids[nodes[n]->slot];

            if (id != 0)
                scores[n] += column->sums[id];
        }
    }
}

void
interpod_normalize(void *self, const struct cycle *c, const struct node_view *const *nodes,
                   unsigned count, int64_t *scores)
{
    int64_t least = INT64_MAX, most = INT64_MIN;

    (void)self, (void)c, (void)nodes;
    for (unsigned i = 0; i < count; i++) {
        if (scores[i] < least)
            least = scores[i];
        if (scores[i] > most)
            most = scores[i];
    }
    for (unsigned i = 0; i < count; i++)
        scores[i] =
            most > least
                ? (int64_t)(SCORE_MAX * ((double)(scores[i] - least) / (double)(most - least)))
                : 0;
}
