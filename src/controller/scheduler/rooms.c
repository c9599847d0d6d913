/* SPDX-License-Identifier: Apache-2.0 */
/* The rooms of the scheduler: made, counted and freed. */
#include "controller/scheduler/adoption.h"
#include "controller/scheduler/assignments.h"
#include "controller/scheduler/binders.h"
#include "controller/scheduler/cache.h"
#include "controller/scheduler/chooser.h"
#include "controller/scheduler/consultations.h"
#include "controller/scheduler/debugger.h"
#include "controller/scheduler/dispatcher.h"
#include "controller/scheduler/evictions.h"
#include "controller/scheduler/extenders/extender.h"
#include "controller/scheduler/feature_gate.h"
#include "controller/scheduler/framework/names.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/volume_book.h"
#include "controller/scheduler/meters.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/queue.h"
#include "controller/scheduler/recorder.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/volume_calls.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

static int
make_profiles(struct scheduler *s, struct error *err)
{
    const struct profile_settings own = {
        .scheduler_name = SCHEDULER_DEFAULT_NAME,
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
call_ended(const struct dispatch_kind *kind,
           int code,
           int64_t took_us,
           void *context)
{
    const struct scheduler *s = context;

    meters_call(s->meters, kind->name, code >= 200 && code < 300, took_us);
}

static void
eviction_begins(struct pod_view *victim, const char *message, void *context)
{
    const struct scheduler *s = context;

    recorder_event(s->recorder, victim, "Normal", "Preempted", message);
}

static void
eviction_ended(const struct pod_view *preemptor,
               bool has_failed,
               int64_t took_us,
               void *context)
{
    const struct scheduler *s = context;

    meters_eviction(s->meters, !has_failed, took_us);
    if (has_failed)
        queue_activate(s->queue, preemptor->namespace, preemptor->name);
}

static const struct node_view *
find_node(const char *name, void *context)
{
    const struct scheduler *s = context;

    return cache_find_node(s->cache, name);
}

static void
make_extenders(struct scheduler *s)
{
    const struct scheduler_settings *set = &s->settings;

    if (set->extenders == NULL || set->extenders->count == 0)
        return;
    s->consultations = consultations_new(&(struct consultations_settings){
        .courier = set->courier,
        .extenders = set->extenders,
        .clock = set->clock,
        .reasons = s->reasons,
        .find_node = find_node,
        .ready = pod_activated,
        .abandon = assignment_abandon,
        .context = s,
    });
    s->binders = binders_new(&(struct binders_settings){
        .courier = set->courier,
        .extenders = set->extenders,
        .bound = scheduler_pod_outsourced,
        .context = s,
    });
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
        .leaving = scheduler_pod_leaves,
        .ended = scheduler_pod_ended,
        .passed = scheduler_pod_passed,
        .outsource = scheduler_outsource,
        .context = s,
    });
    s->volume_calls = volume_calls_new(&(struct volume_calls_settings){
        .client = set->client,
        .clock = set->clock,
        .book = s->handle.volumes,
        .ended = scheduler_volumes_ended,
        .context = s,
    });
    s->debugger = debugger_new(&(struct debugger_settings){
        .client = set->client,
        .cache = s->cache,
        .queue = s->queue,
        .nominator = s->handle.nominator,
    });
    s->dispatcher = dispatcher_new(&(struct dispatcher_settings){
        .client = set->client,
        .clock = set->clock,
        .ended = call_ended,
        .context = s,
    });
    dispatcher_hold(s->dispatcher, true); /* until it leads */
    s->recorder = recorder_new(&(struct recorder_settings){
        .dispatcher = s->dispatcher,
        .clock = set->clock,
        .component =
            set->component != NULL ? set->component : SCHEDULER_DEFAULT_NAME,
    });
    s->phantoms = (struct phantoms){
        .cache = s->cache,
        .queue = s->queue,
        .resources = s->resources,
    };
    s->adoption = adoption_new(set->client, set->clock, s->cache);
    s->meters = meters_new(set->metrics);
    s->evictions = evictions_new(&(struct evictions_settings){
        .client = set->client,
        .clock = set->clock,
        .begins = eviction_begins,
        .ended = eviction_ended,
        .context = s,
    });
    s->objects = map_new();
    make_extenders(s);
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
    dispatcher_hold(s->dispatcher, true); /* what ends below starts nothing */
    debugger_free(s->debugger);
    volume_calls_free(s->volume_calls);
    consultations_free(s->consultations);
    binders_free(s->binders);
    assignments_free(s->assignments);
    evictions_free(s->evictions);
    recorder_free(s->recorder);
    dispatcher_free(s->dispatcher);
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
        .parked = s->consultations != NULL
                      ? consultations_count(s->consultations)
                      : 0,
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
