/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/dependencies/dependencies.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/dependencies/element_gate.h"
#include "controller/lifecycle/dependencies/singletons.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define SECOND_US    INT64_C(1000000)
#define ASK_AGAIN_US (2 * SECOND_US) /* of what was not answered */

enum stage {
    STAGE_UNKNOWN, /* it is not there: was it ever? */
    STAGE_WAITS,
    STAGE_STARTED,
    STAGE_ENDED,
};

/* A job that others wait for. */
struct target {
    char *uid, *namespace, *name;
    int64_t id;
    struct list edges;
    enum stage stage;
    enum job_state state; /* of one that has ended */
    int64_t began_us; /* real: of its first process, or its end without one */
    bool is_gone;     /* its end is noted by those who wait for it */
    bool is_asked;
    bool is_read; /* or on its way */
    unsigned n_reading;
    struct element_ends *elements; /* NULL: nobody waits for one of them */
};

struct waiter;

struct edge {
    struct list link; /* of the target's edges */
    struct waiter *waiter;
    struct target *target; /* NULL: a singleton */
    enum job_dependency_type type;
    enum job_dependency_verdict
        verdict; /* but for what time or others decide */
    bool is_by_element;
    int64_t delay_us;
    int64_t due_us; /* monotonic; 0: not known yet */
};

struct waiter {
    char *key;
    char *uid;
    bool is_any;
    struct element_gate *gate; /* NULL: it waits as a whole */
    unsigned n_edges;
    int n_met, n_never;
    struct edge *edges;
};

struct dependencies {
    struct dependencies_settings settings;
    struct singletons *singletons;
    struct map *targets; /* by uid */
    struct map *waiters; /* by key */
    struct list asking;
    bool has_started;
};

/* A question that is under way; it outlives whoever asked. */
struct question {
    struct list link;
    struct dependencies *asker; /* NULL: gone */
    char *uid;
};

/* ---- Verdicts ---- */

static void
wake(const char *key, void *context)
{
    struct dependencies *d = context;

    d->settings.wake(key, d->settings.context);
}

static enum job_dependency_verdict
judge_target(const struct edge *e)
{
    const struct target *t = e->target;

    if (t == NULL || e->delay_us > 0 || e->is_by_element)
        return DEPENDENCY_WAITS; /* asked for in each look */
    if (t->stage == STAGE_ENDED)
        return job_dependency_judge_end(e->type, t->state);
    return t->stage == STAGE_STARTED && e->type == DEPENDENCY_AFTER
               ? DEPENDENCY_IS_MET
               : DEPENDENCY_WAITS;
}

static void
count(struct waiter *w, enum job_dependency_verdict verdict, int by)
{
    w->n_met += verdict == DEPENDENCY_IS_MET ? by : 0;
    w->n_never += verdict == DEPENDENCY_IS_NEVER_MET ? by : 0;
}

static bool
is_decided(const struct waiter *w)
{
    return w->is_any ? w->n_met > 0 || w->n_never == (int)w->n_edges
                     : w->n_never > 0 || w->n_met == (int)w->n_edges;
}

static void
set_verdict(struct edge *e)
{
    const enum job_dependency_verdict verdict = judge_target(e);

    if (verdict == e->verdict)
        return;
    count(e->waiter, e->verdict, -1);
    count(e->waiter, verdict, 1);
    e->verdict = verdict;
}

/* Whoever is gone is to be noted, also where it decides nothing. */
static void
tell_waiters(struct dependencies *d, struct target *t)
{
    list_foreach_safe(link, &t->edges)
    {
        struct edge *e = (struct edge *)link;

        set_verdict(e);
        if (t->is_gone || e->delay_us > 0 || e->is_by_element
            || is_decided(e->waiter))
            wake(e->waiter->key, d);
    }
}

/* ---- Elements ---- */

/* Much of what is known of them is another now. */
static void
look_at_gates(struct dependencies *d, struct target *t)
{
    list_foreach_safe(link, &t->edges)
    {
        struct edge *e = (struct edge *)link;

        if (!e->is_by_element)
            continue;
        element_gate_look_at_all(e->waiter->gate);
        wake(e->waiter->key, d);
    }
}

void
dependencies_see_element(struct dependencies *d,
                         const char *job_uid,
                         int64_t index,
                         bool is_ok)
{
    struct target *t = map_find(d->targets, job_uid);

    if (t == NULL || t->elements == NULL)
        return;
    element_ends_see(t->elements, index, is_ok);
    list_foreach_safe(link, &t->edges)
    {
        struct edge *e = (struct edge *)link;

        if (e->is_by_element
            && element_gate_hear(e->waiter->gate, t->elements, index))
            wake(e->waiter->key, d);
    }
}

static void
close_elements(struct dependencies *d, struct target *t)
{
    if (t->elements == NULL)
        return;
    t->is_read = false; /* once more, when nothing changes any more */
    element_ends_close(t->elements,
                       t->state == JOB_STATE_COMPLETED,
                       t->is_gone);
    look_at_gates(d, t);
}

/* ---- Targets ---- */

static void
find_start(const struct object *object, void *context)
{
    int64_t *earliest = context;
    struct container_state state;

    if (pod_main_state(pod_of(object), &state) && state.started_at_us != 0
        && (*earliest == 0 || state.started_at_us < *earliest))
        *earliest = state.started_at_us;
}

static int64_t
find_began(const struct dependencies *d, const struct job *job)
{
    const struct job_run *run = job->status.last_run;
    int64_t began_us = run != NULL ? run->started_at_us : 0;

    object_cache_visit_owned(d->settings.cache,
                             job->meta.uid,
                             find_start,
                             &began_us);
    if (began_us == 0)
        began_us = job_ended_at_us(job);
    return began_us != 0 ? began_us : clock_real_us(d->settings.clock);
}

static bool
has_started(const struct job *job)
{
    const struct job_run *run = job->status.last_run;

    switch (job_find_state(job)) {
    case JOB_STATE_RUNNING:
    case JOB_STATE_FROZEN:
    case JOB_STATE_UNKNOWN:
        return true;
    default:
        return run != NULL && run->started_at_us != 0;
    }
}

static void
see_target(struct dependencies *d,
           struct target *t,
           const struct object *object)
{
    const struct job *job = job_of(object);
    enum stage stage = job_is_finished(job) ? STAGE_ENDED
                       : has_started(job)   ? STAGE_STARTED
                                            : STAGE_WAITS;

    if (t->elements != NULL)
        element_ends_follow(t->elements, job);
    if (stage <= t->stage)
        return; /* started is for good, though it may wait again */
    if (t->stage < STAGE_STARTED && stage >= STAGE_STARTED)
        t->began_us = find_began(d, job);
    t->stage = stage;
    t->state = stage == STAGE_ENDED ? job_find_state(job) : JOB_STATE_NONE;
    if (stage == STAGE_ENDED)
        close_elements(d, t);
    tell_waiters(d, t);
}

/* Gone before it has ended, as far as anybody knows. */
static void
settle(struct dependencies *d, struct target *t, enum job_state state)
{
    if (t->stage != STAGE_ENDED) {
        if (t->stage < STAGE_STARTED)
            t->began_us = clock_real_us(d->settings.clock);
        t->stage = STAGE_ENDED;
        t->state = state != JOB_STATE_NONE ? state : JOB_STATE_CANCELLED;
    }
    t->is_gone = true;
    close_elements(d, t);
    tell_waiters(d, t);
}

static void
free_target(struct target *t)
{
    free(t->uid);
    free(t->namespace);
    free(t->name);
    element_ends_free(t->elements);
    free(t);
}

static void
forget_target(struct dependencies *d, struct target *t)
{
    map_remove(d->targets, t->uid);
    free_target(t);
}

/* ---- What is gone ---- */

static enum job_state
read_state(const struct client_reply *reply)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *answer =
        json_parse(arena, reply->text, reply->length, NULL, NULL);

    return job_state_of_name(json_get_text(answer, "state"));
}

/* 404: nobody knows of an end of it. Anything else is asked again, when somebody
 * looks.
 */
static void
on_end(const struct client_reply *reply, void *context)
{
    struct question *question = context;
    struct dependencies *d = question->asker;
    struct target *t = d != NULL ? map_find(d->targets, question->uid) : NULL;

    list_remove(&question->link);
    if (t != NULL) {
        t->is_asked = false;
        if (reply->code == 404)
            settle(d, t, JOB_STATE_NONE);
        else if (reply->code == 200)
            settle(d, t, read_state(reply));
        else
            tell_waiters(d, t);
    }
    free(question->uid);
    free(question);
}

static void
ask(struct dependencies *d, struct target *t)
{
    CLEANUP_FREE char *query = xasprintf("uid=%s&id=%" PRId64, t->uid, t->id);
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = &job_kind,
        .namespace = t->namespace,
        .name = t->name,
        .subresource = "end",
        .query = query,
        .raw = true,
    };
    struct question *question;

    if (t->is_asked || t->stage != STAGE_UNKNOWN || !d->has_started)
        return;
    t->is_asked = true;
    question = xnew(struct question);
    question->asker = d;
    question->uid = xstrdup(t->uid);
    list_add_last(&d->asking, &question->link);
    client_call(d->settings.client, NULL, &request, on_end, question);
}

/* ---- What is noted of elements ---- */

static void
on_elements(const struct client_reply *reply, void *context)
{
    struct question *question = context;
    struct dependencies *d = question->asker;
    struct target *t = d != NULL ? map_find(d->targets, question->uid) : NULL;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    list_remove(&question->link);
    if (t != NULL && t->elements != NULL && --t->n_reading == 0) {
        t->is_read =
            reply->code == 200 && reply->text != NULL
            && element_ends_load(
                t->elements,
                json_parse(arena, reply->text, reply->length, NULL, NULL));
        if (t->is_read)
            look_at_gates(d, t);
    }
    free(question->uid);
    free(question);
}

static void
read_elements(struct dependencies *d, struct target *t)
{
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = &job_kind,
        .namespace = t->namespace,
        .name = t->name,
        .subresource = "elements",
        .query = "view=record",
        .raw = true,
    };
    struct question *question;

    if (t->is_read || t->is_gone || !d->has_started
        || !element_ends_needs_load(t->elements))
        return;
    t->is_read = true;
    t->n_reading++;
    question = xnew(struct question);
    question->asker = d;
    question->uid = xstrdup(t->uid);
    list_add_last(&d->asking, &question->link);
    client_call(d->settings.client, NULL, &request, on_elements, question);
}

/* Somebody waits for one of them, from now on. */
static void
add_elements(struct dependencies *d, struct target *t)
{
    const struct object *object =
        object_cache_find(d->settings.cache, &job_kind, t->namespace, t->name);

    if (t->elements != NULL)
        return;
    t->elements = element_ends_new();
    if (object != NULL && strcmp(object->meta->uid, t->uid) == 0)
        element_ends_follow(t->elements, job_of(object));
    if (t->stage == STAGE_ENDED)
        close_elements(d, t);
}

static struct target *
make_target(struct dependencies *d, const struct job_dependency *dependency)
{
    struct target *t = map_find(d->targets, dependency->uid);
    const struct object *object;

    if (t != NULL)
        return t;
    t = xnew(struct target);
    list_init(&t->edges);
    t->id = dependency->job;
    t->uid = xstrdup(dependency->uid);
    t->namespace = xstrdup(dependency->namespace);
    t->name = xstrdup(dependency->name);
    map_put(d->targets, t->uid, t);
    object =
        object_cache_find(d->settings.cache, &job_kind, t->namespace, t->name);
    if (object != NULL && strcmp(object->meta->uid, t->uid) == 0)
        see_target(d, t, object);
    return t;
}

/* ---- Waiters ---- */

static void
free_waiter(struct waiter *w)
{
    element_gate_free(w->gate);
    free(w->edges);
    free(w->key);
    free(w->uid);
    free(w);
}

static void
forget_waiter(struct dependencies *d, struct waiter *w)
{
    map_remove(d->waiters, w->key);
    for (unsigned i = 0; i < w->n_edges; i++) {
        struct target *t = w->edges[i].target;

        if (t == NULL)
            continue;
        list_remove(&w->edges[i].link);
        if (list_is_empty(&t->edges))
            forget_target(d, t);
    }
    free_waiter(w);
}

static bool
is_target(const struct job_dependency *dependency)
{
    return dependency->uid != NULL && dependency->namespace != NULL
           && dependency->name != NULL && dependency->ended == NULL;
}

static void
add_edge(struct dependencies *d,
         struct waiter *w,
         const struct job *job,
         const struct job_dependency *dependency)
{
    struct edge *e = &w->edges[w->n_edges++];
    const enum job_state noted = job_dependency_noted(job, dependency);

    *e = (struct edge){
        .waiter = w,
        .type = job_dependency_type_of(dependency->type),
        .delay_us = dependency->delay_s * SECOND_US,
    };
    list_init(&e->link);
    if (!is_target(dependency)) {
        if (e->type != DEPENDENCY_SINGLETON)
            e->verdict = job_dependency_judge_end(e->type, noted);
        count(w, e->verdict, 1);
        return;
    }
    e->target = make_target(d, dependency);
    list_add_last(&e->target->edges, &e->link);
    if (w->gate != NULL && e->type == DEPENDENCY_CORR) {
        e->is_by_element = true;
        add_elements(d, e->target);
        element_gate_add(w->gate, e->target->elements);
    }
    if (noted != JOB_STATE_NONE && e->target->stage != STAGE_ENDED)
        settle(d, e->target, noted);
    set_verdict(e);
    if (e->target->stage == STAGE_UNKNOWN)
        ask(d, e->target);
}

/* Any of several is waited for as a whole. */
static bool
waits_by_element(const struct job *job)
{
    const struct job_dependencies *all = job->spec.dependencies;

    if (all == NULL || !job_is_array(job) || job_is_finished(job)
        || job_dependencies_any(all))
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
        || e->delay_us != dependency->delay_s * SECOND_US)
        return false;
    return e->target != NULL
               ? dependency->uid != NULL
                     && strcmp(e->target->uid, dependency->uid) == 0
               : !is_target(dependency);
}

static bool
is_current(const struct waiter *w, const struct job *job)
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

static struct waiter *
add_waiter(struct dependencies *d, const char *key, const struct job *job)
{
    const struct job_dependencies *all = job->spec.dependencies;
    struct waiter *w = xnew(struct waiter);

    w->key = xstrdup(key);
    w->uid = xstrdup(job->meta.uid);
    w->is_any = job_dependencies_any(all);
    w->edges = xnew_array(struct edge, all->jobs.count + 1);
    map_put(d->waiters, w->key, w);
    if (waits_by_element(job))
        w->gate = element_gate_new(job);
    for (unsigned i = 0; i < all->jobs.count; i++)
        add_edge(d, w, job, &all->jobs.items[i]);
    if (w->gate != NULL)
        element_gate_complete(w->gate);
    return w;
}

static void
see_waiter(struct dependencies *d, const char *key, const struct object *object)
{
    struct waiter *w = map_find(d->waiters, key);
    const struct job *job = object != NULL ? job_of(object) : NULL;
    const bool waits =
        job != NULL && (job_waits_for_others(job) || waits_by_element(job));

    if (w != NULL && waits && is_current(w, job))
        return;
    if (w != NULL)
        forget_waiter(d, w);
    if (waits)
        add_waiter(d, key, job);
}

void
dependencies_see(struct dependencies *d,
                 const struct object *old_job,
                 const struct object *new_job)
{
    const struct object *job = new_job != NULL ? new_job : old_job;
    struct target *t = map_find(d->targets, job->meta->uid);
    char key[OBJECT_KEY_SIZE];

    object_key(job, key);
    if (t != NULL && new_job != NULL)
        see_target(d, t, new_job);
    else if (t != NULL)
        settle(d, t, JOB_STATE_NONE);
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

/* Since when it was first heard of, and never longer than was asked for. */
static enum job_dependency_verdict
judge_delay(const struct dependencies *d,
            struct edge *e,
            struct dependency_answer *answer)
{
    const int64_t now_us = clock_monotonic_us(d->settings.clock);
    int64_t left_us;

    if (e->target->stage < STAGE_STARTED)
        return DEPENDENCY_WAITS;
    if (e->due_us == 0) {
        left_us = e->target->began_us + e->delay_us
                  - clock_real_us(d->settings.clock);
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

static enum job_dependency_verdict
judge_edge(struct dependencies *d,
           struct edge *e,
           const struct object *job,
           struct dependency_answer *answer)
{
    if (e->type == DEPENDENCY_SINGLETON)
        return singletons_is_first(d->singletons, job) ? DEPENDENCY_IS_MET
                                                       : DEPENDENCY_WAITS;
    if (e->target == NULL)
        return e->verdict;
    ask(d, e->target);
    if (e->is_by_element)
        read_elements(d, e->target);
    if (e->target->stage == STAGE_UNKNOWN
        || (e->is_by_element && element_ends_needs_load(e->target->elements)))
        wake_after(answer, ASK_AGAIN_US);
    if (e->is_by_element)
        return element_gate_judge(e->waiter->gate);
    return e->delay_us > 0 ? judge_delay(d, e, answer) : e->verdict;
}

static const char *
format_never(struct arena *arena,
             const struct edge *e,
             const struct job_dependency *dependency,
             enum job_state state)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (e->target != NULL)
        state = e->target->state;
    job_dependency_format(dependency, &text);
    if (!job_state_is_ended(state))
        return arena_printf(arena,
                            "%s can never be met: no task of job %" PRId64
                            " has the number of one that waits, and may "
                            "complete",
                            text.text,
                            dependency->job);
    return arena_printf(arena,
                        "%s can never be met: job %" PRId64 " has ended as %s",
                        text.text,
                        dependency->job,
                        job_state_words(state)->name);
}

/* With what was noted before, for a list is replaced as a whole. */
static struct json *
note_ended(struct arena *arena, const struct waiter *w, const struct job *job)
{
    const struct job_dependencies *all = job->spec.dependencies;
    struct json *list = json_array(arena);
    bool is_new = false;

    for (unsigned i = 0; i < w->n_edges; i++) {
        const struct target *t = w->edges[i].target;
        struct json *one;

        if (t == NULL || !t->is_gone)
            continue;
        is_new =
            is_new
            || job_dependency_noted(job, &all->jobs.items[i]) == JOB_STATE_NONE;
        one = json_object(arena);
        json_set_string(arena, one, "uid", t->uid);
        json_set_string(arena, one, "state", job_state_words(t->state)->name);
        json_append(arena, list, one);
    }
    return is_new ? list : NULL;
}

void
dependencies_judge(struct dependencies *d,
                   const struct object *object,
                   struct arena *arena,
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
        const enum job_dependency_verdict v =
            judge_edge(d, &w->edges[i], object, &answer);

        n_met += v == DEPENDENCY_IS_MET;
        n_never += v == DEPENDENCY_IS_NEVER_MET;
        if (v == DEPENDENCY_IS_NEVER_MET && answer.message == NULL)
            answer.message =
                format_never(arena,
                             &w->edges[i],
                             &all->jobs.items[i],
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
dependencies_gate(struct dependencies *d,
                  const struct object *object,
                  int64_t *ret_wake_after_us)
{
    struct dependency_answer answer = {0};
    char key[OBJECT_KEY_SIZE];
    struct waiter *w;

    *ret_wake_after_us = 0;
    if (!waits_by_element(job_of(object)))
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

/* A job that is not in the cache now has gone before. */
void
dependencies_start(struct dependencies *d)
{
    size_t at = 0;
    void *t;

    d->has_started = true;
    while (map_next(d->targets, &at, NULL, &t))
        ask(d, t);
}

void
dependencies_free(struct dependencies *d)
{
    size_t at = 0;
    void *value;

    if (d == NULL)
        return;
    list_foreach_safe(link, &d->asking)
    {
        ((struct question *)link)->asker = NULL;
        list_remove(link);
    }
    while (map_next(d->waiters, &at, NULL, &value)) {
        free_waiter(value);
    }
    at = 0;
    while (map_next(d->targets, &at, NULL, &value))
        free_target(value);
    map_free(d->waiters);
    map_free(d->targets);
    singletons_free(d->singletons);
    free(d);
}

struct dependencies *
dependencies_new(const struct dependencies_settings *settings)
{
    struct dependencies *d = xnew(struct dependencies);

    d->settings = *settings;
    list_init(&d->asking);
    d->targets = map_new();
    d->waiters = map_new();
    d->singletons = singletons_new(settings->cache, wake, d);
    return d;
}
