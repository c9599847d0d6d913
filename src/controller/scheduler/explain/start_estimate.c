/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/explain/start_estimate.h"

#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/explain/shortage.h"
#include "controller/scheduler/framework/diagnosis.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/framework/volume_book.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/node/node.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"

/* Nodes that nothing is known of are emptied, to tell whether they could ever
 * do: the nearest only.
 */
#define EMPTIED 8u

struct walk {
    const struct shortage *shortage;
    const struct diagnosis *diagnosis;
    const struct profile *profile;
    plugin_set filters;
    enum start_chance *chances; /* by slot */
    struct amounts *freed;      /* by slot */
    int64_t now_us;
    int64_t last_us; /* the end that was looked at last */
    struct start_estimate *ret;
};

/* ---- What a node may come to be ---- */

static bool
is_by(const struct shortage *s, struct answer a, const char *plugin)
{
    return a.plugin < s->profile->n_entries
           && strcmp(s->profile->entries[a.plugin].plugin->name, plugin) == 0;
}

bool
start_estimate_is_open(const struct shortage *s,
                       const struct diagnosis *d,
                       const struct node_view *node)
{
    static const char *const closers[] = {
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
    };
    struct answer a = diagnosis_answer(d, node);

    for (unsigned i = 0; i < ARRAY_SIZE(closers); i++)
        if (is_by(s, a, closers[i]))
            return false;
    return a.verdict == VERDICT_REJECT || a.plugin < s->profile->n_entries;
}

static enum start_chance
chance_of(const struct shortage *s,
          const struct diagnosis *d,
          const struct node_view *node)
{
    struct answer a = diagnosis_answer(d, node);

    if (shortage_is_of_size(s, node))
        return START_NEVER;
    if (is_by(s, a, "TaintToleration") || is_by(s, a, "NodeUnschedulable"))
        return START_BLOCKED;
    /* Scratch comes back with its volume, though preemption frees none. */
    if (s->scratch_bytes > 0 && is_by(s, a, "VolumeBinding"))
        return START_LATER;
    return a.verdict == VERDICT_REJECT ? START_LATER : START_NEVER;
}

/* ---- Trials ---- */

/* Whether the pod would fit on the node without the pods that end by then. The
 * journal undoes what is tried.
 */
static bool
fits_at(struct walk *w, struct node_view *node, int64_t at_us)
{
    CLEANUP_FREE struct pod_view **pods =
        xnew_array(struct pod_view *, node->pods.count + 1);
    uint32_t count = node->pods.count;
    const struct node_view *view = node;
    struct answer answer = ANSWER_OK;
    int64_t scratch = 0;
    struct cycle cycle;
    size_t mark;

    memcpy(pods, node->pods.items, count * sizeof(struct pod_view *));
    cycle_copy(&cycle, w->shortage->cycle);
    mark = journal_begin(node->ledger.journal);
    for (uint32_t i = 0; i < count; i++) {
        int64_t end_us = pod_view_end_us(pods[i], w->now_us);

        if (at_us != INT64_MAX && (end_us == 0 || end_us > at_us))
            continue;
        scratch += shortage_scratch(&pods[i]->pod->spec);
        node_view_remove_pod(node, pods[i]);
        profile_remove_pod(w->profile, &cycle, pods[i], node);
    }
    w->ret->trials++;
    profile_filter(w->profile, w->filters, &cycle, &view, 1, &answer);
    journal_roll_back(node->ledger.journal, mark);
    cycle_fini(&cycle);
    if (w->shortage->scratch_bytes > 0
        && w->shortage->scratch_bytes
               > node_scratch_bytes(node->node) + scratch
                     - volume_book_promised(w->shortage->volumes, node->name))
        return false;
    return answer.verdict == VERDICT_OK;
}

/* Amounts alone, so that most ends need no trial. */
static bool
may_fit(const struct walk *w, const struct node_view *node)
{
    const struct amounts *needs = &w->shortage->cycle->pod->requests;
    const struct amounts *freed = &w->freed[node->slot];
    const struct amounts *has = &node->allocatable,
                         *used = &node->ledger.requested;

    if (needs->cpu_milli > has->cpu_milli - used->cpu_milli + freed->cpu_milli
        || needs->memory_bytes
               > has->memory_bytes - used->memory_bytes + freed->memory_bytes)
        return false;
    for (uint32_t i = 0; i < needs->n_scalars; i++) {
        uint32_t resource = needs->scalars[i].resource;

        if (needs->scalars[i].value > amounts_scalar(has, resource)
                                          - amounts_scalar(used, resource)
                                          + amounts_scalar(freed, resource))
            return false;
    }
    return true;
}

static bool
visit_end(const struct pod_view *pod,
          struct node_view *node,
          int64_t end_us,
          void *context)
{
    struct walk *w = context;
    struct amounts *freed = &w->freed[node->slot];

    if (end_us < w->now_us)
        end_us = w->now_us;
    w->ret->ends++;
    w->last_us = end_us;
    if (node->object == NULL || w->chances[node->slot] != START_LATER)
        return true;
    amounts_add(freed, &pod->requests);
    freed->cpu_milli += pod_view_charged_milli(pod) - pod->requests.cpu_milli;
    if (!may_fit(w, node))
        return true;
    if (w->ret->trials >= ESTIMATE_TRIALS) {
        w->ret->not_before_us = end_us;
        return false;
    }
    if (!fits_at(w, node, end_us))
        return true;
    w->ret->node = node;
    w->ret->from_us = end_us;
    return false;
}

/* ---- The nearest ---- */

/* Whether a node of that chance and shortage comes nearer than the best. */
static bool
is_nearer(const struct walk *w,
          const struct node_view *node,
          int64_t lacks,
          const struct node_view *best,
          int64_t best_lacks)
{
    enum start_chance a = w->chances[node->slot];
    enum start_chance b;

    if (best == NULL)
        return true;
    b = w->chances[best->slot];
    if (a != b)
        return a > b;
    if (start_estimate_is_open(w->shortage, w->diagnosis, node)
        != start_estimate_is_open(w->shortage, w->diagnosis, best))
        return start_estimate_is_open(w->shortage, w->diagnosis, node);
    if (lacks != best_lacks)
        return lacks < best_lacks;
    return strverscmp(node->name, best->name) < 0;
}

static struct node_view *
find_nearest(const struct walk *w, const struct snapshot *nodes)
{
    struct node_view *best = NULL;
    int64_t best_lacks = 0;

    for (uint32_t i = 0; i < nodes->n_nodes; i++) {
        struct node_view *node = nodes->nodes[i];
        int64_t lacks = shortage_mcpu(w->shortage, node);

        if (!is_nearer(w, node, lacks, best, best_lacks))
            continue;
        best = node;
        best_lacks = lacks;
    }
    return best;
}

static void
count_chances(struct walk *w, const struct diagnosis *d)
{
    const struct snapshot *s = d->snapshot;

    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct node_view *node = s->nodes[i];
        enum start_chance chance = chance_of(w->shortage, d, node);

        w->chances[node->slot] = chance;
        w->ret->counts[chance]++;
    }
}

static void
set_chance(struct walk *w,
           const struct node_view *node,
           enum start_chance chance)
{
    w->ret->counts[w->chances[node->slot]]--;
    w->ret->counts[chance]++;
    w->chances[node->slot] = chance;
}

/* Nothing ends in time. The nearest nodes may be of a shape that the pod never
 * fits, empty as they may be.
 */
static void
settle_nearest(struct walk *w, const struct snapshot *nodes)
{
    for (unsigned tried = 0; tried < EMPTIED; tried++) {
        struct node_view *node = find_nearest(w, nodes);

        w->ret->node = node;
        if (node == NULL || w->chances[node->slot] != START_LATER
            || fits_at(w, node, INT64_MAX))
            return;
        set_chance(w, node, START_NEVER);
    }
    w->ret->node = find_nearest(w, nodes);
}

/* VolumeBinding knows no time: scratch is counted here. */
static plugin_set
choose_filters(const struct shortage *s)
{
    plugin_set filters = s->profile->filters;
    unsigned storage = profile_find(s->profile, "VolumeBinding");

    if (s->scratch_bytes > 0 && storage != PLUGIN_NONE)
        filters &= ~PLUGIN_BIT(storage);
    return filters;
}

void
start_estimate_make(struct start_estimate *ret,
                    const struct shortage *s,
                    const struct diagnosis *d,
                    const struct cache *cache,
                    int64_t now_us)
{
    uint32_t n_slots = d->snapshot->n_slots;
    struct walk w = {
        .shortage = s,
        .diagnosis = d,
        .profile = s->profile,
        .filters = choose_filters(s),
        .chances = xnew_array(enum start_chance, n_slots + 1),
        .freed = xnew_array(struct amounts, n_slots + 1),
        .now_us = now_us,
        .ret = ret,
    };

    *ret = (struct start_estimate){0};
    count_chances(&w, d);
    if (ret->counts[START_LATER] > 0)
        cache_visit_ends(cache, ESTIMATE_ENDS, visit_end, &w);
    if (ret->ends >= ESTIMATE_ENDS && ret->from_us == 0)
        ret->not_before_us = w.last_us;
    if (ret->from_us == 0)
        settle_nearest(&w, d->snapshot);
    if (ret->node != NULL)
        ret->chance = w.chances[ret->node->slot];
    for (uint32_t i = 0; i < n_slots; i++)
        amounts_fini(&w.freed[i]);
    free(w.freed);
    free(w.chances);
}
