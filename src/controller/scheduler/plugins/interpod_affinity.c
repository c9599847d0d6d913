/* SPDX-License-Identifier: Apache-2.0 */
/* InterPodAffinity - near some pods, away from others
 *
 * Extension points:  prefilter (with add and remove), filter, prescore, score
 * Arguments:         hardPodAffinityWeight (1),
 *                    ignorePreferredTermsOfExistingPods
 * Cycle state:       how many pods match which term, by topology value
 * Woken by:          a pod coming, going or being relabelled; a node joining
 *                    or being relabelled
 *
 * Source: kube-scheduler, plugins/interpodaffinity.
 */
#include <errno.h>
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/affinity_term.h"
#include "controller/scheduler/plugins/headcount.h"
#include "controller/scheduler/plugins/selector_sign.h"
#include "controller/scheduler/plugins/tally.h"
#include "lib/api/meta.h"
#include "lib/api/node.h"
#include "lib/api/object.h"
#include "lib/api/pod.h"
#include "lib/api/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct interpod {
    struct handle *handle;
    int64_t hard_weight;
    bool ignores_existing;
    uint32_t no_affinity, anti_affinity, existing_anti_affinity;
    struct headcounts *headcounts;
};

#define HEADCOUNTS 128 /* kept at most */

/* What a column of a headcount counts, each by its label. */
enum purpose {
    MATCHING,    /* pods that match all affinity terms */
    UNWANTED,    /* pods that match an anti-affinity term */
    UNWELCOMING, /* anti-affinity of others to this pod */
    SCORE,
};

/* What prefilter found: a headcount that is kept between cycles, or, in copies
 * on which pods come and go, tallies.
 */
struct filter_note {
    struct affinity_term *affinity, *anti;
    unsigned n_affinity, n_anti;
    struct headcount *headcount; /* or NULL, and then: */
    struct tally *tallies[SCORE];
    bool is_first; /* of its like, going by the headcount */
};

static const char filter_key;
static const char score_key;

static const struct field interpod_args_fields[] = {
    OPAQUE(INT, "hardPodAffinityWeight", KEPT),
    OPAQUE(BOOL, "ignorePreferredTermsOfExistingPods", KEPT),
};
static OPAQUE_RECORD(interpod_args, "InterPodAffinityArgs");

static int
interpod_make(struct handle *handle,
              const struct json *args,
              void **ret_self,
              struct error *err)
{
    int64_t hard_weight = json_get_int(args, "hardPodAffinityWeight", 1);
    struct interpod *self;

    if (hard_weight < 0 || hard_weight > 100)
        return error_set(err,
                         -EINVAL,
                         "hardPodAffinityWeight: %lld is not from 0 to 100",
                         (long long)hard_weight);
    self = xnew(struct interpod);
    self->handle = handle;
    self->hard_weight = hard_weight;
    self->headcounts = headcounts_new(HEADCOUNTS);
    self->ignores_existing =
        json_is_true(json_get(args, "ignorePreferredTermsOfExistingPods"));
    self->no_affinity =
        handle_reason(handle, "node(s) didn't match pod affinity rules");
    self->anti_affinity =
        handle_reason(handle, "node(s) didn't match pod anti-affinity rules");
    self->existing_anti_affinity = handle_reason(
        handle,
        "node(s) didn't satisfy existing pods anti-affinity rules");
    *ret_self = self;
    return 0;
}

static void
interpod_drop(void *arg)
{
    struct interpod *self = arg;

    headcounts_free(self->headcounts);
    free(self);
}

/* Headcounts */

struct census {
    const struct interpod *me;
    const struct pod_view *pod;
    const struct filter_note *note; /* of one for filtering */
    bool looks_at_all;              /* of one for scoring */
};

/* What they depend on in the pod. */
static struct headcount *
get_headcount(const struct interpod *me, const struct pod_view *pod, char what)
{
    CLEANUP_STRBUF struct strbuf key = STRBUF_INIT;
    struct affinity_term term;

    strbuf_printf(&key, "%c%s\n", what, pod->namespace);
    labels_sign(&pod->pod->meta.labels, &key);
    for (unsigned kind = 0; pod->has_affinity && kind < AFFINITY_KINDS;
         kind++) {
        strbuf_add_char(&key, '\n');
        for (unsigned i = 0; affinity_term_at(pod, kind, i, &term); i++)
            affinity_term_sign(&term, &key);
    }
    return headcounts_get(me->headcounts, key.text);
}

/* Filtering */

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
    const struct string_map *ns = namespace_labels(me->handle, pod);
    struct affinity_term term;

    for (unsigned i = 0;
         affinity_term_at(other, ANTI_AFFINITY_REQUIRED, i, &term);
         i++)
        if (affinity_term_matches(&term, pod, ns))
            found(where, UNWELCOMING, term.term->topology_key, by);
}

struct spot {
    struct headcount *headcount;
    const struct node_view *node;
};

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

static enum verdict
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
    note->headcount = get_headcount(me, c->pod, 'F');
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

static void
interpod_add_pod(void *self,
                 struct cycle *c,
                 const struct pod_view *other,
                 const struct node_view *node)
{
    change_pod(self, c, other, node, 1);
}

static void
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

static void
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

/* Scoring: sums by topology value. */

static void
add_score(const struct spot *spot, const char *label, int64_t by)
{
    unsigned column = headcount_column(spot->headcount, SCORE, label);

    headcount_include(spot->headcount, column, spot->node);
    headcount_add(spot->headcount, column, spot->node, by);
}

/* Every term of `of` that means `pod` counts for its weight, or the one
 * given.
 */
static void
add_terms(const struct spot *spot,
          const struct pod_view *of,
          enum affinity_kind kind,
          const struct pod_view *pod,
          const struct string_map *ns,
          int64_t weight)
{
    struct affinity_term term;

    for (unsigned i = 0; affinity_term_at(of, kind, i, &term); i++)
        if (affinity_term_matches(&term, pod, ns))
            add_score(spot,
                      term.term->topology_key,
                      term.weight != 0 ? term.weight * weight : weight);
}

static void
score_pod(const struct interpod *me,
          const struct spot *spot,
          const struct pod_view *pod,
          const struct string_map *pod_ns,
          const struct pod_view *other)
{
    const struct string_map *other_ns = namespace_labels(me->handle, other);

    add_terms(spot, pod, AFFINITY_PREFERRED, other, other_ns, 1);
    add_terms(spot, pod, ANTI_AFFINITY_PREFERRED, other, other_ns, -1);
    if (me->hard_weight > 0)
        add_terms(spot, other, AFFINITY_REQUIRED, pod, pod_ns, me->hard_weight);
    add_terms(spot, other, AFFINITY_PREFERRED, pod, pod_ns, 1);
    add_terms(spot, other, ANTI_AFFINITY_PREFERRED, pod, pod_ns, -1);
}

static void
score_into(struct headcount *h, const struct node_view *node, void *context)
{
    const struct census *census = context;
    const struct pod_list *pods =
        census->looks_at_all ? &node->pods : &node->with_affinity;
    const struct string_map *ns =
        namespace_labels(census->me->handle, census->pod);
    struct spot spot = {h, node};

    for (uint32_t i = 0; i < pods->count; i++)
        score_pod(census->me, &spot, census->pod, ns, pods->items[i]);
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
has_sums(const struct headcount *h)
{
    for (unsigned i = 0; i < headcount_columns(h); i++)
        if (headcount_at(h, i)->n_inhabited > 0)
            return true;
    return false;
}

/* A pod with preferences looks at all pods, another only at those that have
 * terms themselves.
 */
static enum verdict
interpod_prescore(void *self,
                  struct cycle *c,
                  const struct node_view *const *nodes,
                  unsigned count)
{
    const struct interpod *me = self;
    const struct snapshot *s = c->snapshot;
    bool prefers = has_preferences(c->pod);
    struct census census = {
        .me = me,
        .pod = c->pod,
        .looks_at_all = prefers,
    };
    struct headcount *h;

    (void)nodes, (void)count;
    if ((prefers ? s->n_nodes : s->n_with_affinity) == 0
        || (me->ignores_existing && !prefers))
        return VERDICT_SKIP;
    h = get_headcount(me, c->pod, 'S');
    headcount_update(h, s, me->handle->namespaces_version, score_into, &census);
    if (!has_sums(h))
        return VERDICT_SKIP;
    cycle_put(c, &score_key, h, NULL, NULL);
    return VERDICT_OK;
}

static void
interpod_score(void *self,
               const struct cycle *c,
               const struct node_view *const *nodes,
               unsigned count,
               int64_t *scores)
{
    const struct headcount *h = cycle_get(c, &score_key);

    (void)self;
    memset(scores, 0, count * sizeof(*scores));
    for (unsigned i = 0; i < headcount_columns(h); i++) {
        const struct headcount_column *column = headcount_at(h, i);

        for (unsigned n = 0; n < count; n++) {
            uint32_t id = column->ids[nodes[n]->slot];

            if (id != 0)
                scores[n] += column->sums[id];
        }
    }
}

static void
interpod_normalize(void *self,
                   const struct cycle *c,
                   const struct node_view *const *nodes,
                   unsigned count,
                   int64_t *scores)
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
        scores[i] = most > least ? (int64_t)(SCORE_MAX
                                             * ((double)(scores[i] - least)
                                                / (double)(most - least)))
                                 : 0;
}

/* Hints */

static bool
matches_terms(const struct interpod *me,
              const struct pod_view *pod,
              enum affinity_kind kind,
              const struct object *other)
{
    CLEANUP(pod_view_unrefp)
    struct pod_view *view = pod_view_new(other, me->handle->resources);
    unsigned count;
    CLEANUP_FREE struct affinity_term *terms =
        affinity_terms(pod, kind, &count);

    return affinity_term_matches_all(terms,
                                     count,
                                     view,
                                     namespace_labels(me->handle, view));
}

static bool
is_assigned(const struct object *pod)
{
    const char *name = pod_of(pod)->spec.node_name;

    return name != NULL && name[0] != '\0';
}

static bool
pod_hint(void *self,
         const struct pod_view *pod,
         const struct object *a,
         const struct object *b)
{
    const struct interpod *me = self;

    if ((a != NULL && !is_assigned(a)) || (b != NULL && !is_assigned(b)))
        return false;
    if (a != NULL && b != NULL)
        return (!matches_terms(me, pod, AFFINITY_REQUIRED, a)
                && matches_terms(me, pod, AFFINITY_REQUIRED, b))
               || (matches_terms(me, pod, ANTI_AFFINITY_REQUIRED, a)
                   && !matches_terms(me, pod, ANTI_AFFINITY_REQUIRED, b));
    if (b != NULL)
        return matches_terms(me, pod, AFFINITY_REQUIRED, b);
    return matches_terms(me, pod, ANTI_AFFINITY_REQUIRED, a);
}

/* Any change of the labels of a node that has the topology, as upstream. */
static bool
node_hint(void *self,
          const struct pod_view *pod,
          const struct object *a,
          const struct object *b)
{
    static const enum affinity_kind kinds[] = {AFFINITY_REQUIRED,
                                               ANTI_AFFINITY_REQUIRED};
    struct affinity_term term;

    (void)self, (void)a;
    for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
        for (unsigned i = 0; affinity_term_at(pod, kinds[k], i, &term); i++)
            if (string_map_find(&b->meta->labels, term.term->topology_key)
                != NULL)
                return true;
    return false;
}

static const struct wake wakes[] = {
    {EVENT_POD, ACTION_ADD | ACTION_DELETE | ACTION_UPDATE_POD_LABEL, pod_hint},
    {EVENT_NODE, ACTION_ADD | ACTION_UPDATE_NODE_LABEL, node_hint},
    WAKE_NEW_NODES,
};

const struct plugin interpod_affinity_plugin = {
    .name = "InterPodAffinity",
    .args = &interpod_args_record,
    .default_args = "{\"hardPodAffinityWeight\":1,"
                    "\"ignorePreferredTermsOfExistingPods\":false}",
    .make = interpod_make,
    .drop = interpod_drop,
    .depends_on_others = true,
    .prefilter = interpod_prefilter,
    .add_pod = interpod_add_pod,
    .remove_pod = interpod_remove_pod,
    .filter = interpod_filter,
    .prescore = interpod_prescore,
    .score = interpod_score,
    .normalization = NORMALIZE_CUSTOM,
    .normalize = interpod_normalize,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
