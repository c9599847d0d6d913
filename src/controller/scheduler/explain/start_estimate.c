/* SPDX-License-Identifier: Apache-2.0 */
/* `kctl why` asks this on the scheduler's own thread, so the answer is bounded and not exact:
 * a bound that is reached gives "not before", never a guess. START of kctl's tables is another
 * thing, a simulation on another thread (start_simulation.c); the two are shown beside each
 * other because this one goes by time limits, and that one by predictions (decision 471).
 */
#include "controller/scheduler/explain/start_estimate.h"

#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/explain/earliest_start.h"
#include "controller/scheduler/explain/shortage.h"
#include "controller/scheduler/framework/diagnosis.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/framework/volume_book.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/node/node.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"

/* This many nodes, the nearest ones, are tried as empty nodes, to find out
 * whether they could ever run the pod.
 */
#define EMPTIED 8u

struct estimate_walk {
    const struct shortage *shortage;
    const struct diagnosis *diagnosis;
    const struct profile *profile;
    struct closers closers;
    struct what_if what_if;
    enum start_chance *chances; /* by slot */
    bool *may_come;             /* by slot */
    struct clock *clock;
    int64_t work_until_us; /* by the monotonic clock */
    struct start_estimate *ret;
};

/* ---- The chance of a node ---- */

static plugin_set
bit_of(const struct shortage *s, const char *name)
{
    unsigned plugin = profile_find(s->profile, name);

    return plugin != PLUGIN_NONE ? PLUGIN_BIT(plugin) : 0;
}

struct closers
start_estimate_closers(const struct shortage *s)
{
    struct closers c = {
        .to_all = bit_of(s, "TaintToleration") | bit_of(s, "NodeUnschedulable"),
        .to_pod = bit_of(s, "NodeName") | bit_of(s, "NodeAffinity") | bit_of(s, "Partition")
                  | bit_of(s, "Reservation"),
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
start_estimate_is_open(const struct closers *c, const struct shortage *s, const struct diagnosis *d,
                       const struct node_view *node)
{
    struct answer a = diagnosis_answer(d, node);

    if ((set_of(a) & (c->to_all | c->to_pod)) != 0)
        return false;
    return a.verdict == VERDICT_REJECT || a.plugin < s->profile->n_entries;
}

/* Whether the pod may use the node by its name, selectors and partition. */
static bool
is_asked_for(const struct closers *c, const struct shortage *s, struct answer a,
             const struct node_view *node)
{
    if ((set_of(a) & c->to_pod) != 0)
        return false;
    return (set_of(a) & c->to_all) == 0
           || pod_spec_wants_node(&s->cycle->pod->pod->spec, &node->node->meta.labels, node->name);
}

static enum start_chance
chance_of(const struct closers *c, const struct shortage *s, const struct diagnosis *d,
          const struct node_view *node)
{
    struct answer a = diagnosis_answer(d, node);

    if (shortage_is_of_hardware(s, node))
        return START_NEVER;
    if ((set_of(a) & s->profile->timed) != 0)
        return START_LATER;
    /* The filter of the taints may come before that of the selectors. */
    if ((set_of(a) & c->to_all) != 0)
        return is_asked_for(c, s, a, node) ? START_BLOCKED : START_NEVER;
    /* Unlike preemption, the end of a pod frees its scratch. */
    if ((set_of(a) & c->volumes) != 0)
        return START_LATER;
    return a.verdict == VERDICT_REJECT ? START_LATER : START_NEVER;
}

bool
start_estimate_may_ever(const struct closers *c, const struct shortage *s,
                        const struct diagnosis *d, const struct node_view *node)
{
    return diagnosis_answer(d, node).verdict == VERDICT_OK
           || chance_of(c, s, d, node) != START_NEVER;
}

/* ---- Trials ---- */

/* Whether there is enough scratch when the pods that end by then are gone. */
static bool
has_scratch(const struct node_view *node, int64_t at_us, void *context)
{
    const struct estimate_walk *w = context;
    int64_t scratch = 0;

    if (w->shortage->scratch_bytes == 0)
        return true;
    for (uint32_t i = 0; i < node->pods.count; i++)
        if (at_us == INT64_MAX || timeline_end_us(node->pods.items[i], w->what_if.now_us) <= at_us)
            scratch += pod_spec_scratch_bytes(&node->pods.items[i]->pod->spec);
    return w->shortage->scratch_bytes
           <= node_scratch_bytes(node->node) + scratch
                  - volume_book_promised(w->shortage->volumes, node->name);
}

static bool
fits_empty(struct estimate_walk *w, struct node_view *node)
{
    w->ret->trials++;
    return timeline_room(&w->what_if, node, INT64_MAX, INT64_MAX, 1) > 0
           && has_scratch(node, INT64_MAX, w);
}

/* ---- The nearest nodes ---- */

/* A node, with the properties that decide how near it is. A nearer node has the
 * better chance.
 */
struct near {
    struct node_view *node;
    enum start_chance chance;
    bool is_asked_for, is_open;
    int64_t lacks_mcpu;
};

static bool
is_nearer(const struct near *a, const struct near *b)
{
    if (a->chance != b->chance)
        return a->chance > b->chance;
    if (a->is_asked_for != b->is_asked_for)
        return a->is_asked_for;
    if (a->is_open != b->is_open)
        return a->is_open;
    if (a->lacks_mcpu != b->lacks_mcpu)
        return a->lacks_mcpu < b->lacks_mcpu;
    return strverscmp(a->node->name, b->node->name) < 0;
}

/* The nearest nodes, the nearest first: one more than are tried as empty, so
 * that one is left if none of these could ever run the pod.
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

/* One pass over the nodes, which also counts them by their chance. */
static void
judge_nodes(struct estimate_walk *w, const struct diagnosis *d, struct nearest *n)
{
    const struct snapshot *s = d->snapshot;

    for (uint32_t i = 0; i < s->n_nodes; i++) {
        struct node_view *node = s->nodes[i];
        struct near near = {
            .node = node,
            .chance = chance_of(&w->closers, w->shortage, d, node),
        };

        w->chances[node->slot] = near.chance;
        w->may_come[node->slot] = near.chance == START_LATER;
        w->ret->counts[near.chance]++;
        if (n == NULL
            || (n->count == ARRAY_SIZE(n->items) && near.chance < n->items[n->count - 1].chance))
            continue;
        near.is_asked_for = is_asked_for(&w->closers, w->shortage, diagnosis_answer(d, node), node);
        near.is_open = start_estimate_is_open(&w->closers, w->shortage, d, node);
        near.lacks_mcpu = shortage_mcpu(w->shortage, node);
        keep_if_near(n, &near);
    }
}

/* No known end makes room. The nearest nodes may be unable to run the pod even
 * when they are empty; they then come after the others.
 */
static void
settle_nearest(struct estimate_walk *w, struct nearest *n)
{
    unsigned best = 0;

    w->ret->node = n->count > 0 ? n->items[0].node : NULL;
    for (unsigned i = 0; i < n->count; i++) {
        struct near *near = &n->items[i];

        if (i < EMPTIED && near->chance == START_LATER && !fits_empty(w, near->node)) {
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

/* VolumeBinding does not know of later times, so scratch is counted here. */
static plugin_set
choose_filters(const struct shortage *s)
{
    plugin_set filters = s->profile->filters & ~s->profile->timed;
    unsigned storage = profile_find(s->profile, "VolumeBinding");

    if (s->scratch_bytes > 0 && storage != PLUGIN_NONE)
        filters &= ~PLUGIN_BIT(storage);
    return filters;
}

static void
walk_init(struct estimate_walk *w, struct start_estimate *ret, const struct shortage *s,
          const struct diagnosis *d, struct clock *clock)
{
    uint32_t n_slots = d->snapshot->n_slots;
    const struct timeline *timeline = s->profile->handle->timeline;

    *w = (struct estimate_walk){
        .shortage = s,
        .diagnosis = d,
        .profile = s->profile,
        .closers = start_estimate_closers(s),
        .what_if = {.timeline = timeline,
                    .profile = s->profile,
                    .filters = choose_filters(s),
                    .cycle = s->cycle,
                    .n_binding = timeline != NULL ? timeline_binding(timeline) : 0,
                    .now_us = clock_real_us(clock)},
        .chances = xnew_array(enum start_chance, n_slots + 1),
        .clock = clock,
        .work_until_us = clock_monotonic_us(clock) + ESTIMATE_US,
        .may_come = xnew_array(bool, n_slots + 1),
        .ret = ret,
    };
    *ret = (struct start_estimate){0};
}

static void
walk_fini(struct estimate_walk *w)
{
    free(w->may_come);
    free(w->chances);
}

static void
walk_ends(struct estimate_walk *w, const struct cache *cache)
{
    struct start_answer a;

    if (w->ret->counts[START_LATER] == 0)
        return;
    earliest_start_find(
        &(struct start_question){.what_if = w->what_if,
                                 .cache = cache,
                                 .node_reservations = w->profile->handle->node_reservations,
                                 .snapshot = w->diagnosis->snapshot,
                                 .may_come = w->may_come,
                                 .n_slots = w->diagnosis->snapshot->n_slots,
                                 .count = 1,
                                 .has_none_now = true,
                                 .most_ends = ESTIMATE_ENDS,
                                 .most_trials = ESTIMATE_TRIALS,
                                 .clock = w->clock,
                                 .work_until_us = w->work_until_us,
                                 .is_enough = has_scratch,
                                 .context = w},
        &a);
    w->ret->ends = a.ends;
    w->ret->trials = a.trials;
    w->ret->from_us = a.from_us;
    if (a.from_us > 0)
        w->ret->node = a.nodes[0];
    else if (a.is_cut)
        w->ret->not_before_us = a.last_us;
    start_answer_fini(&a);
}

/* ---- Assumed ends ---- */

static bool
is_out_of_time(const struct estimate_walk *w)
{
    return w->ret->trials >= ESTIMATE_TRIALS || clock_monotonic_us(w->clock) > w->work_until_us;
}

static int
compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The first assumed end after which the node has room; INT64_MAX: none. */
static int64_t
find_assumed(struct estimate_walk *w, const struct what_if *what_if, struct node_view *n)
{
    CLEANUP_FREE int64_t *ends = xnew_array(int64_t, n->pods.count + 1);

    for (uint32_t i = 0; i < n->pods.count; i++)
        ends[i] = timeline_assumed_end_us(n->pods.items[i], w->what_if.now_us);
    qsort(ends, n->pods.count, sizeof(*ends), compare_times);
    for (uint32_t i = 0; i < n->pods.count && !is_out_of_time(w); i++) {
        if (i + 1 < n->pods.count && ends[i + 1] == ends[i])
            continue;
        w->ret->trials++;
        if (timeline_room(what_if, n, ends[i], INT64_MAX, 1) > 0 && has_scratch(n, INT64_MAX, w))
            return ends[i];
    }
    return INT64_MAX;
}

/* No pod with a time limit makes room. A few nodes give an approximate time. */
static void
assume_ends(struct estimate_walk *w)
{
    const struct snapshot *s = w->diagnosis->snapshot;
    struct what_if what_if = w->what_if;
    int64_t best_us = INT64_MAX;
    unsigned looked = 0;

    what_if.assumes_ends = true;
    for (uint32_t i = 0; i < s->n_nodes && looked < EMPTIED && !is_out_of_time(w); i++) {
        int64_t at_us;

        if (!w->may_come[s->nodes[i]->slot])
            continue;
        looked++;
        at_us = find_assumed(w, &what_if, s->nodes[i]);
        if (at_us >= best_us)
            continue;
        best_us = at_us;
        w->ret->node = s->nodes[i];
    }
    if (best_us == INT64_MAX)
        return;
    w->ret->from_us = best_us;
    w->ret->is_assumed = true;
}

void
start_estimate_make(struct start_estimate *ret, const struct shortage *s, const struct diagnosis *d,
                    const struct cache *cache, struct clock *clock)
{
    struct nearest nearest = {.count = 0};
    struct estimate_walk w;

    walk_init(&w, ret, s, d, clock);
    judge_nodes(&w, d, &nearest);
    walk_ends(&w, cache);
    if (ret->from_us == 0 && ret->not_before_us == 0)
        assume_ends(&w);
    if (ret->from_us == 0)
        settle_nearest(&w, &nearest);
    if (ret->node != NULL)
        ret->chance = w.chances[ret->node->slot];
    walk_fini(&w);
}
