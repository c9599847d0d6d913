/* SPDX-License-Identifier: Apache-2.0 */
/* The filter of InterPodAffinity. */
#include <string.h>

#include "controller/scheduler/plugins/pods/interpod_affinity.h"
#include "controller/scheduler/plugins/pods/interpod_counts.h"
#include "lib/api/node/node.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/selector.h"
#include "lib/base/alloc.h"

/* The result of prefilter: domain counts that are kept between cycles or, in
 * copies where pods are added and removed, counts of their own.
 */
struct interpod_note {
    struct affinity_term *affinity, *anti;
    unsigned n_affinity, n_anti;
    struct domain_counts *domain_counts; /* NULL: `counts` is used */
    struct interpod_counts *counts[SCORE];
    bool is_first; /* see is_first_of_its_like; only with domain_counts */
};

static const char filter_key;

/* The plugin and the pod that nodes are counted for. */
struct filter_query {
    const struct interpod *me;
    const struct pod_view *pod;
    const struct interpod_note *note;
    uint64_t affinity_bits; /* label bits that a matching pod has */
    uint64_t anti_bits;
};

static void
filter_note_free(void *value)
{
    struct interpod_note *note = value;

    free(note->affinity);
    free(note->anti);
    for (unsigned i = 0; i < SCORE; i++)
        interpod_counts_free(note->counts[i]);
    free(note);
}

static void
copy_domain_counts(struct interpod_note *note, const struct domain_counts *d)
{
    for (unsigned i = 0; i < SCORE; i++)
        note->counts[i] = interpod_counts_new();
    for (unsigned i = 0; d != NULL && i < domain_counts_columns(d); i++) {
        const struct domain_column *c = domain_counts_at(d, i);

        for (uint32_t id = 1; id <= c->n_ids; id++)
            if (c->sums[id] != 0)
                interpod_counts_add_pair(note->counts[c->purpose], c->label, c->values[id],
                                         c->sums[id]);
    }
}

static void *
filter_note_dup(const void *value)
{
    const struct interpod_note *note = value;
    struct interpod_note *copy = xmemdup(note, sizeof(*note));
    size_t size = sizeof(struct affinity_term);

    if (note->affinity != NULL)
        copy->affinity = xmemdup(note->affinity, note->n_affinity * size);
    if (note->anti != NULL)
        copy->anti = xmemdup(note->anti, note->n_anti * size);
    copy->domain_counts = NULL;
    if (note->domain_counts != NULL)
        copy_domain_counts(copy, note->domain_counts);
    else
        for (unsigned i = 0; i < SCORE; i++)
            copy->counts[i] = interpod_counts_dup(note->counts[i]);
    return copy;
}

/* Adds to a count of domain_counts or of interpod_counts. */
typedef void found_fn(void *where, enum interpod_purpose purpose, const char *label, int64_t by);

/* Counts one pod of a node, with `by` 1, or removes it, with -1. */
static void
count_pod(const struct interpod *me, const struct interpod_note *note, const struct pod_view *other,
          int64_t by, found_fn *found, void *where)
{
    const struct string_map *ns = namespace_labels(me->handle, other);

    if (affinity_term_matches_all(note->affinity, note->n_affinity, other, ns))
        for (unsigned i = 0; i < note->n_affinity; i++)
            found(where, MATCHING, note->affinity[i].term->topology_key, by);
    for (unsigned i = 0; i < note->n_anti; i++)
        if (affinity_term_matches(&note->anti[i], other, ns))
            found(where, UNWANTED, note->anti[i].term->topology_key, by);
}

static void
count_unwelcoming(const struct interpod *me, const struct pod_view *pod,
                  const struct pod_view *other, int64_t by, found_fn *found, void *where)
{
    const struct string_map *ns = namespace_labels_or_none(me->handle, pod);
    struct affinity_term term;

    if (!interpod_concerns(me, other, pod))
        return;
    for (unsigned i = 0; affinity_term_at(other, ANTI_AFFINITY_REQUIRED, i, &term); i++)
        if (affinity_term_matches(&term, pod, ns))
            found(where, UNWELCOMING, term.term->topology_key, by);
}

static void
add_to_domain_counts(void *where, enum interpod_purpose purpose, const char *label, int64_t by)
{
    const struct counted_node *counted = where;
    unsigned column = domain_counts_column(counted->domain_counts, (int)purpose, label);

    domain_counts_include(counted->domain_counts, column, counted->node);
    domain_counts_add(counted->domain_counts, column, counted->node, by);
}

static bool
may_matter(const struct filter_query *query, uint64_t bits)
{
    const struct interpod_note *note = query->note;

    return (note->n_affinity > 0 && (bits & query->affinity_bits) == query->affinity_bits)
           || (note->n_anti > 0 && (bits & query->anti_bits) == query->anti_bits);
}

static void
count_into(struct domain_counts *d, const struct node_view *node, void *context)
{
    const struct filter_query *query = context;
    const struct interpod_note *note = query->note;
    const struct pod_list *unwelcoming = &node->with_required_anti_affinity;
    struct counted_node counted = {d, node};

    /* Creates the columns of all affinity terms, because a node must have their
     * labels even where nothing is counted.
     */
    for (unsigned i = 0; i < note->n_affinity; i++)
        (void)domain_counts_column(d, MATCHING, note->affinity[i].term->topology_key);
    for (uint32_t i = 0; i < unwelcoming->count; i++)
        count_unwelcoming(query->me, query->pod, unwelcoming->items[i], 1, add_to_domain_counts,
                          &counted);
    if (note->n_affinity == 0 && note->n_anti == 0)
        return;
    for (uint32_t i = 0; i < node->pods.count; i++)
        if (may_matter(query, node->pods.label_bits[i]))
            count_pod(query->me, note, node->pods.items[i], 1, add_to_domain_counts, &counted);
}

/* A pod matters to affinity only if it matches all terms, and to anti-affinity
 * if it matches any, so the bits of all terms are combined by OR, or by AND.
 */
static struct filter_query
make_query(const struct interpod *me, const struct pod_view *pod, const struct interpod_note *note)
{
    struct filter_query query = {me, pod, note, 0, ~UINT64_C(0)};

    for (unsigned i = 0; i < note->n_affinity; i++)
        query.affinity_bits |= label_selector_bits(note->affinity[i].term->label_selector);
    for (unsigned i = 0; i < note->n_anti; i++)
        query.anti_bits &= label_selector_bits(note->anti[i].term->label_selector);
    return query;
}

static bool
has_any(const struct domain_counts *d, enum interpod_purpose purpose)
{
    for (unsigned i = 0; i < domain_counts_columns(d); i++)
        if (domain_counts_at(d, i)->purpose == (int)purpose
            && domain_counts_at(d, i)->n_not_zero > 0)
            return true;
    return false;
}

enum verdict
interpod_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                   uint32_t *ret_reason)
{
    const struct interpod *me = self;
    struct interpod_note *note;
    struct filter_query query;

    (void)ret_result, (void)ret_reason;
    if (!c->pod->has_affinity && c->snapshot->n_with_required_anti_affinity == 0)
        return VERDICT_SKIP;
    note = xnew(struct interpod_note);
    note->affinity = affinity_terms(c->pod, AFFINITY_REQUIRED, &note->n_affinity);
    note->anti = affinity_terms(c->pod, ANTI_AFFINITY_REQUIRED, &note->n_anti);
    note->domain_counts = interpod_domain_counts(me, c->pod, 'F');
    query = make_query(me, c->pod, note);
    domain_counts_update(note->domain_counts, c->snapshot, me->handle->namespaces_version,
                         count_into, &query);
    if (!has_any(note->domain_counts, UNWELCOMING) && note->n_affinity == 0 && note->n_anti == 0) {
        filter_note_free(note);
        return VERDICT_SKIP;
    }
    note->is_first = !has_any(note->domain_counts, MATCHING)
                     && affinity_term_matches_all(note->affinity, note->n_affinity, c->pod,
                                                  namespace_labels(me->handle, c->pod));
    cycle_put(c, &filter_key, note, filter_note_free, filter_note_dup);
    return VERDICT_OK;
}

struct tallied {
    struct interpod_note *note;
    const struct string_map *labels;
};

static void
add_to_interpod_counts(void *where, enum interpod_purpose purpose, const char *label, int64_t by)
{
    const struct tallied *t = where;

    interpod_counts_add(t->note->counts[purpose], t->labels, label, by);
}

static void
change_pod(const struct interpod *me, struct cycle *c, const struct pod_view *other,
           const struct node_view *node, int64_t by)
{
    struct interpod_note *note = cycle_get(c, &filter_key);
    struct tallied t = {note, &node->node->meta.labels};

    count_pod(me, note, other, by, add_to_interpod_counts, &t);
    count_unwelcoming(me, c->pod, other, by, add_to_interpod_counts, &t);
}

void
interpod_add_pod(void *self, struct cycle *c, const struct pod_view *other, struct node_view *node)
{
    change_pod(self, c, other, node, 1);
}

void
interpod_remove_pod(void *self, struct cycle *c, const struct pod_view *other,
                    const struct node_view *node)
{
    change_pod(self, c, other, node, -1);
}

/* The first pod of a series with affinity to its own labels may go anywhere. */
static bool
is_first_of_its_like(const struct interpod *me, const struct interpod_note *note,
                     const struct pod_view *pod)
{
    return interpod_counts_is_empty(note->counts[MATCHING])
           && affinity_term_matches_all(note->affinity, note->n_affinity, pod,
                                        namespace_labels(me->handle, pod));
}

static bool
has_wanted(const struct interpod *me, const struct interpod_note *note, const struct pod_view *pod,
           const struct string_map *labels)
{
    bool are_there = true;

    for (unsigned i = 0; i < note->n_affinity; i++) {
        const char *key = note->affinity[i].term->topology_key;
        const char *value = string_map_find(labels, key);

        if (value == NULL)
            return false;
        if (interpod_counts_get(note->counts[MATCHING], key, value) <= 0)
            are_there = false;
    }
    return are_there || is_first_of_its_like(me, note, pod);
}

static bool
has_unwanted(const struct interpod_note *note, const struct string_map *labels)
{
    const struct interpod_counts *unwanted = note->counts[UNWANTED];

    if (interpod_counts_is_empty(unwanted))
        return false;
    for (unsigned i = 0; i < note->n_anti; i++) {
        const char *key = note->anti[i].term->topology_key;
        const char *value = string_map_find(labels, key);

        if (value != NULL && interpod_counts_get(unwanted, key, value) > 0)
            return true;
    }
    return false;
}

static bool
is_unwelcome(const struct interpod_note *note, const struct string_map *labels)
{
    const struct interpod_counts *unwelcoming = note->counts[UNWELCOMING];

    if (interpod_counts_is_empty(unwelcoming))
        return false;
    for (unsigned i = 0; i < labels->count; i++)
        if (interpod_counts_get(unwelcoming, labels->items[i].key, labels->items[i].value) > 0)
            return true;
    return false;
}

static struct answer
reject(enum verdict verdict, uint32_t reason)
{
    return (struct answer){.verdict = (uint8_t)verdict, .reason = reason};
}

static struct answer
answer_by_interpod_counts(const struct interpod *me, const struct interpod_note *note,
                          const struct pod_view *pod, const struct node_view *node)
{
    const struct string_map *labels = &node->node->meta.labels;

    if (!has_wanted(me, note, pod, labels))
        return reject(VERDICT_NEVER, me->no_affinity);
    if (has_unwanted(note, labels))
        return reject(VERDICT_REJECT, me->anti_affinity);
    if (is_unwelcome(note, labels))
        return reject(VERDICT_REJECT, me->existing_anti_affinity);
    return ANSWER_OK;
}

/* Filters by one column the nodes that have passed the columns before. */
static void
filter_by_column(const struct interpod *me, const struct interpod_note *note,
                 const struct domain_column *column, const struct node_view *const *nodes,
                 unsigned count, struct answer *answers)
{
    struct answer rejection = column->purpose == UNWANTED
                                  ? reject(VERDICT_REJECT, me->anti_affinity)
                                  : reject(VERDICT_REJECT, me->existing_anti_affinity);

    if (column->purpose != MATCHING && column->n_not_zero == 0)
        return;
    for (unsigned n = 0; n < count; n++) {
        uint32_t id = column->ids[nodes[n]->slot];

        if (answers[n].verdict != VERDICT_OK)
            continue;
        if (column->purpose != MATCHING) {
            if (id != 0 && column->sums[id] > 0)
                answers[n] = rejection;
        } else if (id == 0 || (column->sums[id] <= 0 && !note->is_first)) {
            answers[n] = reject(VERDICT_NEVER, me->no_affinity);
        }
    }
}

void
interpod_filter(void *self, const struct cycle *c, const struct node_view *const *nodes,
                unsigned count, struct answer *answers)
{
    const struct interpod *me = self;
    const struct interpod_note *note = cycle_get(c, &filter_key);

    if (note->domain_counts == NULL) {
        for (unsigned n = 0; n < count; n++)
            answers[n] = answer_by_interpod_counts(me, note, c->pod, nodes[n]);
        return;
    }
    for (unsigned purpose = MATCHING; purpose < SCORE; purpose++)
        for (unsigned i = 0; i < domain_counts_columns(note->domain_counts); i++)
            if (domain_counts_at(note->domain_counts, i)->purpose == (int)purpose)
                filter_by_column(me, note, domain_counts_at(note->domain_counts, i), nodes, count,
                                 answers);
}
