/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of pods that a pod's own constraints select, kept between cycles.
 */
#include "controller/scheduler/plugins/pods/topology_spread.h"
#include "lib/api/node/node.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/base/strbuf.h"

/* The constraints and the pod that nodes are counted for. */
struct spread_query {
    const struct spread_rules *rules;
    const struct pod_view *pod;
    bool is_for_score;
};

static void
count_into(struct domain_counts *d, const struct node_view *node, void *context)
{
    const struct spread_query *query = context;
    const struct spread_rules *rules = query->rules;
    unsigned columns[SPREAD_RULES];
    bool is_covered = true;

    for (unsigned i = 0; i < rules->count; i++) {
        columns[i] = domain_counts_column(d, (int)i, rules->items[i].topology_key);
        is_covered &= domain_counts_at(d, columns[i])->ids[node->slot] != 0;
    }
    for (unsigned i = 0; i < rules->count; i++) {
        const struct spread_rule *rule = &rules->items[i];
        unsigned column = columns[i];

        /* For scores, a constraint on hostnames counts every node, whether the
         * pod can use it or not.
         */
        if (!is_covered
            || (!(query->is_for_score && rule->is_hostname)
                && !spread_rule_includes(rule, query->pod, node)))
            continue;
        domain_counts_include(d, column, node);
        domain_counts_add(d, column, node, spread_rule_count(rule, node, query->pod->namespace));
    }
}

struct domain_counts *
spread_domain_counts(const struct spread *me, const struct cycle *c,
                     const struct spread_rules *rules, bool is_for_score)
{
    CLEANUP_STRBUF struct strbuf key = STRBUF_INIT;
    struct spread_query query = {rules, c->pod, is_for_score};
    struct domain_counts *d;

    if (c->pod->pod->spec.topology_spread.count == 0 || c->snapshot->n_nodes == 0)
        return NULL;
    strbuf_add_text(&key, is_for_score ? "score " : "filter ");
    spread_rules_sign(rules, c->pod, &key);
    d = domain_counts_cache_get(me->domain_counts, key.text);
    domain_counts_update(d, c->snapshot, 0, count_into, &query);
    return d;
}
