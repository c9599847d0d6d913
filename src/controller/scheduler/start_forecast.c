/* SPDX-License-Identifier: Apache-2.0 */
/* The forecast: when waiting pods start, behind the pods before them.
 *
 * When a pod could start if it were alone is known exactly (start_estimate.h),
 * but of little use to the last of a hundred pods. So the first pods of the
 * order are placed in time one after the other, each where its CPUs are free
 * for as long as it may run (cpu_forecast.h), and these times are reported. The
 * forecast promises nothing and reserves nothing.
 *
 * Nodes are distinguished by their partitions alone: the pods of a partition
 * take CPUs of the partition and of all nodes together.
 */
#include "controller/scheduler/start_forecast.h"

#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/explain/cpu_forecast.h"
#include "controller/scheduler/explain/wait_cause.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/queue/pod_group.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/partition.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"

/* How many pods, or groups of pods, one forecast places. */
#define FORECAST_MOST 2000u

/* How often a forecast is made, and that it takes at most one part in this many
 * of the time.
 */
#define FORECAST_EVERY_US INT64_C(2000000)
#define FORECAST_SHARE    100

/* Pools of nodes: the first contains all nodes, the others those of partitions,
 * by the text of the pods' field. Pods of further partitions count for all
 * nodes only.
 */
#define POOLS_MOST 16u

struct pool {
    char *names; /* NULL: all nodes */
    struct cpu_forecast cpus;
    bool is_seen;    /* by a pod of this forecast */
    bool is_counted; /* false: added during this forecast */
};

struct start_forecast {
    struct pool pools[POOLS_MOST];
    unsigned n_pools;
    uint32_t *pools_of; /* by slot, one bit for each pool */
    uint32_t n_slots;
    bool are_nodes_stale;
    uint64_t number; /* of the forecast; 0: none was made */
    bool is_full;    /* some pods were not placed */
    int64_t made_us, took_us;
    int64_t now_us; /* on the real clock */
};

void
start_forecast_free(struct start_forecast *f)
{
    if (f == NULL)
        return;
    for (unsigned i = 0; i < f->n_pools; i++)
        free(f->pools[i].names);
    free(f->pools_of);
    free(f);
}

struct start_forecast *
start_forecast_new(void)
{
    struct start_forecast *f = xnew(struct start_forecast);

    f->n_pools = 1;
    return f;
}

/* ---- Pools ---- */

static bool
is_of_partitions(struct scheduler *s, const char *names, const struct node_view *node)
{
    size_t n;

    for (const char *at = names; (n = partition_next_name(&at)) > 0; at += n) {
        CLEANUP_FREE char *name = xstrndup(at, n);
        const struct object *object =
            s->handle.find != NULL ? s->handle.find(s->handle.owner, partition_kind.name, name)
                                   : NULL;

        if (object != NULL && partition_has_node(partition_of(object), &node->node->meta.labels))
            return true;
    }
    return false;
}

static void
mark_nodes(struct scheduler *s, struct start_forecast *f, unsigned pool)
{
    for (uint32_t i = 0; i < s->snapshot.n_nodes; i++) {
        const struct node_view *node = s->snapshot.nodes[i];

        if (is_of_partitions(s, f->pools[pool].names, node))
            f->pools_of[node->slot] |= 1u << pool;
    }
}

/* After a change of nodes or partitions: finds the nodes of the pools again,
 * and drops pools that no pod uses.
 */
static void
renew_pools(struct scheduler *s, struct start_forecast *f)
{
    unsigned kept = 1;

    if (!f->are_nodes_stale && f->n_slots == s->snapshot.n_slots)
        return;
    for (unsigned i = 1; i < f->n_pools; i++)
        if (f->pools[i].is_seen)
            f->pools[kept++] = f->pools[i];
        else
            free(f->pools[i].names);
    f->n_pools = kept;
    f->n_slots = s->snapshot.n_slots;
    free(f->pools_of);
    f->pools_of = xcalloc(f->n_slots + 1, sizeof(f->pools_of[0]));
    for (uint32_t i = 0; i < f->n_slots; i++)
        f->pools_of[i] = 1;
    for (unsigned i = 1; i < f->n_pools; i++)
        mark_nodes(s, f, i);
    f->are_nodes_stale = false;
}

/* The pool of the pod's partitions, or that of all nodes. */
static unsigned
find_pool(struct start_forecast *f, const struct pod_view *pod)
{
    const char *names = pod_spec_partition(&pod->pod->spec);

    if (names == NULL || names[0] == '\0')
        return 0;
    for (unsigned i = 1; i < f->n_pools; i++)
        if (strcmp(f->pools[i].names, names) == 0)
            return i;
    if (f->n_pools == POOLS_MOST)
        return 0;
    f->pools[f->n_pools] = (struct pool){.names = xstrdup(names)};
    f->are_nodes_stale = true; /* the next forecast marks its nodes */
    return f->n_pools++;
}

/* ---- CPUs ---- */

/* As for the filters, a node that never reported whether it is ready is ready.
 */
static bool
is_open(const struct node_view *node)
{
    return node->node != NULL && !node->is_unschedulable
           && (node_is_ready(node->node) || node_find_condition(node->node, "Ready") == NULL);
}

static void
add_cpus(struct start_forecast *f, const struct node_view *node, int64_t mcpu, int64_t in_us)
{
    uint32_t pools = node->slot < f->n_slots ? f->pools_of[node->slot] : UINT32_C(1);

    for (unsigned i = 0; i < f->n_pools; i++)
        if ((pools & 1u << i) != 0)
            cpu_forecast_add(&f->pools[i].cpus, mcpu, in_us);
}

static bool
add_end(const struct pod_view *pod, struct node_view *node, int64_t end_us, void *context)
{
    struct start_forecast *f = context;

    if (is_open(node))
        add_cpus(f, node, pod->requests.cpu_milli, end_us - f->now_us);
    return true;
}

static void
count_cpus(struct scheduler *s, struct start_forecast *f)
{
    for (unsigned i = 0; i < f->n_pools; i++) {
        cpu_forecast_begin(&f->pools[i].cpus);
        f->pools[i].is_seen = false;
        f->pools[i].is_counted = true;
    }
    for (uint32_t i = 0; i < s->snapshot.n_nodes; i++) {
        const struct node_view *node = s->snapshot.nodes[i];
        int64_t free_mcpu = node->allocatable.cpu_milli - node->ledger.requested.cpu_milli;

        if (is_open(node) && free_mcpu > 0)
            add_cpus(f, node, free_mcpu, 0);
    }
    cache_visit_all_ends(s->cache, add_end, f);
    for (unsigned i = 0; i < f->n_pools; i++)
        cpu_forecast_settle(&f->pools[i].cpus);
}

/* ---- Waiting pods ---- */

struct laying {
    struct scheduler *s;
    struct start_forecast *f;
    unsigned count;
};

static int64_t
limit_us(const struct pod_view *pod)
{
    int64_t us = timeline_limit_us(pod);

    return us < INT64_MAX ? us : TIMELINE_ASSUMED_US;
}

/* A group waits for the reason why its rejected member found no node. */
static bool
lacks_room(const struct queued_pod *rejected)
{
    const struct profile *profile = rejected->profile;

    return ((rejected->unschedulable | rejected->pending) & (profile->rooms | profile->timed)) != 0;
}

/* Whether the pod waits for room, or was not tried yet. */
static bool
is_for_room(const struct scheduler *s, const struct queued_pod *queued)
{
    const struct pod_group *g = queued->pod_group;
    const struct pod_cause *cause;

    if (queued->profile->timed == 0 || queued->is_deleted)
        return false;
    if (g != NULL)
        return g->rejected == NULL || lacks_room(g->rejected);
    cause = recorder_cause(s->recorder, queued->pod);
    return cause == NULL || wait_cause_is_for_room(cause->code);
}

/* The first cell in which both all nodes and the pool have the CPUs free. */
static unsigned
find_cell(const struct start_forecast *f, unsigned pool, int64_t mcpu, int64_t run_us,
          unsigned from)
{
    bool is_known = pool > 0 && f->pools[pool].is_counted;

    while (from < CPU_FORECAST_CELLS) {
        unsigned at = cpu_forecast_find(&f->pools[0].cpus, mcpu, run_us, from);

        from = is_known && at < CPU_FORECAST_CELLS
                   ? cpu_forecast_find(&f->pools[pool].cpus, mcpu, run_us, at)
                   : at;
        if (from == at)
            break;
    }
    return from;
}

/* The product may overflow, because users write any number. */
static int64_t
cpus_of_group(int64_t mcpu, unsigned count)
{
    int64_t all;

    return __builtin_mul_overflow(mcpu, (int64_t)count, &all) ? INT64_MAX : all;
}

static bool
lay(struct queued_pod *queued, void *context)
{
    struct laying *l = context;
    struct start_forecast *f = l->f;
    const struct pod_group *g = queued->pod_group;
    int64_t mcpu = queued->pod->requests.cpu_milli;
    int64_t takes_us = limit_us(queued->pod);
    unsigned pool, cell, from = 0;

    if (!is_for_room(l->s, queued))
        return true;
    if (g != NULL) {
        if (pod_group_is_held(g) || queued != (g->leader != NULL ? g->leader : g->members[0]))
            return true;
        mcpu = cpus_of_group(mcpu, g->count);
    }
    if (l->count == FORECAST_MOST) {
        f->is_full = true;
        return false;
    }
    l->count++;
    pool = find_pool(f, queued->pod);
    f->pools[pool].is_seen = true;
    if (queued->earliest_us > f->now_us)
        from = cpu_forecast_cell(queued->earliest_us - f->now_us);
    cell = find_cell(f, pool, mcpu, takes_us, from);
    queued->forecast = f->number;
    queued->forecast_us = 0;
    if (cell == CPU_FORECAST_CELLS)
        return true;
    cpu_forecast_take(&f->pools[0].cpus, mcpu, takes_us, cell);
    if (pool > 0)
        cpu_forecast_take(&f->pools[pool].cpus, mcpu, takes_us, cell);
    queued->forecast_us = f->now_us + cpu_forecast_begin_us(cell);
    if (queued->forecast_us < queued->earliest_us)
        queued->forecast_us = queued->earliest_us;
    return true;
}

/* When all pools are taken, those that no pod uses are dropped before the next
 * forecast.
 */
static void
note_unseen(struct start_forecast *f)
{
    for (unsigned i = 1; f->n_pools == POOLS_MOST && i < f->n_pools; i++)
        f->are_nodes_stale |= !f->pools[i].is_seen;
}

static void
make(struct scheduler *s, struct start_forecast *f)
{
    struct laying l = {.s = s, .f = f};
    int64_t began_us = clock_monotonic_us(s->settings.clock);

    cache_update_snapshot(s->cache, &s->snapshot);
    f->now_us = clock_real_us(s->settings.clock);
    f->number++;
    f->is_full = false;
    renew_pools(s, f);
    count_cpus(s, f);
    queue_visit_order(s->queue, lay, &l);
    note_unseen(f);
    f->made_us = clock_monotonic_us(s->settings.clock);
    f->took_us = f->made_us - began_us;
}

static void
make_if_older(struct scheduler *s, int64_t least_us)
{
    struct start_forecast *f = s->forecast;
    int64_t age_us = clock_monotonic_us(s->settings.clock) - f->made_us;

    if (f->number == 0 || (age_us >= least_us && age_us >= f->took_us * FORECAST_SHARE))
        make(s, f);
}

/* For a pod that was not submitted yet: where all forecast pods leave CPUs
 * free.
 */
static int64_t
find_last_us(struct scheduler *s, const struct pod_view *pod)
{
    struct start_forecast *f = s->forecast;
    unsigned pool, cell;

    make_if_older(s, FORECAST_EVERY_US);
    if (f->is_full)
        return 0;
    pool = find_pool(f, pod);
    cell = find_cell(f, pool, pod->requests.cpu_milli, limit_us(pod), 0);
    return cell < CPU_FORECAST_CELLS ? f->now_us + cpu_forecast_begin_us(cell) : 0;
}

int64_t
scheduler_forecast_us(struct scheduler *s, const struct pod_view *pod,
                      const struct queued_pod *queued)
{
    const struct pod_group *g = queued != NULL ? queued->pod_group : NULL;

    if (queued == NULL)
        return find_last_us(s, pod);
    if (g != NULL)
        queued = g->leader != NULL ? g->leader : g->members[0];
    if (queued->forecast != s->forecast->number)
        make_if_older(s, 0);
    return queued->forecast == s->forecast->number ? queued->forecast_us : 0;
}

void
scheduler_forecast_note_earliest(struct scheduler *s, struct queued_pod *queued,
                                 struct pod_cause *told)
{
    const struct start_forecast *f = s->forecast;

    if (told->from_us != CAUSE_FROM_SAME)
        queued->earliest_us = told->from_us;
    if (queued->forecast != f->number)
        told->is_assumed |= f->is_full && told->from_us > 0;
    else if (queued->forecast_us > 0 && queued->forecast_us > told->from_us)
        told->from_us = queued->forecast_us;
}

void
scheduler_forecast_nodes_changed(struct scheduler *s)
{
    s->forecast->are_nodes_stale = true;
}

/* ---- Reports ---- */

/* A pod that starts too late for its deadline gets no time: its Job ends
 * before.
 */

static void
tell_pod(struct scheduler *s, const struct queued_pod *queued, int64_t from_us)
{
    const struct pod_cause *cause = recorder_cause(s->recorder, queued->pod);

    if (!pod_view_is_in_time(queued->pod, from_us))
        from_us = 0;
    if (cause != NULL && !cause->is_assumed && scheduler_find_place(s, queued, queued->pod) == NULL)
        recorder_set_plan(s->recorder, queued->pod, from_us, cause->node);
}

static bool
record_forecast(struct queued_pod *queued, void *context)
{
    struct laying *l = context;
    const struct pod_group *g = queued->pod_group;

    if (queued->forecast != l->f->number)
        return l->count < FORECAST_MOST;
    l->count++;
    for (unsigned i = 0; g != NULL && i < g->count; i++)
        tell_pod(l->s, g->members[i], queued->forecast_us);
    if (g == NULL)
        tell_pod(l->s, queued, queued->forecast_us);
    return l->count < FORECAST_MOST;
}

static bool
knows_time(const struct scheduler *s)
{
    for (unsigned i = 0; i < s->n_profiles; i++)
        if (s->profiles[i]->timed != 0)
            return true;
    return false;
}

static bool
is_time(const struct scheduler *s)
{
    const struct start_forecast *f = s->forecast;
    struct queue_counts counts = queue_count(s->queue);
    int64_t every_us = f->took_us * FORECAST_SHARE;

    if (every_us < FORECAST_EVERY_US)
        every_us = FORECAST_EVERY_US;
    return !s->settings.without_forecast && knows_time(s)
           && counts.active + counts.backoff + counts.unschedulable > 0
           && clock_monotonic_us(s->settings.clock) - f->made_us >= every_us;
}

void
scheduler_tick_forecast(struct scheduler *s)
{
    struct start_forecast *f = s->forecast;
    struct laying l = {.s = s, .f = f};

    if (!is_time(s))
        return;
    make(s, f);
    queue_visit_order(s->queue, record_forecast, &l);
    f->took_us += clock_monotonic_us(s->settings.clock) - f->made_us;
}
