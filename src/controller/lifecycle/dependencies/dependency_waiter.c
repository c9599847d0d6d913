/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/dependencies/dependency_waiter.h"

#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/dependencies/dependency_target.h"
#include "controller/lifecycle/dependencies/element_gate.h"
#include "controller/lifecycle/dependencies/task_watch.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/base/alloc.h"

#define SECOND_US INT64_C(1000000)

/* ---- Verdicts ---- */

static enum job_dependency_verdict
judge_target(const struct edge *e)
{
    const struct dependency_target *t = e->target;

    if (t == NULL || e->delay_us > 0 || e->is_by_element)
        return DEPENDENCY_WAITS; /* judged each time the verdict is asked for */
    if (e->watch != NULL)
        return e->watch->verdict;
    if (t->stage == DEPENDENCY_STAGE_ENDED)
        return job_dependency_judge_end(e->type, t->state);
    return t->stage == DEPENDENCY_STAGE_STARTED && e->type == DEPENDENCY_AFTER ? DEPENDENCY_IS_MET
                                                                               : DEPENDENCY_WAITS;
}

static void
count(struct waiter *w, enum job_dependency_verdict verdict, int by)
{
    w->n_met += verdict == DEPENDENCY_IS_MET ? by : 0;
    w->n_never += verdict == DEPENDENCY_IS_NEVER_MET ? by : 0;
}

bool
dependency_waiter_is_decided(const struct waiter *w)
{
    return w->is_any ? w->n_met > 0 || w->n_never == (int)w->n_edges
                     : w->n_never > 0 || w->n_met == (int)w->n_edges;
}

void
dependency_edge_judge(struct edge *e)
{
    const enum job_dependency_verdict verdict = judge_target(e);

    if (verdict == e->verdict)
        return;
    count(e->waiter, e->verdict, -1);
    count(e->waiter, verdict, 1);
    e->verdict = verdict;
}

/* ---- Edges and life ---- */

void
dependency_waiter_free(struct waiter *w)
{
    if (w == NULL)
        return;
    element_gate_free(w->gate);
    free(w->edges);
    free(w->key);
    free(w->uid);
    free(w);
}

void
dependency_waiter_leave(struct waiter *w TAKES, struct dependency_targets *all)
{
    for (unsigned i = 0; i < w->n_edges; i++) {
        struct edge *e = &w->edges[i];

        if (e->target == NULL)
            continue;
        list_remove(&e->link);
        if (e->watch != NULL)
            dependency_target_unwatch(all, e->target, e->watch);
        else
            dependency_targets_release(all, e->target);
    }
    dependency_waiter_free(w);
}

static bool
is_target(const struct job_dependency *dependency)
{
    return dependency->uid != NULL && dependency->namespace != NULL && dependency->name != NULL
           && dependency->ended == NULL;
}

static void
watch_tasks(struct dependency_targets *all, struct edge *e, const struct job_dependency *dependency,
            enum job_state noted, int64_t began_us)
{
    struct dependency_target *t = e->target;

    e->watch = dependency_target_watch(all, t, dependency);
    list_add_last(&e->watch->waiters, &e->link);
    if (noted == JOB_STATE_NONE || e->watch->ended != JOB_STATE_NONE)
        return;
    t->is_gone = true;
    e->watch->began_us = began_us;
    task_watches_settle(t->watches, e->watch, noted);
}

static void
follow_target(struct dependency_targets *all, struct edge *e, enum job_state noted,
              int64_t began_us)
{
    struct dependency_target *t = e->target;

    list_add_last(&t->edges, &e->link);
    if (e->waiter->gate != NULL && e->type == DEPENDENCY_CORR) {
        e->is_by_element = true;
        dependency_target_need_elements(all, t);
        element_gate_add(e->waiter->gate, t->elements);
    }
    if (noted != JOB_STATE_NONE && t->stage != DEPENDENCY_STAGE_ENDED)
        dependency_target_settle(all, t, noted, began_us);
    dependency_target_ask(all, t);
}

static void
add_edge(struct dependency_targets *all, struct waiter *w, const struct job *job,
         const struct job_dependency *dependency)
{
    struct edge *e = &w->edges[w->n_edges++];
    const enum job_state noted = job_dependency_noted(job, dependency);
    const int64_t began_us = job_dependency_noted_start_us(job, dependency);

    *e = (struct edge){
        .waiter = w,
        .type = job_dependency_type_of(dependency->type),
        .delay_us = dependency->delay_s * SECOND_US,
    };
    list_init(&e->link);
    if (!is_target(dependency)) {
        if (e->type != DEPENDENCY_SINGLETON)
            e->verdict = job_dependency_judge_end(e->type, noted);
        e->began_us = began_us;
        if (e->delay_us > 0 && began_us > 0 && e->verdict == DEPENDENCY_IS_MET)
            e->verdict = DEPENDENCY_WAITS; /* judged each time the verdict is asked for */
        count(w, e->verdict, 1);
        return;
    }
    e->target = dependency_targets_get(all, dependency);
    if (dependency->tasks != NULL)
        watch_tasks(all, e, dependency, noted, began_us);
    else
        follow_target(all, e, noted, began_us);
    dependency_edge_judge(e);
}

bool
dependency_waiter_waits_by_element(const struct job *job)
{
    const struct job_dependencies *all = job->spec.dependencies;

    if (all == NULL || !job_is_array(job) || job_is_finished(job) || job_dependencies_any(all))
        return false;
    for (unsigned i = 0; i < all->jobs.count; i++)
        if (job_dependency_type_of(all->jobs.items[i].type) == DEPENDENCY_CORR
            && is_target(&all->jobs.items[i]))
            return true;
    return false;
}

static bool
is_edge(const struct edge *e, const struct job_dependency *dependency)
{
    if (e->type != job_dependency_type_of(dependency->type)
        || e->delay_us != dependency->delay_s * SECOND_US
        || (e->watch != NULL) != (dependency->tasks != NULL)
        || (e->watch != NULL && strcmp(e->watch->tasks, dependency->tasks) != 0))
        return false;
    return e->target != NULL
               ? dependency->uid != NULL && strcmp(e->target->uid, dependency->uid) == 0
               : !is_target(dependency);
}

bool
dependency_waiter_is_current(const struct waiter *w, const struct job *job)
{
    const struct job_dependencies *all = job->spec.dependencies;

    if (strcmp(w->uid, job->meta.uid) != 0 || w->n_edges != all->jobs.count
        || w->is_any != job_dependencies_any(all))
        return false;
    for (unsigned i = 0; i < w->n_edges; i++)
        if (!is_edge(&w->edges[i], &all->jobs.items[i]))
            return false;
    return true;
}

struct waiter *
dependency_waiter_new(const char *key, const struct job *job, struct dependency_targets *all)
{
    const struct job_dependencies *jobs = job->spec.dependencies;
    struct waiter *w = xnew(struct waiter);

    w->key = xstrdup(key);
    w->uid = xstrdup(job->meta.uid);
    w->is_any = job_dependencies_any(jobs);
    w->edges = xnew_array(struct edge, jobs->jobs.count + 1);
    if (dependency_waiter_waits_by_element(job))
        w->gate = element_gate_new(job);
    for (unsigned i = 0; i < jobs->jobs.count; i++)
        add_edge(all, w, job, &jobs->jobs.items[i]);
    if (w->gate != NULL)
        element_gate_complete(w->gate);
    return w;
}
