/* SPDX-License-Identifier: Apache-2.0 */
/* The filter of PodTopologySpread. */
#include <string.h>

#include "controller/scheduler/plugins/pods/spread_domains.h"
#include "controller/scheduler/plugins/pods/topology_spread.h"
#include "lib/api/node/node.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

/* The result of prefilter. For a pod with constraints of its own, domain counts
 * that are kept between cycles. Copies, where pods are added and removed, and
 * the default constraints, which depend on services and owners, use `domains`.
 */
struct spread_note {
    struct spread_rules rules;
    struct domain_counts *domain_counts; /* NULL: `domains` is used */
    struct domains domains[SPREAD_RULES];
    bool selects_itself[SPREAD_RULES];
    bool owns_rules; /* false in copies, which borrow them */
};

static const char filter_key;

static void
filter_note_free(void *value)
{
    struct spread_note *note = value;

    for (unsigned i = 0; i < note->rules.count && note->domain_counts == NULL; i++)
        spread_domains_fini(&note->domains[i]);
    if (note->owns_rules)
        spread_rules_fini(&note->rules);
    free(note);
}

/* Frees a note that has no counts yet. */
static void
drop_note(struct spread_note *note)
{
    spread_rules_fini(&note->rules);
    free(note);
}

static void
domains_of_column(struct domains *d, const struct domain_column *column)
{
    spread_domains_init(d);
    for (uint32_t id = 1; id <= column->n_ids; id++)
        if (column->members[id] > 0)
            spread_domains_make(d, column->values[id])->pods = column->sums[id];
    spread_domains_settle(d);
}

static void *
filter_note_dup(const void *value)
{
    const struct spread_note *note = value;
    struct spread_note *copy = xmemdup(note, sizeof(*note));

    copy->owns_rules = false;
    copy->domain_counts = NULL;
    for (unsigned i = 0; i < note->rules.count; i++)
        if (note->domain_counts != NULL)
            domains_of_column(&copy->domains[i], domain_counts_at(note->domain_counts, i));
        else
            spread_domains_copy(&copy->domains[i], &note->domains[i]);
    return copy;
}

static void
count_node(struct spread_note *note, const struct cycle *c, const struct node_view *node)
{
    const struct string_map *labels = &node->node->meta.labels;

    if (!spread_rules_cover(&note->rules, labels))
        return;
    for (unsigned i = 0; i < note->rules.count; i++) {
        const struct spread_rule *rule = &note->rules.items[i];

        if (!spread_rule_includes(rule, c->pod, node))
            continue;
        spread_domains_make(&note->domains[i], string_map_find(labels, rule->topology_key))->pods +=
            spread_rule_count(rule, node, c->pod->namespace);
    }
}

static void
count_domains(struct spread_note *note, const struct cycle *c)
{
    for (unsigned i = 0; i < note->rules.count; i++)
        spread_domains_init(&note->domains[i]);
    for (uint32_t i = 0; i < c->snapshot->n_nodes; i++)
        count_node(note, c, c->snapshot->nodes[i]);
    for (unsigned i = 0; i < note->rules.count; i++)
        spread_domains_settle(&note->domains[i]);
}

enum verdict
spread_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                 uint32_t *ret_reason)
{
    const struct spread *me = self;
    struct spread_rules rules;
    struct spread_note *note;

    (void)ret_result;
    spread_rules_init(&rules, me->handle, c->pod, &me->defaults, MUST_SPREAD);
    if (rules.count == 0) {
        spread_rules_fini(&rules);
        return VERDICT_SKIP;
    }
    note = xnew(struct spread_note);
    note->owns_rules = true;
    note->rules = rules;
    if (note->rules.is_cut) {
        drop_note(note);
        *ret_reason = me->too_many;
        return VERDICT_NEVER;
    }
    for (unsigned i = 0; i < note->rules.count; i++)
        note->selects_itself[i] =
            spread_rule_selects(&note->rules.items[i], &c->pod->pod->meta.labels);
    note->domain_counts = spread_domain_counts(me, c, &note->rules, false);
    if (note->domain_counts == NULL)
        count_domains(note, c);
    cycle_put(c, &filter_key, note, filter_note_free, filter_note_dup);
    return VERDICT_OK;
}

static void
change_pod(struct cycle *c, const struct pod_view *other, const struct node_view *node, int64_t by)
{
    struct spread_note *note = cycle_get(c, &filter_key);
    const struct string_map *labels = &node->node->meta.labels;

    if (strcmp(other->namespace, c->pod->namespace) != 0
        || !spread_rules_cover(&note->rules, labels))
        return;
    for (unsigned i = 0; i < note->rules.count; i++) {
        const struct spread_rule *rule = &note->rules.items[i];
        struct domain *domain;

        if (!spread_rule_selects(rule, &other->pod->meta.labels)
            || !spread_rule_includes(rule, c->pod, node))
            continue;
        domain =
            spread_domains_make(&note->domains[i], string_map_find(labels, rule->topology_key));
        domain->pods += by;
        spread_domains_changed(&note->domains[i], domain);
    }
}

void
spread_add_pod(void *self, struct cycle *c, const struct pod_view *other, struct node_view *node)
{
    (void)self;
    change_pod(c, other, node, 1);
}

void
spread_remove_pod(void *self, struct cycle *c, const struct pod_view *other,
                  const struct node_view *node)
{
    (void)self;
    change_pod(c, other, node, -1);
}

static int64_t
fewest_pods(const struct domains *d, const struct spread_rule *rule)
{
    return (int64_t)map_count(d->by_value) < rule->min_domains ? 0 : d->fewest[0].pods;
}

static struct answer
answer_by_domains(const struct spread *me, const struct spread_note *note,
                  const struct node_view *node)
{
    for (unsigned i = 0; i < note->rules.count; i++) {
        const struct spread_rule *rule = &note->rules.items[i];
        const char *value = string_map_find(&node->node->meta.labels, rule->topology_key);
        const struct domain *domain;

        if (value == NULL)
            return (struct answer){.verdict = VERDICT_NEVER, .reason = me->no_label};
        domain = map_find(note->domains[i].by_value, value);
        if ((domain != NULL ? domain->pods : 0) + note->selects_itself[i]
                - fewest_pods(&note->domains[i], rule)
            > rule->max_skew)
            return (struct answer){.verdict = VERDICT_REJECT, .reason = me->uneven};
    }
    return ANSWER_OK;
}

/* Filters by one constraint the nodes that have passed those before. */
static void
filter_by_column(const struct spread *me, const struct spread_rule *rule, bool selects_itself,
                 struct domain_column *column, const struct node_view *const *nodes, unsigned count,
                 struct answer *answers)
{
    int64_t fewest =
        (int64_t)column->n_inhabited < rule->min_domains ? 0 : domain_counts_least(column);
    int64_t most = rule->max_skew + fewest - selects_itself;

    for (unsigned n = 0; n < count; n++) {
        uint32_t id = column->ids[nodes[n]->slot];

        if (answers[n].verdict != VERDICT_OK)
            continue;
        if (id == 0)
            answers[n] = (struct answer){.verdict = VERDICT_NEVER, .reason = me->no_label};
        else if (column->sums[id] > most)
            answers[n] = (struct answer){.verdict = VERDICT_REJECT, .reason = me->uneven};
    }
}

void
spread_filter(void *self, const struct cycle *c, const struct node_view *const *nodes,
              unsigned count, struct answer *answers)
{
    const struct spread *me = self;
    const struct spread_note *note = cycle_get(c, &filter_key);

    if (note->domain_counts == NULL) {
        for (unsigned n = 0; n < count; n++)
            answers[n] = answer_by_domains(me, note, nodes[n]);
        return;
    }
    for (unsigned i = 0; i < note->rules.count; i++)
        filter_by_column(me, &note->rules.items[i], note->selects_itself[i],
                         domain_counts_at(note->domain_counts, i), nodes, count, answers);
}
