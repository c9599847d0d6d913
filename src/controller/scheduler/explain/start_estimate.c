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
#include "lib/base/clock.h"

/* Nodes that nothing is known of are emptied, to tell whether they could ever
 * do: the nearest only.
 */
#define EMPTIED 8u

/* So many ends are gone through before the clock is asked. */
#define ENDS_A_LOOK 64u

struct walk {
    const struct shortage *shortage;
    const struct diagnosis *diagnosis;
    const struct profile *profile;
    struct closers closers;
    plugin_set filters;
    enum start_chance *chances; /* by slot */
    struct amounts *freed;      /* by slot */
    struct clock *clock;
    int64_t until_us; /* by the monotonic clock: the work ends */
    int64_t now_us;
    int64_t last_us; /* the end that was looked at last */
    struct start_estimate *ret;
};

/* ---- What a node may come to be ---- */

static plugin_set
bit_of(const struct shortage *s, const char *name)
{
    unsigned plugin = profile_find(s->profile, name);

    return plugin != PLUGIN_NONE ? PLUGIN_BIT(plugin) : 0;
}

struct closers
closers_of(const struct shortage *s)
{
    struct closers c = {
        .to_all = bit_of(s, "TaintToleration") | bit_of(s, "NodeUnschedulable"),
        .to_pod = bit_of(s, "NodeName") | bit_of(s, "NodeAffinity"),
        .volumes = s->scratch_bytes > 0 ? bit_of(s, "VolumeBinding") : 0,
    };

    return c;
}

static plugin_set
set_of(struct answer a)
{
    return a.plugin < 64 ? PLUGIN_BIT(a.plugin) : 0;
}

bool
start_estimate_is_open(const struct closers *c,
                       const struct shortage *s,
                       const struct diagnosis *d,
                       const struct node_view *node)
{
    struct answer a = diagnosis_answer(d, node);

    if ((set_of(a) & (c->to_all | c->to_pod)) != 0)
        return false;
    return a.verdict == VERDICT_REJECT || a.plugin < s->profile->n_entries;
}

static enum start_chance
chance_of(const struct closers *c,
          const struct shortage *s,
          const struct diagnosis *d,
          const struct node_view *node)
{
    struct answer a = diagnosis_answer(d, node);

    if (shortage_is_of_size(s, node))
        return START_NEVER;
    if ((set_of(a) & c->to_all) != 0)
        return START_BLOCKED;
    /* Scratch comes back with its volume, though preemption frees none. */
    if ((set_of(a) & c->volumes) != 0)
        return START_LATER;
    return a.verdict == VERDICT_REJECT ? START_LATER : START_NEVER;
}

/* ---- Trials ---- */

/* Pods that the API has forgotten have left something on their nodes. */
static void
remove_retained(struct ledger *l)
{
    for (uint32_t i = l->count; i-- > 0;)
        if (l->entries[i].state == LEDGER_RETAINED)
            ledger_remove(l, l->entries[i].owner, i);
}

/* Whether the pod would fit on the node without the pods that end by then, or
 * on the empty node (INT64_MAX). The journal undoes what is tried.
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
    if (at_us == INT64_MAX)
        remove_retained(&node->ledger);
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
has_no_time(const struct walk *w)
{
    return clock_monotonic_us(w->clock) > w->until_us;
}

static bool
visit_end(const struct pod_view *pod,
          struct node_view *node,
          int64_t end_us,
          void *context)
{
    struct walk *w = context;
    struct amounts *freed = &w->freed[node->slot];
    int64_t moved_us;

    if (end_us < w->now_us)
        end_us = w->now_us;
    w->last_us = end_us;
    if (++w->ret->ends % ENDS_A_LOOK == 0 && has_no_time(w)) {
        w->ret->not_before_us = end_us;
        return false;
    }
    if (node->object == NULL || w->chances[node->slot] != START_LATER)
        return true;
    /* One that has not begun to run ends the later the longer that takes. */
    moved_us = pod_view_end_us(pod, w->now_us);
    if (end_us < moved_us)
        end_us = moved_us;
    amounts_add(freed, &pod->requests);
    freed->cpu_milli += pod_view_charged_milli(pod) - pod->requests.cpu_milli;
    if (!may_fit(w, node))
        return true;
    if (w->ret->trials >= ESTIMATE_TRIALS || has_no_time(w)) {
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

/* A node by how near it is; the nearest has the best chance. */
struct near {
    struct node_view *node;
    enum start_chance chance;
    bool is_open;
    int64_t lacks_mcpu;
};

static bool
is_nearer(const struct near *a, const struct near *b)
{
    if (a->chance != b->chance)
        return a->chance > b->chance;
    if (a->is_open != b->is_open)
        return a->is_open;
    if (a->lacks_mcpu != b->lacks_mcpu)
        return a->lacks_mcpu < b->lacks_mcpu;
    return strverscmp(a->node->name, b->node->name) < 0;
}

/* The nearest so many, the nearest first: one more than are emptied, so that
 * one is left when none of these could ever do.
 */
struct nearest {
    struct near items[EMPTIED + 1];
    unsigned count;
};

static void
keep_if_near(struct nearest *n, const struct near *node)
{
    unsigned at;

    if (n->count == ARRAY_SIZE(n->items)) {
        if (!is_nearer(node, &n->items[n->count - 1]))
            return;
        n->count--;
    }
    for (at = n->count++; at > 0 && is_nearer(node, &n->items[at - 1]); at--)
        n->items[at] = n->items[at - 1];
    n->items[at] = *node;
}

/* One pass that also counts the nodes by their chance. */
static void
look_at_nodes(struct walk *w, const struct diagnosis *d, struct nearest *n)
{
    const struct snapshot *s = d->snapshot;

    for (uint32_t i = 0; i < s->n_nodes; i++) {
        struct node_view *node = s->nodes[i];
        struct near near = {
            .node = node,
            .chance = chance_of(&w->closers, w->shortage, d, node),
        };

        w->chances[node->slot] = near.chance;
        w->ret->counts[near.chance]++;
        if (n == NULL
            || (n->count == ARRAY_SIZE(n->items)
                && near.chance < n->items[n->count - 1].chance))
            continue;
        near.is_open =
            start_estimate_is_open(&w->closers, w->shortage, d, node);
        near.lacks_mcpu = shortage_mcpu(w->shortage, node);
        keep_if_near(n, &near);
    }
}

/* Nothing ends in time. The nearest nodes may be of a shape that the pod never
 * fits, empty as they may be: they go behind the others.
 */
static void
settle_nearest(struct walk *w, struct nearest *n)
{
    unsigned best = 0;

    w->ret->node = n->count > 0 ? n->items[0].node : NULL;
    for (unsigned i = 0; i < n->count; i++) {
        struct near *near = &n->items[i];

        if (i < EMPTIED && near->chance == START_LATER
            && !fits_at(w, near->node, INT64_MAX)) {
            w->ret->counts[START_LATER]--;
            w->ret->counts[START_NEVER]++;
            w->chances[near->node->slot] = START_NEVER;
            near->chance = START_NEVER;
            continue;
        }
        best = i;
        break;
    }
    if (n->count > 0 && n->items[best].chance == START_NEVER)
        best = 0;
    if (n->count > 0)
        w->ret->node = n->items[best].node;
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

static void
walk_init(struct walk *w,
          struct start_estimate *ret,
          const struct shortage *s,
          const struct diagnosis *d,
          struct clock *clock)
{
    uint32_t n_slots = d->snapshot->n_slots;

    *w = (struct walk){
        .shortage = s,
        .diagnosis = d,
        .profile = s->profile,
        .closers = closers_of(s),
        .filters = choose_filters(s),
        .chances = xnew_array(enum start_chance, n_slots + 1),
        .freed = xnew_array(struct amounts, n_slots + 1),
        .clock = clock,
        .until_us = clock_monotonic_us(clock) + ESTIMATE_US,
        .now_us = clock_real_us(clock),
        .ret = ret,
    };
    *ret = (struct start_estimate){0};
}

static void
walk_fini(struct walk *w)
{
    for (uint32_t i = 0; i < w->diagnosis->snapshot->n_slots; i++)
        amounts_fini(&w->freed[i]);
    free(w->freed);
    free(w->chances);
}

static void
walk_ends(struct walk *w, const struct cache *cache)
{
    if (w->ret->counts[START_LATER] > 0)
        cache_visit_ends(cache, ESTIMATE_ENDS, visit_end, w);
}

void
start_estimate_make(struct start_estimate *ret,
                    const struct shortage *s,
                    const struct diagnosis *d,
                    const struct cache *cache,
                    struct clock *clock)
{
    struct nearest nearest = {.count = 0};
    struct walk w;

    walk_init(&w, ret, s, d, clock);
    look_at_nodes(&w, d, &nearest);
    walk_ends(&w, cache);
    if (ret->ends >= ESTIMATE_ENDS && ret->from_us == 0)
        ret->not_before_us = w.last_us;
    if (ret->from_us == 0)
        settle_nearest(&w, &nearest);
    if (ret->node != NULL)
        ret->chance = w.chances[ret->node->slot];
    walk_fini(&w);
}

int64_t
start_estimate_time(const struct shortage *s,
                    const struct diagnosis *d,
                    const struct cache *cache,
                    struct clock *clock)
{
    struct start_estimate estimate;
    struct walk w;

    if (!cache_has_ends(cache))
        return 0;
    walk_init(&w, &estimate, s, d, clock);
    look_at_nodes(&w, d, NULL);
    walk_ends(&w, cache);
    walk_fini(&w);
    return estimate.from_us;
}
