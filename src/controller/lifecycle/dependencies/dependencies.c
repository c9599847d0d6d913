/* SPDX-License-Identifier: Apache-2.0 */
/* The cost must be that of what ends, not of what waits: an array of a million, or ten
 * thousand jobs behind one, wake only those whose verdict the end decides. So every edge is
 * registered at its target, by uid, and a name that is used again meets nobody.
 *
 * A job that is gone from the cluster is not forgotten: history says how it ended (decision
 * 226), and the answer is written into the waiter before it counts, since history has its own
 * limit and may not know it a second time.
 */
#include "controller/lifecycle/dependencies/dependencies.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/dependencies/dependency_target.h"
#include "controller/lifecycle/dependencies/dependency_waiter.h"
#include "controller/lifecycle/dependencies/element_ends.h"
#include "controller/lifecycle/dependencies/element_gate.h"
#include "controller/lifecycle/dependencies/singletons.h"
#include "controller/lifecycle/dependencies/task_watch.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

/* until an unanswered question is asked again */
#define ASK_AGAIN_US INT64_C(2000000)

struct dependencies {
    struct dependencies_settings settings;
    struct singletons *singletons;
    struct dependency_targets *targets;
    struct map *waiters; /* by key */
};

/* ---- Verdicts ---- */

static void
wake(const char *key, void *context)
{
    struct dependencies *d = context;

    d->settings.wake(key, d->settings.context);
}

/* A waiter is also woken when the target is gone, even if that decides nothing,
 * so that it writes the end into its status.
 */
static void
notify_waiter(struct dependencies *d, struct edge *e)
{
    dependency_edge_judge(e);
    if (e->target->is_gone || e->delay_us > 0 || e->is_by_element
        || dependency_waiter_is_decided(e->waiter))
        wake(e->waiter->key, d);
}

static void
notify_waiters(struct dependency_target *t, void *context)
{
    list_foreach_safe(link, &t->edges) notify_waiter(context, (struct edge *)link);
}

static void
notify_watchers(struct task_watch *watch, void *context)
{
    list_foreach_safe(link, &watch->waiters) notify_waiter(context, (struct edge *)link);
}

/* ---- Elements ---- */

/* Many elements of the target may have changed. */
static void
check_gates(struct dependency_target *t, void *context)
{
    struct dependencies *d = context;

    list_foreach_safe(link, &t->edges)
    {
        struct edge *e = (struct edge *)link;

        if (!e->is_by_element)
            continue;
        element_gate_check_all(e->waiter->gate);
        wake(e->waiter->key, d);
    }
}

void
dependencies_see_element(struct dependencies *d, const char *job_uid, int64_t index,
                         enum element_state state)
{
    struct dependency_target *t = dependency_targets_find(d->targets, job_uid);

    if (t == NULL || t->elements == NULL)
        return;
    element_ends_see(t->elements, index, state);
    if (t->watches != NULL)
        task_watches_note_end(t->watches, t->elements, index);
    list_foreach_safe(link, &t->edges)
    {
        struct edge *e = (struct edge *)link;

        if (e->is_by_element && element_gate_note_end(e->waiter->gate, t->elements, index))
            wake(e->waiter->key, d);
    }
}

void
dependencies_see_pod(struct dependencies *d, const char *job_uid, const struct object *pod)
{
    struct dependency_target *t = dependency_targets_find(d->targets, job_uid);

    if (t != NULL)
        dependency_target_see_pod(t, pod);
}

/* ---- Waiters ---- */

static void
see_waiter(struct dependencies *d, const char *key, const struct object *object)
{
    struct waiter *w = map_find(d->waiters, key);
    const struct job *job = object != NULL ? job_of(object) : NULL;
    const bool waits =
        job != NULL && (job_waits_for_others(job) || dependency_waiter_waits_by_element(job));

    if (w != NULL && waits && dependency_waiter_is_current(w, job))
        return;
    if (w != NULL) {
        map_remove(d->waiters, key);
        dependency_waiter_leave(w, d->targets);
    }
    if (waits) {
        w = dependency_waiter_new(key, job, d->targets);
        map_put(d->waiters, w->key, w);
    }
}

void
dependencies_see(struct dependencies *d, const struct object *old_job, const struct object *new_job)
{
    const struct object *job = new_job != NULL ? new_job : old_job;
    struct dependency_target *t = dependency_targets_find(d->targets, job->meta->uid);
    char key[OBJECT_KEY_SIZE];

    object_key(job, key);
    if (t != NULL && new_job != NULL)
        dependency_target_see(d->targets, t, new_job);
    else if (t != NULL)
        dependency_target_see_gone(d->targets, t, old_job);
    singletons_see(d->singletons, old_job, new_job);
    see_waiter(d, key, new_job);
}

/* ---- A verdict ---- */

static void
wake_after(struct dependency_answer *answer, int64_t us)
{
    if (answer->wake_after_us == 0 || us < answer->wake_after_us)
        answer->wake_after_us = us;
}

/* When what the edge waits for has begun; 0: it has not. */
static int64_t
find_began(const struct dependencies *d, const struct edge *e)
{
    if (e->target == NULL)
        return e->began_us;
    if (e->watch != NULL)
        return e->watch->verdict == DEPENDENCY_IS_MET
                   ? dependency_target_watch_began(d->targets, e->target, e->watch)
                   : 0;
    return e->target->stage >= DEPENDENCY_STAGE_STARTED ? e->target->began_us : 0;
}

/* A delay runs on the monotonic clock from when it is first judged after the
 * start, shortened by the real time since the start; it is never longer than
 * delay_us, even if the real clock was set back.
 */
static enum job_dependency_verdict
judge_delay(const struct dependencies *d, struct edge *e, struct dependency_answer *answer)
{
    const int64_t now_us = clock_monotonic_us(d->settings.clock);
    const int64_t began_us = find_began(d, e);
    int64_t left_us;

    if (began_us == 0)
        return DEPENDENCY_WAITS;
    if (e->due_us == 0) {
        left_us = began_us + e->delay_us - clock_real_us(d->settings.clock);
        if (left_us > e->delay_us)
            left_us = e->delay_us;
        e->due_us = now_us + (left_us > 0 ? left_us : 0);
    }
    left_us = e->due_us - now_us;
    if (left_us <= 0)
        return DEPENDENCY_IS_MET;
    wake_after(answer, left_us);
    return DEPENDENCY_WAITS;
}

/* A task that has failed may be requeued while its array goes on, so a job that is held
 * meanwhile is judged when it is released, as the admission has it.
 */
static bool
may_be_requeued(const struct edge *e, const struct object *job)
{
    return job_is_held_on_request(job_of(job)) && !e->target->is_gone
           && !job_state_is_ended(e->target->state);
}

static enum job_dependency_verdict
judge_watch(struct dependencies *d, struct edge *e, const struct object *job,
            struct dependency_answer *answer)
{
    if (e->watch->verdict == DEPENDENCY_IS_NEVER_MET && may_be_requeued(e, job))
        return DEPENDENCY_WAITS;
    if (e->watch->verdict == DEPENDENCY_WAITS) {
        dependency_target_read_elements(d->targets, e->target);
        if (dependency_target_ask_of_watch(d->targets, e->target, e->watch))
            wake_after(answer, ASK_AGAIN_US);
    }
    return e->delay_us > 0 ? judge_delay(d, e, answer) : e->watch->verdict;
}

static enum job_dependency_verdict
judge_edge(struct dependencies *d, struct edge *e, const struct object *job,
           struct dependency_answer *answer)
{
    if (e->type == DEPENDENCY_SINGLETON)
        return singletons_is_first(d->singletons, job) ? DEPENDENCY_IS_MET : DEPENDENCY_WAITS;
    if (e->target == NULL)
        return e->verdict == DEPENDENCY_WAITS ? judge_delay(d, e, answer) : e->verdict;
    if (e->watch != NULL)
        return judge_watch(d, e, job, answer);
    dependency_target_ask(d->targets, e->target);
    if (e->is_by_element)
        dependency_target_read_elements(d->targets, e->target);
    if (e->target->stage == DEPENDENCY_STAGE_UNKNOWN
        || (e->is_by_element && element_ends_needs_load(e->target->elements)))
        wake_after(answer, ASK_AGAIN_US);
    if (e->is_by_element)
        return element_gate_judge(e->waiter->gate);
    return e->delay_us > 0 ? judge_delay(d, e, answer) : e->verdict;
}

static const char *
format_never(struct arena *arena, const struct edge *e, const struct job_dependency *dependency,
             enum job_state state)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf named = STRBUF_INIT;

    if (e->target != NULL)
        state = e->watch != NULL ? task_watch_end(e->watch) : e->target->state;
    job_dependency_format(dependency, &text);
    job_dependency_format_job(dependency, &named);
    if (!job_state_is_ended(state))
        return arena_printf(arena,
                            "%s can never be met: no task of job %" PRId64 " "
                            "that may still complete has the number of a "
                            "waiting task",
                            text.text, dependency->job);
    return arena_printf(arena, "%s can never be met: job %s has ended as %s", text.text, named.text,
                        job_state_words(state)->name);
}

/* NULL: the target is not gone, or its end is not known yet. */
static struct json *
describe_end(struct arena *arena, const struct edge *e)
{
    const struct dependency_target *t = e->target;
    const enum job_state state = t == NULL          ? JOB_STATE_NONE
                                 : e->watch != NULL ? task_watch_end(e->watch)
                                                    : t->state;
    int64_t began_us;
    char began[TIME_TEXT_SIZE];
    struct json *one;

    if (t == NULL || !t->is_gone || state == JOB_STATE_NONE)
        return NULL;
    one = json_object(arena);
    json_set_string(arena, one, "uid", t->uid);
    if (e->watch != NULL)
        json_set_string(arena, one, "tasks", arena_strdup(arena, e->watch->tasks));
    json_set_string(arena, one, "state", job_state_words(state)->name);
    began_us = e->watch != NULL ? e->watch->began_us : t->began_us;
    if (began_us != 0) {
        time_format(began_us, false, began);
        json_set_string(arena, one, "startTime", began);
    }
    return one;
}

/* Includes the ends noted before, since a merge patch replaces a whole list.
 * NULL: none is new.
 */
static struct json *
note_ended(struct arena *arena, const struct waiter *w, const struct job *job)
{
    const struct job_dependencies *all = job->spec.dependencies;
    struct json *list = json_array(arena);
    bool is_new = false;

    for (unsigned i = 0; i < w->n_edges; i++) {
        struct json *one = describe_end(arena, &w->edges[i]);

        if (one == NULL)
            continue;
        is_new = is_new || job_dependency_noted(job, &all->jobs.items[i]) == JOB_STATE_NONE;
        json_append(arena, list, one);
    }
    return is_new ? list : NULL;
}

void
dependencies_judge(struct dependencies *d, const struct object *object, struct arena *arena,
                   struct dependency_answer *ret_answer)
{
    const struct job *job = job_of(object);
    const struct job_dependencies *all = job->spec.dependencies;
    struct dependency_answer answer = {0};
    char key[OBJECT_KEY_SIZE];
    struct waiter *w;
    unsigned n_met = 0, n_never = 0;

    object_key(object, key);
    see_waiter(d, key, object);
    w = map_find(d->waiters, key);
    for (unsigned i = 0; w != NULL && i < w->n_edges; i++) {
        const enum job_dependency_verdict v = judge_edge(d, &w->edges[i], object, &answer);

        n_met += v == DEPENDENCY_IS_MET;
        n_never += v == DEPENDENCY_IS_NEVER_MET;
        if (v == DEPENDENCY_IS_NEVER_MET && answer.message == NULL)
            answer.message = format_never(arena, &w->edges[i], &all->jobs.items[i],
                                          job_dependency_noted(job, &all->jobs.items[i]));
    }
    if (w == NULL || (w->is_any ? n_met > 0 : n_met == w->n_edges))
        answer.verdict = DEPENDENCY_IS_MET;
    else if (w->is_any ? n_never == w->n_edges : n_never > 0)
        answer.verdict = DEPENDENCY_IS_NEVER_MET;
    else
        answer.ended = note_ended(arena, w, job);
    *ret_answer = answer;
}

struct element_gate *
dependencies_gate(struct dependencies *d, const struct object *object, int64_t *ret_wake_after_us)
{
    struct dependency_answer answer = {0};
    char key[OBJECT_KEY_SIZE];
    struct waiter *w;

    *ret_wake_after_us = 0;
    if (!dependency_waiter_waits_by_element(job_of(object)))
        return NULL;
    object_key(object, key);
    see_waiter(d, key, object);
    w = map_find(d->waiters, key);
    for (unsigned i = 0; w != NULL && i < w->n_edges; i++)
        if (w->edges[i].is_by_element)
            judge_edge(d, &w->edges[i], object, &answer);
    *ret_wake_after_us = answer.wake_after_us;
    return w != NULL ? w->gate : NULL;
}

/* ---- Life ---- */

void
dependencies_start(struct dependencies *d)
{
    dependency_targets_start(d->targets);
}

void
dependencies_free(struct dependencies *d)
{
    size_t at = 0;
    void *value;

    if (d == NULL)
        return;
    while (map_next(d->waiters, &at, NULL, &value))
        dependency_waiter_free(value);
    map_free(d->waiters);
    dependency_targets_free(d->targets);
    singletons_free(d->singletons);
    free(d);
}

struct dependencies *
dependencies_new(const struct dependencies_settings *settings)
{
    struct dependencies *d = xnew(struct dependencies);

    d->settings = *settings;
    d->waiters = map_new();
    d->targets = dependency_targets_new(&(struct dependency_targets_settings){
        .client = settings->client,
        .cache = settings->cache,
        .clock = settings->clock,
        .changed = notify_waiters,
        .elements_changed = check_gates,
        .watch_changed = notify_watchers,
        .context = d,
    });
    d->singletons = singletons_new(settings->cache, wake, d);
    return d;
}
