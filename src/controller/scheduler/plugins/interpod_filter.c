/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes affinity and anti-affinity to pods leave. */
#include <string.h>

#include "controller/scheduler/plugins/interpod_affinity.h"
#include "controller/scheduler/plugins/tally.h"
#include "lib/api/node/node.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"

/* The result of prefilter: a headcount that is kept between cycles, or, in
 * copies on which pods come and go, tallies.
 */
struct filter_note {
    struct affinity_term *affinity, *anti;
    unsigned n_affinity, n_anti;
    struct headcount *headcount; /* or NULL, and then: */
    struct tally *tallies[SCORE];
    bool is_first; /* of its like, going by the headcount */
};

static const char filter_key;

/* The plugin and the pod that the counting is for. */
struct census {
    const struct interpod *me;
    const struct pod_view *pod;
    const struct filter_note *note;
};

static void
filter_note_free(void *value)
{
    struct filter_note *note = value;

    free(note->affinity);
    free(note->anti);
    for (unsigned i = 0; i < SCORE; i++)
        tally_free(note->tallies[i]);
    free(note);
}

static void
tallies_of_headcount(struct filter_note *note, const struct headcount *h)
{
    for (unsigned i = 0; i < SCORE; i++)
        note->tallies[i] = tally_new();
    for (unsigned i = 0; h != NULL && i < headcount_columns(h); i++) {
        const struct headcount_column *c = headcount_at(h, i);

        for (uint32_t id = 1; id <= c->n_ids; id++)
            if (c->sums[id] != 0)
                tally_add_pair(note->tallies[c->purpose],
                               c->label,
                               c->values[id],
                               c->sums[id]);
    }
}

static void *
filter_note_dup(const void *value)
{
    const struct filter_note *note = value;
    struct filter_note *copy = xmemdup(note, sizeof(*note));
    size_t size = sizeof(struct affinity_term);

    if (note->affinity != NULL)
        copy->affinity = xmemdup(note->affinity, note->n_affinity * size);
    if (note->anti != NULL)
        copy->anti = xmemdup(note->anti, note->n_anti * size);
    copy->headcount = NULL;
    if (note->headcount != NULL)
        tallies_of_headcount(copy, note->headcount);
    else
        for (unsigned i = 0; i < SCORE; i++)
            copy->tallies[i] = tally_dup(note->tallies[i]);
    return copy;
}

/* Where a pod that counts is counted. */
typedef void
found_fn(void *where, enum purpose purpose, const char *label, int64_t by);

/* Counts one pod of a node in or out. */
static void
count_pod(const struct interpod *me,
          const struct filter_note *note,
          const struct pod_view *other,
          int64_t by,
          found_fn *found,
          void *where)
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
count_unwelcoming(const struct interpod *me,
                  const struct pod_view *pod,
                  const struct pod_view *other,
                  int64_t by,
                  found_fn *found,
                  void *where)
{
    const struct string_map *ns = namespace_labels_or_none(me->handle, pod);
    struct affinity_term term;

    if (!interpod_concerns(me, other, pod))
        return;
    for (unsigned i = 0;
         affinity_term_at(other, ANTI_AFFINITY_REQUIRED, i, &term);
         i++)
        if (affinity_term_matches(&term, pod, ns))
            found(where, UNWELCOMING, term.term->topology_key, by);
}

static void
found_on_spot(void *where, enum purpose purpose, const char *label, int64_t by)
{
    const struct spot *spot = where;
    unsigned column = headcount_column(spot->headcount, (int)purpose, label);

    headcount_include(spot->headcount, column, spot->node);
    headcount_add(spot->headcount, column, spot->node, by);
}

static void
count_into(struct headcount *h, const struct node_view *node, void *context)
{
    const struct census *census = context;
    const struct filter_note *note = census->note;
    const struct pod_list *unwelcoming = &node->with_required_anti_affinity;
    struct spot spot = {h, node};

    /* A node must have these labels, whatever is counted. */
    for (unsigned i = 0; i < note->n_affinity; i++)
        (void)headcount_column(h,
                               MATCHING,
                               note->affinity[i].term->topology_key);
    for (uint32_t i = 0; i < unwelcoming->count; i++)
        count_unwelcoming(census->me,
                          census->pod,
                          unwelcoming->items[i],
                          1,
                          found_on_spot,
                          &spot);
    if (note->n_affinity == 0 && note->n_anti == 0)
        return;
    for (uint32_t i = 0; i < node->pods.count; i++)
        count_pod(census->me,
                  note,
                  node->pods.items[i],
                  1,
                  found_on_spot,
                  &spot);
}

static bool
has_any(const struct headcount *h, enum purpose purpose)
{
    for (unsigned i = 0; i < headcount_columns(h); i++)
        if (headcount_at(h, i)->purpose == (int)purpose
            && headcount_at(h, i)->n_not_zero > 0)
            return true;
    return false;
}

enum verdict
interpod_prefilter(void *self,
                   struct cycle *c,
                   struct narrowing *ret_narrowing,
                   uint32_t *ret_reason)
{
    const struct interpod *me = self;
    struct filter_note *note;
    struct census census;

    (void)ret_narrowing, (void)ret_reason;
    if (!c->pod->has_affinity
        && c->snapshot->n_with_required_anti_affinity == 0)
        return VERDICT_SKIP;
    note = xnew(struct filter_note);
    note->affinity =
        affinity_terms(c->pod, AFFINITY_REQUIRED, &note->n_affinity);
    note->anti = affinity_terms(c->pod, ANTI_AFFINITY_REQUIRED, &note->n_anti);
    note->headcount = interpod_headcount(me, c->pod, 'F');
    census = (struct census){.me = me, .pod = c->pod, .note = note};
    headcount_update(note->headcount,
                     c->snapshot,
                     me->handle->namespaces_version,
                     count_into,
                     &census);
    if (!has_any(note->headcount, UNWELCOMING) && note->n_affinity == 0
        && note->n_anti == 0) {
        filter_note_free(note);
        return VERDICT_SKIP;
    }
    note->is_first =
        !has_any(note->headcount, MATCHING)
        && affinity_term_matches_all(note->affinity,
                                     note->n_affinity,
                                     c->pod,
                                     namespace_labels(me->handle, c->pod));
    cycle_put(c, &filter_key, note, filter_note_free, filter_note_dup);
    return VERDICT_OK;
}

struct tallied {
    struct filter_note *note;
    const struct string_map *labels;
};

static void
found_in_tally(void *where, enum purpose purpose, const char *label, int64_t by)
{
    const struct tallied *t = where;

    tally_add(t->note->tallies[purpose], t->labels, label, by);
}

static void
change_pod(const struct interpod *me,
           struct cycle *c,
           const struct pod_view *other,
           const struct node_view *node,
           int64_t by)
{
    struct filter_note *note = cycle_get(c, &filter_key);
    struct tallied t = {note, &node->node->meta.labels};

    count_pod(me, note, other, by, found_in_tally, &t);
    count_unwelcoming(me, c->pod, other, by, found_in_tally, &t);
}

void
interpod_add_pod(void *self,
                 struct cycle *c,
                 const struct pod_view *other,
                 const struct node_view *node)
{
    change_pod(self, c, other, node, 1);
}

void
interpod_remove_pod(void *self,
                    struct cycle *c,
                    const struct pod_view *other,
                    const struct node_view *node)
{
    change_pod(self, c, other, node, -1);
}

/* The first pod of a series that wants to be near its like may go anywhere. */
static bool
is_first_of_its_like(const struct interpod *me,
                     const struct filter_note *note,
                     const struct pod_view *pod)
{
    return tally_is_empty(note->tallies[MATCHING])
           && affinity_term_matches_all(note->affinity,
                                        note->n_affinity,
                                        pod,
                                        namespace_labels(me->handle, pod));
}

static bool
has_wanted(const struct interpod *me,
           const struct filter_note *note,
           const struct pod_view *pod,
           const struct string_map *labels)
{
    bool are_there = true;

    for (unsigned i = 0; i < note->n_affinity; i++) {
        const char *key = note->affinity[i].term->topology_key;
        const char *value = string_map_find(labels, key);

        if (value == NULL)
            return false;
        if (tally_of(note->tallies[MATCHING], key, value) <= 0)
            are_there = false;
    }
    return are_there || is_first_of_its_like(me, note, pod);
}

static bool
has_unwanted(const struct filter_note *note, const struct string_map *labels)
{
    const struct tally *unwanted = note->tallies[UNWANTED];

    if (tally_is_empty(unwanted))
        return false;
    for (unsigned i = 0; i < note->n_anti; i++) {
        const char *key = note->anti[i].term->topology_key;
        const char *value = string_map_find(labels, key);

        if (value != NULL && tally_of(unwanted, key, value) > 0)
            return true;
    }
    return false;
}

static bool
is_unwelcome(const struct filter_note *note, const struct string_map *labels)
{
    const struct tally *unwelcoming = note->tallies[UNWELCOMING];

    if (tally_is_empty(unwelcoming))
        return false;
    for (unsigned i = 0; i < labels->count; i++)
        if (tally_of(unwelcoming, labels->items[i].key, labels->items[i].value)
            > 0)
            return true;
    return false;
}

static struct answer
reject(enum verdict verdict, uint32_t reason)
{
    return (struct answer){.verdict = (uint8_t)verdict, .reason = reason};
}

static struct answer
answer_by_tallies(const struct interpod *me,
                  const struct filter_note *note,
                  const struct pod_view *pod,
                  const struct node_view *node)
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

/* One column, over the nodes that have passed those before it. */
static void
filter_by_column(const struct interpod *me,
                 const struct filter_note *note,
                 const struct headcount_column *column,
                 const struct node_view *const *nodes,
                 unsigned count,
                 struct answer *answers)
{
    struct answer rejection =
        column->purpose == UNWANTED
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
interpod_filter(void *self,
                const struct cycle *c,
                const struct node_view *const *nodes,
                unsigned count,
                struct answer *answers)
{
    const struct interpod *me = self;
    const struct filter_note *note = cycle_get(c, &filter_key);

    if (note->headcount == NULL) {
        for (unsigned n = 0; n < count; n++)
            answers[n] = answer_by_tallies(me, note, c->pod, nodes[n]);
        return;
    }
    for (unsigned purpose = MATCHING; purpose < SCORE; purpose++)
        for (unsigned i = 0; i < headcount_columns(note->headcount); i++)
            if (headcount_at(note->headcount, i)->purpose == (int)purpose)
                filter_by_column(me,
                                 note,
                                 headcount_at(note->headcount, i),
                                 nodes,
                                 count,
                                 answers);
}
