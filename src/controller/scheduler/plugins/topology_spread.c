/* SPDX-License-Identifier: Apache-2.0 */
/* PodTopologySpread - pods of a kind evenly over zones, racks or nodes
 *
 * Extension points:  prefilter (with add and remove), filter, prescore, score
 * Arguments:         defaultConstraints, defaultingType (System, List)
 * Cycle state:       for each constraint, how many pods in which domain
 * Woken by:          a pod coming, going or being relabelled; a node joining,
 *                    leaving or being relabelled; the pod's tolerations
 *
 * Source: kube-scheduler, plugins/podtopologyspread.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/framework/taints.h"
#include "controller/scheduler/plugins/headcount.h"
#include "controller/scheduler/plugins/spread_rule.h"
#include "lib/api/meta.h"
#include "lib/api/node.h"
#include "lib/api/object.h"
#include "lib/api/pod.h"
#include "lib/api/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define MUST_SPREAD "DoNotSchedule"
#define MAY_SPREAD  "ScheduleAnyway"
#define NOT_A_SCORE INT64_C(-1)
#define HEADCOUNTS  64 /* kept at most */
#define ZONE_LABEL  "topology.kubernetes.io/zone"

struct spread {
    struct handle *handle;
    struct arena *arena;
    struct spread_defaults defaults;
    bool is_system; /* the defaults are those of the system */
    uint32_t no_label, uneven;
    struct headcounts *headcounts;
};

static const struct topology_spread system_defaults[] = {
    {.topology_key = LABEL_HOSTNAME,
     .when_unsatisfiable = MAY_SPREAD,
     .max_skew = 3},
    {.topology_key = ZONE_LABEL,
     .when_unsatisfiable = MAY_SPREAD,
     .max_skew = 5},
};

/* The pods in each domain of one rule. */
struct domain {
    char *value;
    int64_t pods;
};

/* The two domains with fewest pods, as upstream keeps them: after a change
 * the second is right as far as it was known before.
 */
struct critical {
    const char *value; /* NULL: none */
    int64_t pods;
};

struct domains {
    struct map *by_value; /* to struct domain */
    struct critical fewest[2];
};

/* Pods with rules of their own go by a headcount, kept between cycles and read
 * at once. Copies, on which pods come and go, and the default rules, which
 * look at services and owners, have domains of their own.
 */
struct filter_note {
    struct spread_rules rules;
    struct headcount *headcount; /* or NULL: these domains */
    struct domains domains[SPREAD_RULES];
    bool selects_itself[SPREAD_RULES];
    bool owns_rules; /* copies borrow them */
};

struct score_note {
    struct spread_rules rules;
    struct headcount *headcount;
    struct domains domains[SPREAD_RULES];
    double weights[SPREAD_RULES];
    bool requires_all; /* nodes without all labels score nothing */
};

static const char filter_key;
static const char score_key;

static const struct topology_spread *
read_defaults(struct arena *arena, const struct json *list, unsigned *ret_count)
{
    struct pod_spec *spec = arena_alloc(arena, sizeof(*spec));
    struct json *tree = json_object(arena);

    json_set(arena, tree, "topologySpreadConstraints", json_dup(arena, list));
    record_decode(&pod_spec_record, arena, tree, spec);
    *ret_count = spec->topology_spread.count;
    return spec->topology_spread.items;
}

static const struct field spread_args_fields[] = {
    OPAQUE_OBJECTS("defaultConstraints", topology_spread, 0),
    OPAQUE(STRING, "defaultingType", 0),
};
static OPAQUE_RECORD(spread_args, "PodTopologySpreadArgs");

static int
check_constraint(const struct json *c, unsigned at, struct error *err)
{
    const char *key = json_get_text(c, "topologyKey");
    const char *when = json_get_text(c, "whenUnsatisfiable");

    if (json_get_int(c, "maxSkew", 0) < 1)
        return error_set(err,
                         -EINVAL,
                         "defaultConstraints[%u].maxSkew must be above 0",
                         at);
    if (key == NULL || *key == '\0')
        return error_set(err,
                         -EINVAL,
                         "defaultConstraints[%u].topologyKey is missing",
                         at);
    if (when == NULL
        || (strcmp(when, "DoNotSchedule") != 0
            && strcmp(when, "ScheduleAnyway") != 0))
        return error_set(err,
                         -EINVAL,
                         "defaultConstraints[%u].whenUnsatisfiable must be "
                         "DoNotSchedule or ScheduleAnyway",
                         at);
    if (json_get(c, "labelSelector") != NULL)
        return error_set(err,
                         -EINVAL,
                         "defaultConstraints[%u].labelSelector cannot be set: "
                         "it comes from the pod's owner",
                         at);
    return 0;
}

static int
check_defaults(const char *type, const struct json *list, struct error *err)
{
    if (type != NULL && strcmp(type, "System") != 0
        && strcmp(type, "List") != 0)
        return error_set(err,
                         -EINVAL,
                         "defaultingType: \"%s\" is neither System nor List",
                         type);
    if ((type == NULL || strcmp(type, "System") == 0) && json_count(list) > 0)
        return error_set(err,
                         -EINVAL,
                         "defaultConstraints need defaultingType: List");
    for (uint32_t i = 0; i < json_count(list); i++)
        if (check_constraint(json_at(list, i), i, err) < 0)
            return -EINVAL;
    return 0;
}

static int
spread_make(struct handle *handle,
            const struct json *args,
            void **ret_self,
            struct error *err)
{
    struct spread *self;
    const char *type = json_get_text(args, "defaultingType");
    const struct json *list = json_get(args, "defaultConstraints");

    if (check_defaults(type, list, err) < 0)
        return -EINVAL;
    self = xnew(struct spread);
    self->handle = handle;
    self->headcounts = headcounts_new(HEADCOUNTS);
    self->arena = arena_new(0);
    if (type != NULL && strcmp(type, "List") == 0) {
        if (list != NULL)
            self->defaults.items =
                read_defaults(self->arena, list, &self->defaults.count);
    } else {
        self->is_system = true;
        self->defaults.items = system_defaults;
        self->defaults.count = ARRAY_SIZE(system_defaults);
    }
    self->no_label =
        handle_reason(handle,
                      "node(s) didn't match pod topology spread constraints "
                      "(missing required label)");
    self->uneven =
        handle_reason(handle,
                      "node(s) didn't match pod topology spread constraints");
    *ret_self = self;
    return 0;
}

static void
spread_drop(void *arg)
{
    struct spread *self = arg;

    headcounts_free(self->headcounts);
    arena_free(self->arena);
    free(self);
}

/* Domains */

static void
domains_init(struct domains *d)
{
    d->by_value = map_new();
    d->fewest[0] = d->fewest[1] = (struct critical){NULL, INT32_MAX};
}

static void
domains_fini(struct domains *d)
{
    size_t at = 0;
    void *value;

    while (map_next(d->by_value, &at, NULL, &value)) {
        free(((struct domain *)value)->value);
        free(value);
    }
    map_free(d->by_value);
}

static struct domain *
make_domain(struct domains *d, const char *value)
{
    struct domain *domain = map_find(d->by_value, value);

    if (domain != NULL)
        return domain;
    domain = xnew(struct domain);
    domain->value = xstrdup(value);
    map_put(d->by_value, value, domain);
    return domain;
}

static bool
is_of(const struct critical *c, const struct domain *domain)
{
    return c->value != NULL && strcmp(c->value, domain->value) == 0;
}

static void
update_fewest(struct domains *d, const struct domain *domain)
{
    struct critical *p = d->fewest;
    struct critical now = {domain->value, domain->pods};

    if (is_of(&p[0], domain) || is_of(&p[1], domain)) {
        p[is_of(&p[0], domain) ? 0 : 1].pods = domain->pods;
        if (p[0].pods > p[1].pods) {
            struct critical first = p[0];

            p[0] = p[1];
            p[1] = first;
        }
    } else if (domain->pods < p[0].pods) {
        p[1] = p[0];
        p[0] = now;
    } else if (domain->pods < p[1].pods) {
        p[1] = now;
    }
}

static void
find_fewest(struct domains *d)
{
    size_t at = 0;
    void *value;

    while (map_next(d->by_value, &at, NULL, &value))
        update_fewest(d, value);
}

static void
domains_copy(struct domains *to, const struct domains *from)
{
    size_t at = 0;
    void *value;

    domains_init(to);
    while (map_next(from->by_value, &at, NULL, &value)) {
        const struct domain *domain = value;

        make_domain(to, domain->value)->pods = domain->pods;
    }
    for (unsigned i = 0; i < 2; i++) {
        to->fewest[i].pods = from->fewest[i].pods;
        if (from->fewest[i].value != NULL)
            to->fewest[i].value = make_domain(to, from->fewest[i].value)->value;
    }
}

/* Headcounts */

/* What they are of. */
struct census {
    const struct spread_rules *rules;
    const struct pod_view *pod;
    bool is_for_score;
};

static void
count_into(struct headcount *h, const struct node_view *node, void *context)
{
    const struct census *census = context;
    const struct spread_rules *rules = census->rules;
    bool is_covered = spread_rules_cover(rules, &node->node->meta.labels);

    for (unsigned i = 0; i < rules->count; i++) {
        const struct spread_rule *rule = &rules->items[i];
        unsigned column = headcount_column(h, (int)i, rule->topology_key);

        /* Nodes themselves count as they are when they are scored. */
        if (!is_covered
            || (!(census->is_for_score && rule->is_hostname)
                && !spread_rule_includes(rule, census->pod, node)))
            continue;
        headcount_include(h, column, node);
        headcount_add(h,
                      column,
                      node,
                      spread_rule_count(rule, node, census->pod->namespace));
    }
}

static struct headcount *
take_headcount(const struct spread *me,
               const struct cycle *c,
               const struct spread_rules *rules,
               bool is_for_score)
{
    CLEANUP_STRBUF struct strbuf key = STRBUF_INIT;
    struct census census = {rules, c->pod, is_for_score};
    struct headcount *h;

    if (c->pod->pod->spec.topology_spread.count == 0
        || c->snapshot->n_nodes == 0)
        return NULL;
    strbuf_add_text(&key, is_for_score ? "score " : "filter ");
    spread_rules_sign(rules, c->pod, &key);
    h = headcounts_get(me->headcounts, key.text);
    headcount_update(h, c->snapshot, 0, count_into, &census);
    return h;
}

/* Filtering */

static void
filter_note_free(void *value)
{
    struct filter_note *note = value;

    for (unsigned i = 0; i < note->rules.count && note->headcount == NULL; i++)
        domains_fini(&note->domains[i]);
    if (note->owns_rules)
        spread_rules_fini(&note->rules);
    free(note);
}

static void
domains_of_column(struct domains *d, const struct headcount_column *column)
{
    domains_init(d);
    for (uint32_t id = 1; id <= column->n_ids; id++)
        if (column->members[id] > 0)
            make_domain(d, column->values[id])->pods = column->sums[id];
    find_fewest(d);
}

static void *
filter_note_dup(const void *value)
{
    const struct filter_note *note = value;
    struct filter_note *copy = xmemdup(note, sizeof(*note));

    copy->owns_rules = false;
    copy->headcount = NULL;
    for (unsigned i = 0; i < note->rules.count; i++)
        if (note->headcount != NULL)
            domains_of_column(&copy->domains[i],
                              headcount_at(note->headcount, i));
        else
            domains_copy(&copy->domains[i], &note->domains[i]);
    return copy;
}

static void
count_node(struct filter_note *note,
           const struct cycle *c,
           const struct node_view *node)
{
    const struct string_map *labels = &node->node->meta.labels;

    if (!spread_rules_cover(&note->rules, labels))
        return;
    for (unsigned i = 0; i < note->rules.count; i++) {
        const struct spread_rule *rule = &note->rules.items[i];

        if (!spread_rule_includes(rule, c->pod, node))
            continue;
        make_domain(&note->domains[i],
                    string_map_find(labels, rule->topology_key))
            ->pods += spread_rule_count(rule, node, c->pod->namespace);
    }
}

static void
count_domains(struct filter_note *note, const struct cycle *c)
{
    for (unsigned i = 0; i < note->rules.count; i++)
        domains_init(&note->domains[i]);
    for (uint32_t i = 0; i < c->snapshot->n_nodes; i++)
        count_node(note, c, c->snapshot->nodes[i]);
    for (unsigned i = 0; i < note->rules.count; i++)
        find_fewest(&note->domains[i]);
}

static enum verdict
spread_prefilter(void *self,
                 struct cycle *c,
                 struct narrowing *ret_narrowing,
                 uint32_t *ret_reason)
{
    const struct spread *me = self;
    struct filter_note *note = xnew(struct filter_note);

    (void)ret_narrowing, (void)ret_reason;
    note->owns_rules = true;
    spread_rules_init(&note->rules,
                      me->handle,
                      c->pod,
                      &me->defaults,
                      MUST_SPREAD);
    if (note->rules.count == 0) {
        spread_rules_fini(&note->rules);
        free(note);
        return VERDICT_SKIP;
    }
    for (unsigned i = 0; i < note->rules.count; i++)
        note->selects_itself[i] =
            spread_rule_selects(&note->rules.items[i],
                                &c->pod->pod->meta.labels);
    note->headcount = take_headcount(me, c, &note->rules, false);
    if (note->headcount == NULL)
        count_domains(note, c);
    cycle_put(c, &filter_key, note, filter_note_free, filter_note_dup);
    return VERDICT_OK;
}

static void
change_pod(struct cycle *c,
           const struct pod_view *other,
           const struct node_view *node,
           int64_t by)
{
    struct filter_note *note = cycle_get(c, &filter_key);
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
        domain = make_domain(&note->domains[i],
                             string_map_find(labels, rule->topology_key));
        domain->pods += by;
        update_fewest(&note->domains[i], domain);
    }
}

static void
spread_add_pod(void *self,
               struct cycle *c,
               const struct pod_view *other,
               const struct node_view *node)
{
    (void)self;
    change_pod(c, other, node, 1);
}

static void
spread_remove_pod(void *self,
                  struct cycle *c,
                  const struct pod_view *other,
                  const struct node_view *node)
{
    (void)self;
    change_pod(c, other, node, -1);
}

static int64_t
fewest_pods(const struct domains *d, const struct spread_rule *rule)
{
    return (int64_t)map_count(d->by_value) < rule->min_domains
               ? 0
               : d->fewest[0].pods;
}

static struct answer
answer_by_domains(const struct spread *me,
                  const struct filter_note *note,
                  const struct node_view *node)
{
    for (unsigned i = 0; i < note->rules.count; i++) {
        const struct spread_rule *rule = &note->rules.items[i];
        const char *value =
            string_map_find(&node->node->meta.labels, rule->topology_key);
        const struct domain *domain;

        if (value == NULL)
            return (struct answer){.verdict = VERDICT_NEVER,
                                   .reason = me->no_label};
        domain = map_find(note->domains[i].by_value, value);
        if ((domain != NULL ? domain->pods : 0) + note->selects_itself[i]
                - fewest_pods(&note->domains[i], rule)
            > rule->max_skew)
            return (struct answer){.verdict = VERDICT_REJECT,
                                   .reason = me->uneven};
    }
    return ANSWER_OK;
}

/* One rule, over the nodes that have passed those before it. */
static void
filter_by_column(const struct spread *me,
                 const struct spread_rule *rule,
                 bool selects_itself,
                 struct headcount_column *column,
                 const struct node_view *const *nodes,
                 unsigned count,
                 struct answer *answers)
{
    int64_t fewest = (int64_t)column->n_inhabited < rule->min_domains
                         ? 0
                         : headcount_least(column);
    int64_t most = rule->max_skew + fewest - selects_itself;

    for (unsigned n = 0; n < count; n++) {
        uint32_t id = column->ids[nodes[n]->slot];

        if (answers[n].verdict != VERDICT_OK)
            continue;
        if (id == 0)
            answers[n] = (struct answer){.verdict = VERDICT_NEVER,
                                         .reason = me->no_label};
        else if (column->sums[id] > most)
            answers[n] = (struct answer){.verdict = VERDICT_REJECT,
                                         .reason = me->uneven};
    }
}

static void
spread_filter(void *self,
              const struct cycle *c,
              const struct node_view *const *nodes,
              unsigned count,
              struct answer *answers)
{
    const struct spread *me = self;
    const struct filter_note *note = cycle_get(c, &filter_key);

    if (note->headcount == NULL) {
        for (unsigned n = 0; n < count; n++)
            answers[n] = answer_by_domains(me, note, nodes[n]);
        return;
    }
    for (unsigned i = 0; i < note->rules.count; i++)
        filter_by_column(me,
                         &note->rules.items[i],
                         note->selects_itself[i],
                         headcount_at(note->headcount, i),
                         nodes,
                         count,
                         answers);
}

/* Scoring */

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
            make_domain(&note->domains[rule],
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

static enum verdict
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
    note->headcount = take_headcount(me, c, &note->rules, true);
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

static void
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

static void
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

/* Hints */

static bool
selects_any(const struct spread_rules *rules, const struct object *pod)
{
    for (unsigned i = 0; i < rules->count; i++)
        if (spread_rule_selects(&rules->items[i], &pod->meta->labels))
            return true;
    return false;
}

static bool
honors_taints(const struct spread_rules *rules)
{
    for (unsigned i = 0; i < rules->count; i++)
        if (rules->items[i].honors_taints)
            return true;
    return false;
}

static bool
same_labels(const struct string_map *a, const struct string_map *b)
{
    if (a->count != b->count)
        return false;
    for (unsigned i = 0; i < a->count; i++) {
        const char *value = string_map_find(b, a->items[i].key);

        if (value == NULL || strcmp(value, a->items[i].value) != 0)
            return false;
    }
    return true;
}

static bool
relabelled(const struct spread_rules *rules,
           const struct object *a,
           const struct object *b)
{
    if (same_labels(&a->meta->labels, &b->meta->labels))
        return false;
    for (unsigned i = 0; i < rules->count; i++)
        if (spread_rule_selects(&rules->items[i], &a->meta->labels)
            != spread_rule_selects(&rules->items[i], &b->meta->labels))
            return true;
    return false;
}

static bool
is_elsewhere(const struct object *other, const struct pod_view *pod)
{
    return other != NULL
           && strcmp(other->meta->namespace != NULL ? other->meta->namespace
                                                    : "",
                     pod->namespace)
                  != 0;
}

static bool
pod_hint(void *self,
         const struct pod_view *pod,
         const struct object *a,
         const struct object *b)
{
    const struct spread *me = self;
    struct spread_rules rules;
    bool helps;

    if (is_elsewhere(a, pod) || is_elsewhere(b, pod))
        return false;
    spread_rules_init(&rules, me->handle, pod, &me->defaults, MUST_SPREAD);
    if (a != NULL && b != NULL)
        helps = relabelled(&rules, a, b);
    else
        helps = selects_any(&rules, b != NULL ? b : a);
    spread_rules_fini(&rules);
    return helps;
}

static bool
tolerations_hint(void *self,
                 const struct pod_view *pod,
                 const struct object *a,
                 const struct object *b)
{
    const struct spread *me = self;
    struct spread_rules rules;
    bool helps;

    if (a == NULL || b == NULL || !pod_view_is_of(pod, b))
        return false;
    spread_rules_init(&rules, me->handle, pod, &me->defaults, MUST_SPREAD);
    helps = honors_taints(&rules);
    spread_rules_fini(&rules);
    return helps;
}

static bool
has_other_values(const struct spread_rules *rules,
                 const struct object *a,
                 const struct object *b)
{
    for (unsigned i = 0; i < rules->count; i++) {
        const char *key = rules->items[i].topology_key;

        if (strcmp(string_map_find(&a->meta->labels, key),
                   string_map_find(&b->meta->labels, key))
            != 0)
            return true;
    }
    return false;
}

static bool
node_hint(void *self,
          const struct pod_view *pod,
          const struct object *a,
          const struct object *b)
{
    const struct spread *me = self;
    struct spread_rules rules;
    bool before, after, helps;

    spread_rules_init(&rules, me->handle, pod, &me->defaults, MUST_SPREAD);
    before = a != NULL && spread_rules_cover(&rules, &a->meta->labels);
    after = b != NULL && spread_rules_cover(&rules, &b->meta->labels);
    if (b == NULL)
        helps = before;
    else
        helps =
            before != after
            || (before && after
                && (has_other_values(&rules, a, b)
                    || !taints_equal(&node_of(a)->spec, &node_of(b)->spec)));
    spread_rules_fini(&rules);
    return helps;
}

static const struct wake wakes[] = {
    {EVENT_POD, ACTION_ADD | ACTION_DELETE | ACTION_UPDATE_POD_LABEL, pod_hint},
    {EVENT_POD, ACTION_UPDATE_POD_TOLERATIONS, tolerations_hint},
    {EVENT_NODE,
     ACTION_ADD | ACTION_DELETE | ACTION_UPDATE_NODE_LABEL
         | ACTION_UPDATE_NODE_TAINT,
     node_hint},
};

const struct plugin topology_spread_plugin = {
    .name = "PodTopologySpread",
    .args = &spread_args_record,
    .default_args = "{\"defaultingType\":\"System\"}",
    .make = spread_make,
    .drop = spread_drop,
    .depends_on_others = true,
    .prefilter = spread_prefilter,
    .add_pod = spread_add_pod,
    .remove_pod = spread_remove_pod,
    .filter = spread_filter,
    .prescore = spread_prescore,
    .score = spread_score,
    .normalization = NORMALIZE_CUSTOM,
    .normalize = spread_normalize,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
