/* SPDX-License-Identifier: Apache-2.0 */
/* A scrape must not walk a hundred thousand pods, so each change moves one object from a count
 * to another. That only works if the count which an object is taken from is the one that it
 * was added to: labels are computed from the old and the new version by the same functions,
 * and what a label maps to never changes while the controller runs. Reasons come from users
 * and programs and are therefore mapped to a fixed list.
 */
#include "controller/lifecycle/state_counts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/job/job.h"
#include "lib/api/node/node.h"
#include "lib/api/node_use.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/base/metric.h"

#define MAX_NAMESPACES 1000
#define OTHERS         "(others)"

struct state_counts {
    struct metric_family *nodes;
    struct metric_family *jobs;
    struct metric_family *pods;
    struct metric_family *cpus;
    struct metric *allocated;
    struct map *namespaces; /* namespaces that have their own series */
    struct map *used;       /* every series ever counted in, by its address */
};

/* ---- Labels with a bounded number of values ---- */

/* Reasons of Job conditions and of ended or waiting pods. */
static const char *const reasons[] = {
    REASON_BACKOFF_LIMIT_EXCEEDED,
    REASON_CANCELLED,
    REASON_COMPLETED,
    REASON_DEADLINE_EXCEEDED,
    REASON_DEPENDENCY_NEVER_SATISFIED,
    REASON_ERROR,
    "Evicted",
    REASON_FAILED_INDEXES,
    REASON_MAX_FAILED_INDEXES_EXCEEDED,
    REASON_NODE_LOST,
    REASON_NODE_REBOOTED,
    REASON_NODE_SHUTDOWN,
    REASON_OOM_KILLED,
    REASON_POD_FAILURE_POLICY,
    "Preempted",
    REASON_PROLOG_FAILED,
    REASON_REFUSED,
    REASON_SCHEDULING_GATED,
    REASON_SHEPHERD_LOST,
    REASON_START_ERROR,
    REASON_UNSCHEDULABLE,
};

static const char *
bounded_reason(const char *reason)
{
    if (reason == NULL || *reason == '\0')
        return "";
    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
        if (strcmp(reasons[i], reason) == 0)
            return reasons[i];
    return "Other";
}

static const char *
bounded_phase(const char *phase)
{
    static const char *const phases[] = {"Running", "Succeeded", "Failed", "Unknown"};

    for (size_t i = 0; phase != NULL && i < ARRAY_SIZE(phases); i++)
        if (strcmp(phases[i], phase) == 0)
            return phases[i];
    return "Pending";
}

/* The answer for a namespace never changes, so that a count is subtracted from
 * the series that it was added to.
 */
static const char *
bounded_namespace(struct state_counts *c, const char *namespace)
{
    if (map_find(c->namespaces, namespace) != NULL)
        return namespace;
    if (map_count(c->namespaces) >= MAX_NAMESPACES)
        return OTHERS;
    map_put(c->namespaces, namespace, c);
    return namespace;
}

/* ---- States ---- */

static const char *
node_state(const struct node *node)
{
    uid_t owner;

    if (node_find_owner(node, &owner))
        return "User"; /* whose agent a user starts and ends at will */
    if (node_is_fenced(node))
        return "Fenced";
    if (!node_is_ready(node))
        return "NotReady";
    return node->spec.unschedulable ? "Cordoned" : "Ready";
}

static const char *
job_state(const struct job *job, const char **ret_reason)
{
    const struct job_condition *failed = job_find_condition(job, "Failed");

    *ret_reason = failed != NULL ? failed->reason : NULL;
    return job_state_words(job_find_state(job))->name;
}

static const char *
pod_reason(const struct pod *pod)
{
    const struct pod_condition *scheduled;

    if (pod_is_finished(pod))
        return pod->status.reason;
    scheduled = pod_find_condition(pod, "PodScheduled");
    return scheduled != NULL && strcmp(scheduled->status, "False") == 0 ? scheduled->reason : NULL;
}

/* ---- Counting ---- */

static void
count(struct state_counts *c, struct metric_family *family, const char *const *labels, double by)
{
    struct metric *series = metric_series_of(family, labels);
    CLEANUP_FREE char *key = xasprintf("%p", (void *)series);

    metric_add(series, by);
    map_put(c->used, key, series);
}

static double
cpus_of(const struct node *node)
{
    const char *cpus = string_map_find(&node->status.allocatable, "cpu");

    return cpus != NULL ? (double)quantity_text_milli(cpus) / 1000 : 0;
}

static void
count_node(struct state_counts *c, const struct object *node, int by)
{
    const char *labels[2] = {NULL, NULL};

    if (node == NULL)
        return;
    labels[0] = node_state(node_of(node));
    count(c, c->nodes, labels, by);
    count(c, c->cpus, labels, by * cpus_of(node_of(node)));
}

/* A pod holds CPUs from its binding until its end. */
static bool
holds_cpus(const struct object *pod)
{
    return pod != NULL && pod_of(pod)->spec.node_name != NULL
           && pod_of(pod)->spec.node_name[0] != '\0' && !pod_is_finished(pod_of(pod));
}

static double
held_cpus(const struct object *pod)
{
    struct node_use use = {0};

    if (holds_cpus(pod))
        node_use_add_pod(&use, pod_of(pod));
    return (double)use.cpus + (double)use.shared_milli / 1000;
}

/* Most changes of a pod are of its conditions and usage. */
static bool
holds_the_same(const struct object *a, const struct object *b)
{
    const struct allocation *x, *y;

    if (!holds_cpus(a) || !holds_cpus(b))
        return holds_cpus(a) == holds_cpus(b);
    x = pod_of(a)->status.allocation;
    y = pod_of(b)->status.allocation;
    return pod_has_yielded(pod_of(a)) == pod_has_yielded(pod_of(b))
           && (x == NULL || y == NULL ? x == y : allocation_equals(x, y));
}

/* The state that one object is counted under. */
struct state {
    const char *state; /* or phase; NULL: no object */
    const char *reason;
};

static struct state
state_of_job(const struct object *job)
{
    struct state s = {0};

    if (job != NULL)
        s.state = job_state(job_of(job), &s.reason);
    s.reason = bounded_reason(s.reason);
    return s;
}

static struct state
state_of_pod(const struct object *pod)
{
    struct state s = {0};

    if (pod != NULL) {
        s.state = bounded_phase(pod_of(pod)->status.phase);
        s.reason = pod_reason(pod_of(pod));
    }
    s.reason = bounded_reason(s.reason);
    return s;
}

/* Most changes of an object leave its state as it was. */
static void
move(struct state_counts *c, struct metric_family *family, const struct object *any,
     const struct state *was, const struct state *is)
{
    const char *labels[4] = {bounded_namespace(c, any->meta->namespace)};

    if (was->state != NULL && is->state != NULL && strcmp(was->state, is->state) == 0
        && strcmp(was->reason, is->reason) == 0)
        return;
    for (int i = 0; i < 2; i++) {
        const struct state *s = i == 0 ? was : is;

        labels[1] = s->state;
        labels[2] = s->reason;
        if (s->state != NULL)
            count(c, family, labels, i == 0 ? -1 : 1);
    }
}

static void
on_node(const struct object *old_object, const struct object *new_object, void *context)
{
    count_node(context, old_object, -1);
    count_node(context, new_object, 1);
}

static void
on_job(const struct object *old_object, const struct object *new_object, void *context)
{
    struct state_counts *c = context;
    const struct state was = state_of_job(old_object);
    const struct state is = state_of_job(new_object);

    move(c, c->jobs, new_object ? new_object : old_object, &was, &is);
}

static void
on_pod(const struct object *old_object, const struct object *new_object, void *context)
{
    struct state_counts *c = context;
    const struct state was = state_of_pod(old_object);
    const struct state is = state_of_pod(new_object);

    move(c, c->pods, new_object ? new_object : old_object, &was, &is);
    if (!holds_the_same(old_object, new_object))
        metric_add(c->allocated, held_cpus(new_object) - held_cpus(old_object));
}

struct state_counts *
state_counts_new(struct object_cache *cache, struct metric_registry *registry)
{
    struct state_counts *c = xnew(struct state_counts);

    c->nodes = metric_gauge(registry, "kiln_nodes", "Nodes by state.", "state");
    c->cpus = metric_gauge(registry, "kiln_cpus",
                           "Allocatable CPUs of the nodes, by the state of the node.", "state");
    c->allocated = metric_series(
        metric_gauge(registry, "kiln_cpus_allocated",
                     "CPUs that pods hold, and request of those that they share.", NULL));
    c->jobs = metric_gauge(registry, "kiln_jobs",
                           "Jobs by namespace (account), state and, for "
                           "failed jobs, reason.",
                           "namespace,state,reason");
    c->pods = metric_gauge(registry, "kiln_pods",
                           "Pods by namespace (account), phase and the reason "
                           "why they wait or how they ended.",
                           "namespace,phase,reason");
    c->namespaces = map_new();
    c->used = map_new();
    object_cache_listen(cache, &node_kind, on_node, c);
    object_cache_listen(cache, &job_kind, on_job, c);
    object_cache_listen(cache, &pod_kind, on_pod, c);
    return c;
}

void
state_counts_free(struct state_counts *c)
{
    size_t at = 0;
    void *series;

    if (c == NULL)
        return;
    while (map_next(c->used, &at, NULL, &series))
        metric_set(series, 0);
    metric_set(c->allocated, 0);
    map_free(c->used);
    map_free(c->namespaces);
    free(c);
}
