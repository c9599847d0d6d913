/* SPDX-License-Identifier: Apache-2.0 */
/* The score of PodTopologySpread. */
#include <math.h>
#include <string.h>

#include "controller/scheduler/plugins/pods/spread_domains.h"
#include "controller/scheduler/plugins/pods/topology_spread.h"
#include "lib/api/node/node.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

#define NOT_A_SCORE INT64_C(-1)

/* The result of prescore. With domain counts, `ids` and `ignored` are copied
 * from them once, by the index of the node in the call: a node in no domain is
 * ignored.
 */
struct score_note {
    struct spread_rules rules;
    struct domain_counts *domain_counts;
    uint32_t *ids[SPREAD_RULES]; /* of the node's domain */
    bool *ignored;
    struct domains domains[SPREAD_RULES];
    double weights[SPREAD_RULES];
    bool requires_all; /* nodes without all labels score nothing */
};

static const char score_key;

static void
score_note_free(void *value)
{
    struct score_note *note = value;

    for (unsigned i = 0; i < note->rules.count; i++)
        if (note->domain_counts == NULL)
            spread_domains_fini(&note->domains[i]);
        else
            free(note->ids[i]);
    free(note->ignored);
    spread_rules_fini(&note->rules);
    free(note);
}

/* This is used without domain counts. */
static bool
is_ignored(const struct score_note *note, const struct node_view *node)
{
    return note->requires_all && !spread_rules_cover(&note->rules, &node->node->meta.labels);
}

static void
note_nodes(struct score_note *note, const struct node_view *const *nodes, unsigned count)
{
    note->ignored = xnew_array(bool, count + 1);
    for (unsigned i = 0; i < note->rules.count; i++) {
        const uint32_t *by_slot = domain_counts_at(note->domain_counts, i)->ids;
        uint32_t *ids = xnew_array(uint32_t, count + 1);

        for (unsigned n = 0; n < count; n++) {
            ids[n] = by_slot[nodes[n]->slot];
            note->ignored[n] |= ids[n] == 0;
        }
        note->ids[i] = ids;
    }
}

static const char *
value_of(const struct node_view *node, const struct spread_rule *rule)
{
    const char *value = string_map_find(&node->node->meta.labels, rule->topology_key);

    return value != NULL ? value : "";
}

/* The number of domains of a column that have candidate nodes. */
static size_t
count_candidates(const struct score_note *note, const struct domain_column *column,
                 const uint32_t *ids, unsigned count)
{
    CLEANUP_FREE bool *is_seen = xnew_array(bool, column->n_ids + 1);
    size_t domains = 0;

    for (unsigned n = 0; n < count; n++)
        is_seen[ids[n]] |= !note->ignored[n];
    for (uint32_t id = 0; id <= column->n_ids; id++)
        domains += is_seen[id];
    return domains;
}

static size_t
make_candidates(struct score_note *note, unsigned rule, const struct node_view *const *nodes,
                unsigned count)
{
    for (unsigned n = 0; n < count; n++)
        if (!is_ignored(note, nodes[n]))
            spread_domains_make(&note->domains[rule], value_of(nodes[n], &note->rules.items[rule]));
    return map_count(note->domains[rule].by_value);
}

/* Finds the domains of the candidate nodes, or for a constraint on hostnames
 * just their number. The weight of a constraint grows with the number of
 * domains.
 */
static void
find_domains(struct score_note *note, const struct node_view *const *nodes, unsigned count)
{
    unsigned ignored = 0;

    for (unsigned n = 0; n < count; n++)
        ignored += note->domain_counts != NULL ? note->ignored[n] : is_ignored(note, nodes[n]);
    for (unsigned i = 0; i < note->rules.count; i++) {
        size_t size;

        if (note->rules.items[i].is_hostname)
            size = count - ignored;
        else if (note->domain_counts != NULL)
            size = count_candidates(note, domain_counts_at(note->domain_counts, i), note->ids[i],
                                    count);
        else
            size = make_candidates(note, i, nodes, count);
        note->weights[i] = log((double)(size + 2));
    }
}

static void
count_for_score(struct score_note *note, const struct cycle *c, const struct node_view *node)
{
    if (is_ignored(note, node))
        return;
    for (unsigned i = 0; i < note->rules.count; i++) {
        const struct spread_rule *rule = &note->rules.items[i];
        struct domain *domain;

        if (!spread_rule_includes(rule, c->pod, node))
            continue;
        domain = map_find(note->domains[i].by_value, value_of(node, rule));
        if (domain != NULL)
            domain->pods += spread_rule_count(rule, node, c->pod->namespace);
    }
}

enum verdict
spread_prescore(void *self, struct cycle *c, const struct node_view *const *nodes, unsigned count)
{
    const struct spread *me = self;
    struct spread_rules rules;
    struct score_note *note;

    spread_rules_init(&rules, me->handle, c->pod, &me->defaults, MAY_SPREAD);
    if (rules.count == 0) {
        spread_rules_fini(&rules);
        return VERDICT_SKIP;
    }
    note = xnew(struct score_note);
    note->rules = rules;
    note->requires_all = c->pod->pod->spec.topology_spread.count > 0 || !me->is_system;
    note->domain_counts = spread_domain_counts(me, c, &note->rules, true);
    if (note->domain_counts != NULL)
        note_nodes(note, nodes, count);
    for (unsigned i = 0; i < note->rules.count && note->domain_counts == NULL; i++)
        spread_domains_init(&note->domains[i]);
    find_domains(note, nodes, count);
    for (uint32_t i = 0; i < c->snapshot->n_nodes && note->domain_counts == NULL; i++)
        count_for_score(note, c, c->snapshot->nodes[i]);
    cycle_put(c, &score_key, note, score_note_free, NULL);
    return VERDICT_OK;
}

/* The number of pods in the node's domain; -1: it is in none. */
static int64_t
pods_beside(const struct score_note *note, unsigned rule, const struct cycle *c,
            const struct node_view *node)
{
    const struct spread_rule *r = &note->rules.items[rule];
    const struct domain *domain;
    const char *value;

    value = string_map_find(&node->node->meta.labels, r->topology_key);
    if (value == NULL)
        return -1;
    if (r->is_hostname)
        return spread_rule_count(r, node, c->pod->namespace);
    domain = map_find(note->domains[rule].by_value, value);
    return domain != NULL ? domain->pods : 0;
}

static int64_t
score_one(const struct score_note *note, const struct cycle *c, const struct node_view *node)
{
    double score = 0;

    if (is_ignored(note, node))
        return 0;
    for (unsigned i = 0; i < note->rules.count; i++) {
        int64_t pods = pods_beside(note, i, c, node);

        if (pods >= 0)
            score += (double)pods * note->weights[i] + (double)(note->rules.items[i].max_skew - 1);
    }
    return (int64_t)round(score);
}

/* Adds the part of one constraint on hostnames to `sums`, by index of the node.
 */
static void
add_hosts(const struct domain_column *column, double weight, double more,
          const struct node_view *const *nodes, unsigned count, double *sums)
{
    for (unsigned n = 0; n < count; n++)
        sums[n] += (double)column->counts[nodes[n]->slot] * weight + more;
}

static void
add_domains(const struct domain_column *column, double weight, double more, const uint32_t *ids,
            unsigned count, double *sums)
{
    CLEANUP_FREE double *by_id = xnew_array(double, column->n_ids + 1);

    for (uint32_t id = 0; id <= column->n_ids; id++)
        by_id[id] = (double)column->sums[id] * weight + more;
    for (unsigned n = 0; n < count; n++)
        sums[n] += by_id[ids[n]];
}

/* This is used for a single constraint. Many nodes share few domains, so the score is computed
 * and rounded once for each domain.
 */
static void
score_by_domain(const struct score_note *note, unsigned count, int64_t *scores)
{
    const struct domain_column *column = domain_counts_at(note->domain_counts, 0);
    double more = (double)(note->rules.items[0].max_skew - 1);
    CLEANUP_FREE int64_t *by_id = xnew_array(int64_t, column->n_ids + 1);

    for (uint32_t id = 1; id <= column->n_ids; id++)
        by_id[id] = (int64_t)round((double)column->sums[id] * note->weights[0] + more);
    for (unsigned n = 0; n < count; n++)
        scores[n] = by_id[note->ids[0][n]];
}

static void
score_by_rules(const struct score_note *note, const struct node_view *const *nodes, unsigned count,
               int64_t *scores)
{
    CLEANUP_FREE double *sums = xnew_array(double, count + 1);

    for (unsigned i = 0; i < note->rules.count; i++) {
        const struct domain_column *column = domain_counts_at(note->domain_counts, i);
        const struct spread_rule *rule = &note->rules.items[i];
        double more = (double)(rule->max_skew - 1);

        if (rule->is_hostname)
            add_hosts(column, note->weights[i], more, nodes, count, sums);
        else
            add_domains(column, note->weights[i], more, note->ids[i], count, sums);
    }
    for (unsigned n = 0; n < count; n++)
        scores[n] = note->ignored[n] ? 0 : (int64_t)round(sums[n]);
}

/* Whether all nodes of a domain have the same score: one constraint, not on
 * hostnames.
 */
static bool
is_by_domain(const struct score_note *note)
{
    return note->domain_counts != NULL && note->rules.count == 1
           && !note->rules.items[0].is_hostname;
}

static int64_t
normalize_spread(int64_t score, int64_t least, int64_t most)
{
    return most == 0 ? SCORE_MAX : SCORE_MAX * (most + least - score) / most;
}

void
spread_score(void *self, const struct cycle *c, const struct node_view *const *nodes,
             unsigned count, int64_t *scores)
{
    const struct score_note *note = cycle_get(c, &score_key);

    (void)self;
    if (note->domain_counts == NULL)
        for (unsigned n = 0; n < count; n++)
            scores[n] = score_one(note, c, nodes[n]);
    else if (is_by_domain(note))
        score_by_domain(note, count, scores);
    else
        score_by_rules(note, nodes, count, scores);
}

/* Normalizes once for each domain, because many nodes share few domains. */
static void
normalize_by_domain(const struct score_note *note, int64_t least, int64_t most, unsigned count,
                    int64_t *scores)
{
    const uint32_t *ids = note->ids[0];
    uint32_t n_ids = domain_counts_at(note->domain_counts, 0)->n_ids;
    CLEANUP_FREE int64_t *by_id = xnew_array(int64_t, n_ids + 1);

    for (unsigned i = 0; i < count; i++)
        by_id[ids[i]] = scores[i];
    for (uint32_t id = 1; id <= n_ids; id++)
        by_id[id] = normalize_spread(by_id[id], least, most);
    by_id[0] = 0;
    for (unsigned i = 0; i < count; i++)
        scores[i] = by_id[ids[i]];
}

void
spread_normalize(void *self, const struct cycle *c, const struct node_view *const *nodes,
                 unsigned count, int64_t *scores)
{
    const struct score_note *note = cycle_get(c, &score_key);
    int64_t least = INT64_MAX, most = 0;

    (void)self;
    for (unsigned i = 0; i < count; i++) {
        if (note->domain_counts != NULL ? note->ignored[i] : is_ignored(note, nodes[i])) {
            scores[i] = NOT_A_SCORE;
            continue;
        }
        if (scores[i] < least)
            least = scores[i];
        if (scores[i] > most)
            most = scores[i];
    }
    if (is_by_domain(note)) {
        normalize_by_domain(note, least, most, count, scores);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        scores[i] = scores[i] == NOT_A_SCORE ? 0 : normalize_spread(scores[i], least, most);
}
