/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes a pod's rules like best. */
#include <math.h>
#include <string.h>

#include "controller/scheduler/plugins/spread_domains.h"
#include "controller/scheduler/plugins/topology_spread.h"
#include "lib/api/meta.h"
#include "lib/api/node.h"
#include "lib/api/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

#define NOT_A_SCORE INT64_C(-1)

struct score_note {
    struct spread_rules rules;
    struct headcount *headcount;
    struct domains domains[SPREAD_RULES];
    double weights[SPREAD_RULES];
    bool requires_all; /* nodes without all labels score nothing */
};

static const char score_key;

static void
score_note_free(void *value)
{
    struct score_note *note = value;

    for (unsigned i = 0; i < note->rules.count && note->headcount == NULL; i++)
        domains_fini(&note->domains[i]);
    spread_rules_fini(&note->rules);
    free(note);
}

static bool
is_ignored(const struct score_note *note, const struct node_view *node)
{
    if (note->headcount == NULL)
        return note->requires_all
               && !spread_rules_cover(&note->rules, &node->node->meta.labels);
    for (unsigned i = 0; i < note->rules.count; i++)
        if (headcount_at(note->headcount, i)->ids[node->slot] == 0)
            return true;
    return false;
}

static const char *
value_of(const struct node_view *node, const struct spread_rule *rule)
{
    const char *value =
        string_map_find(&node->node->meta.labels, rule->topology_key);

    return value != NULL ? value : "";
}

/* How many domains the candidates are in, for a column. */
static size_t
count_candidates(const struct score_note *note,
                 const struct headcount_column *column,
                 const struct node_view *const *nodes,
                 unsigned count)
{
    CLEANUP_FREE bool *is_seen = xnew_array(bool, column->n_ids + 1);
    size_t domains = 0;

    for (unsigned n = 0; n < count; n++) {
        uint32_t id = column->ids[nodes[n]->slot];

        if (is_seen[id] || is_ignored(note, nodes[n]))
            continue;
        is_seen[id] = true;
        domains++;
    }
    return domains;
}

static size_t
make_candidates(struct score_note *note,
                unsigned rule,
                const struct node_view *const *nodes,
                unsigned count)
{
    for (unsigned n = 0; n < count; n++)
        if (!is_ignored(note, nodes[n]))
            domains_make(&note->domains[rule],
                         value_of(nodes[n], &note->rules.items[rule]));
    return map_count(note->domains[rule].by_value);
}

/* The domains of the candidates; nodes themselves are counted when they are
 * scored. A constraint weighs more the more domains there are.
 */
static void
find_domains(struct score_note *note,
             const struct node_view *const *nodes,
             unsigned count)
{
    unsigned ignored = 0;

    for (unsigned n = 0; n < count; n++)
        ignored += is_ignored(note, nodes[n]);
    for (unsigned i = 0; i < note->rules.count; i++) {
        size_t size;

        if (note->rules.items[i].is_hostname)
            size = count - ignored;
        else if (note->headcount != NULL)
            size = count_candidates(note,
                                    headcount_at(note->headcount, i),
                                    nodes,
                                    count);
        else
            size = make_candidates(note, i, nodes, count);
        note->weights[i] = log((double)(size + 2));
    }
}

static void
count_for_score(struct score_note *note,
                const struct cycle *c,
                const struct node_view *node)
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
spread_prescore(void *self,
                struct cycle *c,
                const struct node_view *const *nodes,
                unsigned count)
{
    const struct spread *me = self;
    struct score_note *note = xnew(struct score_note);

    spread_rules_init(&note->rules,
                      me->handle,
                      c->pod,
                      &me->defaults,
                      MAY_SPREAD);
    if (note->rules.count == 0) {
        spread_rules_fini(&note->rules);
        free(note);
        return VERDICT_SKIP;
    }
    note->requires_all =
        c->pod->pod->spec.topology_spread.count > 0 || !me->is_system;
    note->headcount = spread_headcount(me, c, &note->rules, true);
    for (unsigned i = 0; i < note->rules.count && note->headcount == NULL; i++)
        domains_init(&note->domains[i]);
    find_domains(note, nodes, count);
    for (uint32_t i = 0; i < c->snapshot->n_nodes && note->headcount == NULL;
         i++)
        count_for_score(note, c, c->snapshot->nodes[i]);
    cycle_put(c, &score_key, note, score_note_free, NULL);
    return VERDICT_OK;
}

/* How many pods there are where the node is; -1: it is nowhere. */
static int64_t
pods_beside(const struct score_note *note,
            unsigned rule,
            const struct cycle *c,
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
score_one(const struct score_note *note,
          const struct cycle *c,
          const struct node_view *node)
{
    double score = 0;

    if (is_ignored(note, node))
        return 0;
    for (unsigned i = 0; i < note->rules.count; i++) {
        int64_t pods = pods_beside(note, i, c, node);

        if (pods >= 0)
            score += (double)pods * note->weights[i]
                     + (double)(note->rules.items[i].max_skew - 1);
    }
    return (int64_t)round(score);
}

/* Of one rule, added to those of the others. */
static void
add_column(const struct headcount_column *column,
           const struct spread_rule *rule,
           double weight,
           const struct node_view *const *nodes,
           unsigned count,
           double *sums)
{
    double more = (double)(rule->max_skew - 1);

    for (unsigned n = 0; n < count; n++) {
        uint32_t slot = nodes[n]->slot;
        int64_t pods = rule->is_hostname ? column->counts[slot]
                                         : column->sums[column->ids[slot]];

        sums[n] += (double)pods * weight + more;
    }
}

#define SCORE_BATCH 256u

static void
score_batch(const struct score_note *note,
            const struct node_view *const *nodes,
            unsigned count,
            int64_t *scores)
{
    double sums[SCORE_BATCH] = {0};

    for (unsigned i = 0; i < note->rules.count; i++)
        add_column(headcount_at(note->headcount, i),
                   &note->rules.items[i],
                   note->weights[i],
                   nodes,
                   count,
                   sums);
    for (unsigned n = 0; n < count; n++)
        scores[n] = is_ignored(note, nodes[n]) ? 0 : (int64_t)round(sums[n]);
}

void
spread_score(void *self,
             const struct cycle *c,
             const struct node_view *const *nodes,
             unsigned count,
             int64_t *scores)
{
    const struct score_note *note = cycle_get(c, &score_key);

    (void)self;
    if (note->headcount == NULL) {
        for (unsigned n = 0; n < count; n++)
            scores[n] = score_one(note, c, nodes[n]);
        return;
    }
    for (unsigned at = 0; at < count; at += SCORE_BATCH)
        score_batch(note,
                    nodes + at,
                    count - at < SCORE_BATCH ? count - at : SCORE_BATCH,
                    scores + at);
}

void
spread_normalize(void *self,
                 const struct cycle *c,
                 const struct node_view *const *nodes,
                 unsigned count,
                 int64_t *scores)
{
    const struct score_note *note = cycle_get(c, &score_key);
    int64_t least = INT64_MAX, most = 0;

    (void)self;
    for (unsigned i = 0; i < count; i++) {
        if (is_ignored(note, nodes[i])) {
            scores[i] = NOT_A_SCORE;
            continue;
        }
        if (scores[i] < least)
            least = scores[i];
        if (scores[i] > most)
            most = scores[i];
    }
    for (unsigned i = 0; i < count; i++) {
        if (scores[i] == NOT_A_SCORE)
            scores[i] = 0;
        else if (most == 0)
            scores[i] = SCORE_MAX;
        else
            scores[i] = SCORE_MAX * (most + least - scores[i]) / most;
    }
}
