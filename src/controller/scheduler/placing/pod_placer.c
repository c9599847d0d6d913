/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt to place one pod: the search for a node, the assumption that the pod is
 * there, and what takes it back. A pod by itself and each member of a group go this way.
 */
#include "controller/scheduler/placing/pod_placer.h"

#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/bind/yields.h"
#include "controller/scheduler/extenders/extender_results.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/diagnosis.h"
#include "controller/scheduler/framework/handle.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/probe.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/report/cycle_trace.h"
#include "controller/scheduler/report/scheduler_metrics.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/state/cache.h"
#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"

/* In one of this many cycles, each plugin is measured by itself. */
#define PROBE_EVERY 10

/* A cycle that takes longer is logged. */
#define SLOW_CYCLE_US 100000

struct pod_placer {
    struct pod_placer_parts parts;
    uint64_t attempts;
    bool has_nomination_gone; /* and that was not reported yet */
};

void
pod_placer_free(struct pod_placer *p)
{
    free(p);
}

struct pod_placer *
pod_placer_new(const struct pod_placer_parts *parts)
{
    struct pod_placer *p = xnew(struct pod_placer);

    p->parts = *parts;
    return p;
}

uint64_t
pod_placer_attempts(const struct pod_placer *p)
{
    return p->attempts;
}

static bool
is_about_volumes(const struct assignment *a, struct answer answer)
{
    return answer.plugin < a->profile->n_entries
           && strcmp(a->profile->entries[answer.plugin].plugin->name, "VolumeBinding") == 0;
}

/* From here on, all later cycles see the pod on the node. */
struct answer
pod_placer_assume(struct pod_placer *p, struct assignment *a, struct node_view *node)
{
    struct answer answer;

    if (cache_assume(p->parts.cache, a->cycle.pod, node->name) < 0) {
        a->error = xstrdup("the pod is assumed already");
        return (struct answer){VERDICT_ERROR, PLUGIN_NONE, STRING_ID_NONE};
    }
    a->node_name = xstrdup(node->name);
    pod_placer_end_nomination(p, a->cycle.pod, node->name);
    answer = profile_reserve(a->profile, &a->cycle, node);
    cycle_trace_mark(p->parts.trace, STEP_RESERVE);
    cycle_trace_set_verdict(p->parts.trace, STEP_RESERVE, answer.verdict);
    if (answer.verdict != VERDICT_OK && is_about_volumes(a, answer))
        scheduler_metrics_volume_failed(p->parts.metrics, "assume");
    return answer;
}

void
pod_placer_displace(struct pod_placer *p, struct assignment *a)
{
    if (a->node_name == NULL)
        return;
    profile_unreserve(a->profile, &a->cycle, cache_find_node(p->parts.cache, a->node_name));
    free(a->node_name);
    a->node_name = NULL;
}

static void
log_if_slow(const struct pod_placer *p, const char *key)
{
    CLEANUP_STRBUF struct strbuf steps = STRBUF_INIT;

    if (cycle_trace_total_us(p->parts.trace) <= SLOW_CYCLE_US)
        return;
    cycle_trace_format(p->parts.trace, &steps);
    log_warning("pod '%s' took %lld ms to place among %u nodes: %s", key,
                (long long)(cycle_trace_total_us(p->parts.trace) / 1000),
                p->parts.snapshot->n_nodes, steps.text);
}

/* Which of several equally good nodes a pod gets depends on the pod and not on
 * how many others were tried before it: so a simulation (start_simulation.h)
 * chooses as the scheduler does. After an error it may be another one.
 */
static void
seed_ties(struct pod_placer *p, const struct queued_pod *queued)
{
    struct random_source ties = {.state = p->parts.seed + queued->n_errors};

    for (const char *c = queued->key; *c != '\0'; c++)
        ties.state = (ties.state ^ (unsigned char)*c) * UINT64_C(0x100000001b3); /* FNV-1a */
    p->parts.handle->random->state = p->parts.has_same_ties ? p->parts.seed : random_next(&ties);
}

struct node_view *
pod_placer_find_node(struct pod_placer *p, struct assignment *a)
{
    struct node_view *node;

    seed_ties(p, a->queued);

    cache_update_snapshot(p->parts.cache, p->parts.snapshot);
    cycle_trace_mark(p->parts.trace, STEP_SNAPSHOT);
    if (a->asks_nodes && a->extender_results == NULL)
        a->extender_results = extender_results_new();
    node = node_finder_find(p->parts.node_finder, a->profile, &a->cycle,
                            a->asks_nodes ? a->extender_results : NULL);
    scheduler_metrics_algorithm(p->parts.metrics, cycle_trace_total_us(p->parts.trace));
    return node;
}

void
pod_placer_end_cycle(struct pod_placer *p, const struct profile *profile, const char *key)
{
    scheduler_metrics_cycle(p->parts.metrics, profile->scheduler_name, p->parts.trace);
    log_if_slow(p, key);
}

void
pod_placer_end(struct pod_placer *p, const struct assignment *a)
{
    pod_placer_end_cycle(p, a->profile, a->queued->key);
}

int64_t
pod_placer_begin(struct pod_placer *p)
{
    p->parts.handle->probe->is_on = p->parts.metrics != NULL && p->attempts % PROBE_EVERY == 0;
    p->attempts++;
    cycle_trace_begin(p->parts.trace, p->parts.handle->clock);
    return p->parts.trace->began_us;
}

/* The cluster has no nodes: the first node that is added activates the waiting
 * pods, where upstream treats this as an error and tries again and again.
 */
static plugin_set
find_waiters_for_nodes(const struct profile *profile)
{
    plugin_set waiters = 0;

    for (unsigned i = 0; i < profile->n_entries; i++) {
        const struct plugin *plugin = profile->entries[i].plugin;

        for (unsigned w = 0; w < plugin->n_wakes; w++)
            if (!plugin->depends_on_others && plugin->wakes[w].resource == EVENT_NODE
                && (plugin->wakes[w].actions & ACTION_ADD) != 0)
                waiters |= PLUGIN_BIT(i);
    }
    return waiters;
}

static bool
is_parked(const struct pod_placer *p, const struct diagnosis *d)
{
    return p->parts.snapshot->n_nodes == 0 && p->parts.is_sharing
           && (d->unschedulable | d->pending) == 0;
}

void
pod_placer_note_rejectors(const struct pod_placer *p, struct assignment *a,
                          const struct diagnosis *d)
{
    bool is_error = d->absent.verdict == VERDICT_ERROR;

    a->queued->unschedulable =
        is_parked(p, d) && !is_error ? find_waiters_for_nodes(a->profile) : d->unschedulable;
    a->queued->pending = d->pending;
}

void
pod_placer_end_nomination(struct pod_placer *p, const struct pod_view *pod, const char *taken)
{
    const char *node = nominator_node(p->parts.handle->nominator, pod);
    struct node_view *left;

    if (node == NULL)
        return;
    p->has_nomination_gone |= taken == NULL || strcmp(node, taken) != 0;
    left = nominator_remove(p->parts.handle->nominator, pod);
    yields_wake(p->parts.yields, left); /* before the cache may free it */
    cache_leave_node(p->parts.cache, left);
}

void
pod_placer_flush_nominations(struct pod_placer *p)
{
    bool has_gone = p->has_nomination_gone && p->parts.is_sharing;

    p->has_nomination_gone = false;
    if (has_gone)
        queue_event(p->parts.queue, &event_assigned_pod_delete, NULL, NULL);
}
