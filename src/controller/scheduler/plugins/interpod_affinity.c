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
};

/* What prefilter found. */
struct filter_note {
    struct affinity_term *affinity, *anti;
    unsigned n_affinity, n_anti;
    struct tally *matching;    /* pods that match all affinity terms */
    struct tally *unwanted;    /* pods that match an anti-affinity term */
    struct tally *unwelcoming; /* anti-affinity of others to this pod */
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
filter_note_free(void *value)
{
    struct filter_note *note = value;

    free(note->affinity);
    free(note->anti);
    tally_free(note->matching);
    tally_free(note->unwanted);
    tally_free(note->unwelcoming);
    free(note);
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
    copy->matching = tally_dup(note->matching);
    copy->unwanted = tally_dup(note->unwanted);
    copy->unwelcoming = tally_dup(note->unwelcoming);
    return copy;
}

/* Counts one pod of a node in or out. */
static void
count_pod(const struct interpod *me,
          struct filter_note *note,
          const struct pod_view *other,
          const struct node_view *node,
          int64_t by)
{
    const struct string_map *labels = &node->node->meta.labels;
    const struct string_map *ns = namespace_labels(me->handle, other);

    if (affinity_term_matches_all(note->affinity, note->n_affinity, other, ns))
        for (unsigned i = 0; i < note->n_affinity; i++)
            tally_add(note->matching,
                      labels,
                      note->affinity[i].term->topology_key,
                      by);
    for (unsigned i = 0; i < note->n_anti; i++)
        if (affinity_term_matches(&note->anti[i], other, ns))
            tally_add(note->unwanted,
                      labels,
                      note->anti[i].term->topology_key,
                      by);
}

static void
count_unwelcoming(const struct interpod *me,
                  struct filter_note *note,
                  const struct pod_view *pod,
                  const struct pod_view *other,
                  const struct node_view *node,
                  int64_t by)
{
    const struct string_map *ns = namespace_labels(me->handle, pod);
    struct affinity_term term;

    for (unsigned i = 0;
         affinity_term_at(other, ANTI_AFFINITY_REQUIRED, i, &term);
         i++)
        if (affinity_term_matches(&term, pod, ns))
            tally_add(note->unwelcoming,
                      &node->node->meta.labels,
                      term.term->topology_key,
                      by);
}

static void
count_cluster(const struct interpod *me,
              struct filter_note *note,
              const struct cycle *c)
{
    const struct snapshot *s = c->snapshot;

    for (uint32_t i = 0; i < s->n_with_required_anti_affinity; i++) {
        const struct node_view *node = s->with_required_anti_affinity[i];
        const struct pod_list *pods = &node->with_required_anti_affinity;

        for (uint32_t p = 0; p < pods->count; p++)
            count_unwelcoming(me, note, c->pod, pods->items[p], node, 1);
    }
    if (note->n_affinity == 0 && note->n_anti == 0)
        return;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        for (uint32_t p = 0; p < s->nodes[i]->pods.count; p++)
            count_pod(me, note, s->nodes[i]->pods.items[p], s->nodes[i], 1);
}

static enum verdict
interpod_prefilter(void *self,
                   struct cycle *c,
                   struct narrowing *ret_narrowing,
                   uint32_t *ret_reason)
{
    const struct interpod *me = self;
    struct filter_note *note;

    (void)ret_narrowing, (void)ret_reason;
    if (!c->pod->has_affinity
        && c->snapshot->n_with_required_anti_affinity == 0)
        return VERDICT_SKIP;
    note = xnew(struct filter_note);
    note->affinity =
        affinity_terms(c->pod, AFFINITY_REQUIRED, &note->n_affinity);
    note->anti = affinity_terms(c->pod, ANTI_AFFINITY_REQUIRED, &note->n_anti);
    note->matching = tally_new();
    note->unwanted = tally_new();
    note->unwelcoming = tally_new();
    count_cluster(me, note, c);
    if (tally_is_empty(note->unwelcoming) && note->n_affinity == 0
        && note->n_anti == 0) {
        filter_note_free(note);
        return VERDICT_SKIP;
    }
    cycle_put(c, &filter_key, note, filter_note_free, filter_note_dup);
    return VERDICT_OK;
}

static void
change_pod(const struct interpod *me,
           struct cycle *c,
           const struct pod_view *other,
           const struct node_view *node,
           int64_t by)
{
    struct filter_note *note = cycle_get(c, &filter_key);

    count_pod(me, note, other, node, by);
    count_unwelcoming(me, note, c->pod, other, node, by);
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
    return tally_is_empty(note->matching)
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
        if (tally_of(note->matching, key, value) <= 0)
            are_there = false;
    }
    return are_there || is_first_of_its_like(me, note, pod);
}

static bool
has_unwanted(const struct filter_note *note, const struct string_map *labels)
{
    if (tally_is_empty(note->unwanted))
        return false;
    for (unsigned i = 0; i < note->n_anti; i++) {
        const char *key = note->anti[i].term->topology_key;
        const char *value = string_map_find(labels, key);

        if (value != NULL && tally_of(note->unwanted, key, value) > 0)
            return true;
    }
    return false;
}

static bool
is_unwelcome(const struct filter_note *note, const struct string_map *labels)
{
    if (tally_is_empty(note->unwelcoming))
        return false;
    for (unsigned i = 0; i < labels->count; i++)
        if (tally_of(note->unwelcoming,
                     labels->items[i].key,
                     labels->items[i].value)
            > 0)
            return true;
    return false;
}

static enum verdict
interpod_filter_one(void *self,
                    const struct cycle *c,
                    const struct node_view *node,
                    uint32_t *ret_reason)
{
    const struct interpod *me = self;
    const struct filter_note *note = cycle_get(c, &filter_key);
    const struct string_map *labels = &node->node->meta.labels;

    if (!has_wanted(me, note, c->pod, labels)) {
        *ret_reason = me->no_affinity;
        return VERDICT_NEVER;
    }
    if (has_unwanted(note, labels)) {
        *ret_reason = me->anti_affinity;
        return VERDICT_REJECT;
    }
    if (is_unwelcome(note, labels)) {
        *ret_reason = me->existing_anti_affinity;
        return VERDICT_REJECT;
    }
    return VERDICT_OK;
}

/* Scoring: sums by topology value. */
struct score_note {
    struct tally *sums;
    const char **keys; /* that have sums, borrowed from the pods' terms */
    unsigned n_keys, capacity;
};

static void
score_note_free(void *value)
{
    struct score_note *note = value;

    tally_free(note->sums);
    free((void *)note->keys);
    free(note);
}

static void
add_score(struct score_note *note,
          const struct string_map *labels,
          const char *key,
          int64_t by)
{
    unsigned i = 0;

    if (string_map_find(labels, key) == NULL)
        return;
    tally_add(note->sums, labels, key, by);
    while (i < note->n_keys && strcmp(note->keys[i], key) != 0)
        i++;
    if (i < note->n_keys)
        return;
    xgrow(note->keys, note->n_keys, note->capacity);
    note->keys[note->n_keys++] = key;
}

/* Every term of `of` that means `pod` counts for its weight, or the one
 * given.
 */
static void
add_terms(struct score_note *note,
          const struct pod_view *of,
          enum affinity_kind kind,
          const struct pod_view *pod,
          const struct string_map *ns,
          const struct string_map *labels,
          int64_t weight)
{
    struct affinity_term term;

    for (unsigned i = 0; affinity_term_at(of, kind, i, &term); i++)
        if (affinity_term_matches(&term, pod, ns))
            add_score(note,
                      labels,
                      term.term->topology_key,
                      term.weight != 0 ? term.weight * weight : weight);
}

static void
score_pod(const struct interpod *me,
          struct score_note *note,
          const struct pod_view *pod,
          const struct string_map *pod_ns,
          const struct pod_view *other,
          const struct string_map *labels)
{
    const struct string_map *other_ns = namespace_labels(me->handle, other);

    add_terms(note, pod, AFFINITY_PREFERRED, other, other_ns, labels, 1);
    add_terms(note, pod, ANTI_AFFINITY_PREFERRED, other, other_ns, labels, -1);
    if (me->hard_weight > 0)
        add_terms(note,
                  other,
                  AFFINITY_REQUIRED,
                  pod,
                  pod_ns,
                  labels,
                  me->hard_weight);
    add_terms(note, other, AFFINITY_PREFERRED, pod, pod_ns, labels, 1);
    add_terms(note, other, ANTI_AFFINITY_PREFERRED, pod, pod_ns, labels, -1);
}

static bool
has_preferences(const struct pod_view *pod)
{
    struct affinity_term term;

    return affinity_term_at(pod, AFFINITY_PREFERRED, 0, &term)
           || affinity_term_at(pod, ANTI_AFFINITY_PREFERRED, 0, &term);
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
    const struct string_map *ns = namespace_labels(me->handle, c->pod);
    uint32_t n = prefers ? s->n_nodes : s->n_with_affinity;
    struct score_note *note;

    (void)nodes, (void)count;
    if (n == 0 || (me->ignores_existing && !prefers))
        return VERDICT_SKIP;
    note = xnew(struct score_note);
    note->sums = tally_new();
    for (uint32_t i = 0; i < n; i++) {
        const struct node_view *node =
            prefers ? s->nodes[i] : s->with_affinity[i];
        const struct pod_list *pods =
            prefers ? &node->pods : &node->with_affinity;

        for (uint32_t p = 0; p < pods->count; p++)
            score_pod(me,
                      note,
                      c->pod,
                      ns,
                      pods->items[p],
                      &node->node->meta.labels);
    }
    if (note->n_keys == 0) {
        score_note_free(note);
        return VERDICT_SKIP;
    }
    cycle_put(c, &score_key, note, score_note_free, NULL);
    return VERDICT_OK;
}

static int64_t
interpod_score_one(void *self,
                   const struct cycle *c,
                   const struct node_view *node)
{
    const struct score_note *note = cycle_get(c, &score_key);
    int64_t sum = 0;

    (void)self;
    for (unsigned i = 0; i < note->n_keys; i++) {
        const char *value =
            string_map_find(&node->node->meta.labels, note->keys[i]);

        if (value != NULL)
            sum += tally_of(note->sums, note->keys[i], value);
    }
    return sum;
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
    .drop = free,
    .depends_on_others = true,
    .prefilter = interpod_prefilter,
    .add_pod = interpod_add_pod,
    .remove_pod = interpod_remove_pod,
    .filter_one = interpod_filter_one,
    .prescore = interpod_prescore,
    .score_one = interpod_score_one,
    .normalization = NORMALIZE_CUSTOM,
    .normalize = interpod_normalize,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
