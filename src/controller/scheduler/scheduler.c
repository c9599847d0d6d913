/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/scheduler.h"

#include <string.h>

#include "controller/scheduler/adoption.h"
#include "controller/scheduler/allocator/holding.h"
#include "controller/scheduler/assignments.h"
#include "controller/scheduler/cache.h"
#include "controller/scheduler/chooser.h"
#include "controller/scheduler/debugger.h"
#include "controller/scheduler/evictions.h"
#include "controller/scheduler/feature_gate.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/names.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/volume_book.h"
#include "controller/scheduler/meters.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/queue.h"
#include "controller/scheduler/recorder.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/volume_calls.h"
#include "lib/api/object.h"
#include "lib/api/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"

#define DEFAULT_NAME "default-scheduler"

#define LEFTOVER_EVERY_US (INT64_C(30) * 1000000)

/* A cycle that takes longer is worth a line in the log. */
#define SLOW_CYCLE_US 100000

/* The cycle */

static int64_t
now_us(const struct scheduler *s)
{
    return clock_monotonic_us(s->settings.clock);
}

static struct assignment *
begin_assignment(struct scheduler *s, struct queued_pod *queued)
{
    struct assignment *a = xnew(struct assignment);

    list_init(&a->link);
    a->queued = queued;
    a->profile = queued->profile;
    a->began_us = s->steps.began_us;
    cycle_init(&a->cycle, queued->pod, &s->snapshot);
    return a;
}

/* Back to the queue: the pod is not the assignment's any more. */
static void
return_to_queue(struct scheduler *s, struct assignment *a)
{
    struct queued_pod *queued = a->queued;

    a->queued = NULL;
    if (a->has_left)
        queue_return(s->queue, queued);
    else
        queue_fail(s->queue, queued);
}

static void
attempt_ended(struct scheduler *s,
              const struct assignment *a,
              enum meter_result result)
{
    meters_attempt(s->meters,
                   a->profile->scheduler_name,
                   result,
                   now_us(s) - a->began_us);
}

static void
make_way(struct scheduler *s,
         struct assignment *a,
         const struct diagnosis *d,
         const char **ret_nominated,
         struct strbuf *message)
{
    uint64_t before = s->evicted;

    if (a->profile->orders[POINT_POSTFILTER].count == 0)
        return;
    profile_postfilter(a->profile, &a->cycle, d, ret_nominated, message);
    steps_mark(&s->steps, STEP_POSTFILTER);
    meters_preemption(s->meters, (unsigned)(s->evicted - before));
}

/* It fits nowhere now. Postfilter may make room for it. */
static void
give_up(struct scheduler *s, struct assignment *a)
{
    const struct diagnosis *d = chooser_diagnosis(s->chooser);
    struct queued_pod *queued = a->queued;
    CLEANUP_STRBUF struct strbuf message = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf more = STRBUF_INIT;
    const char *nominated = NULL;

    diagnosis_format(d, s->reasons, &message);
    queued->unschedulable = d->unschedulable;
    queued->pending = d->pending;
    if (d->absent.verdict != VERDICT_ERROR)
        make_way(s, a, d, &nominated, &more);
    if (more.length > 0)
        strbuf_printf(&message, " %s", more.text);
    if (nominated != NULL
        && (*nominated != '\0'
            || nominator_node(s->handle.nominator, a->cycle.pod) != NULL))
        scheduler_nominate(s, a->cycle.pod, nominated);
    recorder_failed(s->recorder,
                    a->cycle.pod,
                    d->absent.verdict == VERDICT_ERROR ? "SchedulerError"
                                                       : "Unschedulable",
                    message.text);
    s->unschedulable++;
    attempt_ended(s, a, METER_UNSCHEDULABLE);
    return_to_queue(s, a);
    assignment_free(a);
}

/* What was assumed is taken back, and others may have the room. */
static void
forget(struct scheduler *s, struct assignment *a)
{
    struct node_view *node = cache_find_node(s->cache, a->node_name);
    struct pod_view *pod = a->cycle.pod;
    bool has_volumes = cycle_get(&a->cycle, CYCLE_VOLUMES) != NULL;

    profile_unreserve(a->profile, &a->cycle, node);
    if (has_volumes)
        queue_event(s->queue, &event_storage_capacity, NULL, NULL);
    if (!cache_forget(s->cache, pod))
        return;
    holding_free(pod->holding);
    pod->holding = NULL;
    queue_event(s->queue, &event_assigned_pod_delete, NULL, NULL);
}

static void
fail(struct scheduler *s, struct assignment *a, struct answer answer)
{
    const char *reason = answer.reason != NAME_NONE
                             ? names_text(s->reasons, answer.reason)
                             : "no reason was given";
    bool is_error = answer.verdict == VERDICT_ERROR;

    if (a->queued->is_deleted)
        return;
    if (a->error != NULL)
        reason = a->error;
    if (!is_error && answer.plugin != PLUGIN_NONE)
        a->queued->unschedulable |= PLUGIN_BIT(answer.plugin);
    recorder_failed(s->recorder,
                    a->cycle.pod,
                    is_error ? "SchedulerError" : "Unschedulable",
                    reason);
    if (is_error)
        s->errors++;
    else
        s->unschedulable++;
    attempt_ended(s, a, is_error ? METER_ERROR : METER_UNSCHEDULABLE);
}

static void
assume(struct scheduler *s, struct assignment *a, struct node_view *node)
{
    struct answer answer;

    a->node_name = xstrdup(node->name);
    if (cache_assume(s->cache, a->cycle.pod, node->name) < 0) {
        answer = (struct answer){
            .verdict = VERDICT_ERROR,
            .plugin = PLUGIN_NONE,
            .reason = names_number(s->reasons, "the pod is assumed already"),
        };
        fail(s, a, answer);
        return_to_queue(s, a);
        assignment_free(a);
        return;
    }
    nominator_remove(s->handle.nominator, a->cycle.pod);
    answer = profile_reserve(a->profile, &a->cycle, node);
    steps_mark(&s->steps, STEP_RESERVE);
    if (answer.verdict == VERDICT_OK) {
        assignments_start(s->assignments, a, node);
        return;
    }
    forget(s, a);
    fail(s, a, answer);
    return_to_queue(s, a);
    assignment_free(a);
}

static bool
should_skip(const struct scheduler *s, const struct queued_pod *queued)
{
    return queued->is_deleted || pod_view_is_terminating(queued->pod)
           || cache_is_assumed(s->cache, queued->pod);
}

static void
tell_if_slow(const struct scheduler *s, const char *key)
{
    CLEANUP_STRBUF struct strbuf steps = STRBUF_INIT;

    if (steps_total_us(&s->steps) <= SLOW_CYCLE_US)
        return;
    steps_format(&s->steps, &steps);
    log_warning("pod '%s' took %lld ms to place among %u nodes: %s",
                key,
                (long long)(steps_total_us(&s->steps) / 1000),
                s->snapshot.n_nodes,
                steps.text);
}

static void
schedule_one(struct scheduler *s, struct queued_pod *queued)
{
    CLEANUP_FREE char *key = NULL;
    const struct profile *profile = queued->profile;
    struct assignment *a;
    struct node_view *node;

    if (should_skip(s, queued)) {
        queue_leave(s->queue, queued);
        queued_pod_free(queued);
        return;
    }
    s->attempts++;
    key = xstrdup(queued->key);
    steps_begin(&s->steps, s->settings.clock);
    cache_update_snapshot(s->cache, &s->snapshot);
    steps_mark(&s->steps, STEP_SNAPSHOT);
    a = begin_assignment(s, queued);
    node = chooser_choose(s->chooser, a->profile, &a->cycle, NULL);
    meters_algorithm(s->meters, steps_total_us(&s->steps));
    if (node == NULL)
        give_up(s, a);
    else
        assume(s, a, node);
    meters_steps(s->meters, profile->scheduler_name, &s->steps);
    tell_if_slow(s, key);
}

bool
scheduler_work(struct scheduler *s, unsigned cycles)
{
    while (cycles-- > 0) {
        struct queued_pod *queued = queue_pop(s->queue);

        if (queued == NULL)
            return false;
        schedule_one(s, queued);
    }
    return queue_count(s->queue).active > 0;
}

/* The background part */

static void
assignment_leaving(struct assignment *a, void *context)
{
    struct scheduler *s = context;

    queue_leave(s->queue, a->queued);
}

static void
tell_scheduled(struct scheduler *s, const struct assignment *a)
{
    CLEANUP_STRBUF struct strbuf message = STRBUF_INIT;

    strbuf_printf(&message,
                  "Successfully assigned %s to %s",
                  a->queued->key,
                  a->node_name);
    recorder_forget(s->recorder, a->cycle.pod);
    recorder_event(s->recorder,
                   a->cycle.pod,
                   "Normal",
                   "Scheduled",
                   message.text);
}

static void
assignment_ended(struct assignment *a, struct answer answer, void *context)
{
    struct scheduler *s = context;

    if (answer.verdict == VERDICT_OK) {
        cache_finish_binding(s->cache, a->cycle.pod);
        tell_scheduled(s, a);
        attempt_ended(s, a, METER_SCHEDULED);
        meters_placed(s->meters,
                      a->queued->attempts,
                      now_us(s) - a->queued->first_at_us);
        s->scheduled++;
        return;
    }
    forget(s, a);
    fail(s, a, answer);
    return_to_queue(s, a);
}

static const char *
permit_result(enum verdict verdict, const struct assignment *a, int64_t now)
{
    if (verdict == VERDICT_OK)
        return "allowed";
    return now >= a->deadline_us ? "timeout" : "rejected";
}

static void
assignment_passed(const struct assignment *a,
                  enum verdict verdict,
                  int64_t took_us,
                  void *context)
{
    static const char *const names[] = {
        [ASSIGNMENT_PERMIT] = "Permit",
        [ASSIGNMENT_PREBIND] = "PreBind",
        [ASSIGNMENT_BIND] = "Bind",
    };
    const struct scheduler *s = context;

    meters_point(s->meters,
                 a->profile->scheduler_name,
                 names[a->stage],
                 verdict,
                 took_us);
    if (a->stage == ASSIGNMENT_PERMIT && a->has_waited)
        meters_permit_wait(s->meters,
                           permit_result(verdict, a, now_us(s)),
                           took_us);
}

/* Its claims are bound, or will not be. */
static void
volumes_ended(struct assignment *a, const char *words, void *context)
{
    struct scheduler *s = context;

    if (words != NULL) {
        free(a->error);
        a->error = xstrdup(words);
    }
    assignments_resume(s->assignments,
                       a,
                       words == NULL ? VERDICT_OK : VERDICT_ERROR,
                       NAME_NONE);
}

void
scheduler_nominate(struct scheduler *s,
                   struct pod_view *pod,
                   const char *node_name)
{
    if (*node_name == '\0')
        nominator_remove(s->handle.nominator, pod);
    else
        nominator_add(s->handle.nominator, pod, node_name);
    recorder_nominate(s->recorder, pod, node_name);
}

/* Time */

void
scheduler_tick(struct scheduler *s)
{
    struct scheduler_counts counts;

    queue_flush_backoff(s->queue);
    if (now_us(s) >= s->next_leftover_us) {
        queue_flush_leftover(s->queue);
        s->next_leftover_us = now_us(s) + LEFTOVER_EVERY_US;
    }
    assignments_expire(s->assignments);
    volume_calls_expire(s->volume_calls);
    cache_expire(s->cache);
    if (s->is_synced)
        adoption_run(s->adoption);
    recorder_flush(s->recorder);
    counts = scheduler_count(s);
    meters_counts(s->meters, &counts);
    for (unsigned i = 0; i < s->n_profiles; i++)
        meters_rejections(s->meters, s->profiles[i]);
}

int64_t
scheduler_next_us(const struct scheduler *s)
{
    return queue_next_backoff_us(s->queue);
}

/* Life */

static int
make_profiles(struct scheduler *s, struct error *err)
{
    const struct profile_settings own = {
        .scheduler_name = DEFAULT_NAME,
        .plugins = default_profile,
        .n_plugins = n_default_profile,
        .percentage_of_nodes = 100,
    };
    const struct profile_settings *given = s->settings.profiles;
    unsigned count = s->settings.n_profiles;

    if (count == 0) {
        given = &own;
        count = 1;
    }
    s->profiles = xnew_array(struct profile *, count);
    for (unsigned i = 0; i < count; i++) {
        struct profile_settings settings = given[i];
        int r;

        settings.handle = &s->handle;
        r = profile_new(&settings, &s->profiles[i], err);
        if (r < 0)
            return r;
        s->n_profiles++;
    }
    return 0;
}

static void
pod_activated(void *context)
{
    const struct scheduler *s = context;

    if (s->settings.ready != NULL)
        s->settings.ready(s->settings.context);
}

static void
pod_entered(const char *queue, const char *event, void *context)
{
    const struct scheduler *s = context;

    meters_incoming(s->meters, queue, event);
}

static void
make_rooms(struct scheduler *s)
{
    const struct scheduler_settings *set = &s->settings;

    s->queue = queue_new(&(struct queue_settings){
        .clock = set->clock,
        .nominator = s->handle.nominator,
        .signatures = s->signatures,
        .initial_backoff_us = set->initial_backoff_us,
        .max_backoff_us = set->max_backoff_us,
        .leftover_us = set->max_sleep_us,
        .is_sharing = !set->without_sharing,
        .activated = pod_activated,
        .entered = pod_entered,
        .context = s,
    });
    s->cache = cache_new(&(struct cache_settings){
        .clock = set->clock,
        .resources = s->resources,
        .expire_us = set->assume_expire_us,
    });
    s->chooser = chooser_new(&(struct chooser_settings){
        .handle = &s->handle,
        .signatures = s->signatures,
        .steps = &s->steps,
        .is_sharing = !set->without_sharing,
    });
    s->assignments = assignments_new(&(struct assignments_settings){
        .clock = set->clock,
        .handle = &s->handle,
        .leaving = assignment_leaving,
        .ended = assignment_ended,
        .passed = assignment_passed,
        .context = s,
    });
    s->volume_calls = volume_calls_new(&(struct volume_calls_settings){
        .client = set->client,
        .clock = set->clock,
        .book = s->handle.volumes,
        .ended = volumes_ended,
        .context = s,
    });
    s->debugger = debugger_new(&(struct debugger_settings){
        .client = set->client,
        .cache = s->cache,
        .queue = s->queue,
        .nominator = s->handle.nominator,
    });
    s->recorder = recorder_new(&(struct recorder_settings){
        .client = set->client,
        .clock = set->clock,
        .component = set->component != NULL ? set->component : DEFAULT_NAME,
    });
    s->adoption = adoption_new(set->client, s->cache);
    s->evictions = evictions_new(set->client, set->clock, s->recorder);
    s->meters = meters_new(set->metrics);
    s->objects = map_new();
}

int
scheduler_new(const struct scheduler_settings *settings,
              struct scheduler **ret_scheduler,
              struct error *err)
{
    CLEANUP(scheduler_freep) struct scheduler *s = xnew(struct scheduler);
    int r;

    s->settings = *settings;
    if (settings->features != NULL
        && !settings->features->is_on[FEATURE_OPPORTUNISTIC_BATCHING])
        s->settings.without_sharing = true;
    s->random.state = settings->seed;
    s->resources = names_new();
    s->reasons = names_new();
    s->signatures = names_new();
    scheduler_make_handle(s);
    make_rooms(s);
    r = make_profiles(s, err);
    if (r < 0)
        return r;
    *ret_scheduler = s;
    s = NULL;
    return 0;
}

static void
objects_free(struct map *kinds)
{
    size_t at = 0, inner;
    void *kind, *object;

    while (map_next(kinds, &at, NULL, &kind)) {
        inner = 0;
        while (map_next(kind, &inner, NULL, &object))
            object_unref(object);
        map_free(kind);
    }
    map_free(kinds);
}

void
scheduler_free(struct scheduler *s)
{
    if (s == NULL)
        return;
    debugger_free(s->debugger);
    volume_calls_free(s->volume_calls);
    assignments_free(s->assignments);
    evictions_free(s->evictions);
    recorder_free(s->recorder);
    adoption_free(s->adoption);
    queue_free(s->queue);
    chooser_free(s->chooser);
    cache_free(s->cache);
    for (unsigned i = 0; i < s->n_profiles; i++)
        profile_free(s->profiles[i]);
    free(s->profiles);
    nominator_free(s->handle.nominator);
    volume_book_free(s->handle.volumes);
    meters_free(s->meters);
    objects_free(s->objects);
    names_free(s->resources);
    names_free(s->reasons);
    names_free(s->signatures);
    free(s);
}

struct profile *
scheduler_profile(const struct scheduler *s, const struct object *pod)
{
    const char *name = pod_of(pod)->spec.scheduler_name;

    if (name == NULL || name[0] == '\0')
        name = DEFAULT_NAME;
    for (unsigned i = 0; i < s->n_profiles; i++)
        if (strcmp(s->profiles[i]->scheduler_name, name) == 0)
            return s->profiles[i];
    return NULL;
}

struct scheduler_counts
scheduler_count(const struct scheduler *s)
{
    struct queue_counts q = queue_count(s->queue);
    struct cache_counts c = cache_count(s->cache);

    return (struct scheduler_counts){
        .attempts = s->attempts,
        .scheduled = s->scheduled,
        .unschedulable = s->unschedulable,
        .errors = s->errors,
        .active = q.active,
        .backoff = q.backoff,
        .sleeping = q.sleeping,
        .gated = q.gated,
        .in_flight = q.in_flight,
        .binding = assignments_count(s->assignments),
        .nodes = c.nodes,
        .pods = c.pods,
        .assumed = c.assumed,
    };
}

void
scheduler_debug(struct scheduler *s)
{
    debugger_run(s->debugger);
}
