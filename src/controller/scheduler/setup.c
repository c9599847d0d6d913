/* SPDX-License-Identifier: Apache-2.0 */
/* The components of the scheduler: how they are made, counted and freed. */
#include <string.h>

#include "controller/scheduler/bind/binding_cycle.h"
#include "controller/scheduler/bind/dispatcher.h"
#include "controller/scheduler/bind/evictions.h"
#include "controller/scheduler/bind/unallocated_pods.h"
#include "controller/scheduler/bind/volume_calls.h"
#include "controller/scheduler/bind/yields.h"
#include "controller/scheduler/config/feature_gate.h"
#include "controller/scheduler/extenders/extender.h"
#include "controller/scheduler/extenders/extender_binder.h"
#include "controller/scheduler/extenders/extender_rounds.h"
#include "controller/scheduler/forecast_input.h"
#include "controller/scheduler/framework/node_reservations.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/framework/volume_book.h"
#include "controller/scheduler/kept_profiles.h"
#include "controller/scheduler/order/pod_ranks.h"
#include "controller/scheduler/partition_terms.h"
#include "controller/scheduler/placing/group_placer.h"
#include "controller/scheduler/placing/pod_placer.h"
#include "controller/scheduler/planning/free_room.h"
#include "controller/scheduler/planning/planner.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/queue_policy.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/report/debugger.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/report/scheduler_metrics.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/start_forecast.h"
#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/state/group_domains.h"
#include "controller/scheduler/state/pod_groups.h"
#include "controller/scheduler/wait_report.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"

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
    s->kept_profiles = kept_profiles_new(count);
    for (unsigned i = 0; i < count; i++) {
        struct profile_settings settings = given[i];
        int r;

        settings.handle = &s->handle;
        r = profile_new(&settings, &s->profiles[i], err);
        if (r < 0)
            return r;
        kept_profiles_add(s->kept_profiles, &given[i]);
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

    scheduler_metrics_incoming(s->metrics, queue, event);
}

static void
group_of(const struct object *pod, struct group_terms *ret_terms, void *context)
{
    const struct scheduler *s = context;

    if (s->settings.group_of != NULL)
        s->settings.group_of(pod, ret_terms, s->settings.context);
    else
        pod_groups_terms(s->pod_groups, pod, ret_terms);
}

/* Why no group with that pod can be placed; NULL: it can. */
static const char *
refuse_group(const struct pod_view *pod, const struct profile *profile, void *context)
{
    const struct scheduler *s = context;

    const struct extenders *extenders = s->settings.extenders;

    for (unsigned i = 0; extenders != NULL && i < extenders->count; i++)
        if (extender_is_concerned(&extenders->items[i], pod))
            return "extenders accept only one pod at a time";
    profile_foreach(i, profile, POINT_BIND)
    {
        if (!profile->entries[i].plugin->binds_groups)
            return "a plugin of its profile binds only one pod at a time";
    }
    return NULL;
}

static void
member_held(const struct queued_pod *pod, void *context)
{
    struct scheduler *s = context;
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

    wait_report_hold(s->wait_report, pod);
    queued_group_format_hold(pod->queued_group, &words);
    recorder_condition(s->recorder, pod->pod,
                       pod->queued_group->refusal != NULL ? REASON_UNSCHEDULABLE
                                                          : REASON_SCHEDULING_GATED,
                       words.text);
}

static void
call_ended(const struct dispatch_kind *kind, int code, int64_t took_us, void *context)
{
    const struct scheduler *s = context;

    scheduler_metrics_call(s->metrics, kind->name, code >= 200 && code < 300, took_us);
}

static void
eviction_begins(struct pod_view *victim, const char *message, void *context)
{
    const struct scheduler *s = context;

    recorder_event(s->recorder, victim, "Normal", EVENT_PREEMPTED, message);
}

static void
eviction_ended(const struct pod_view *preemptor, bool has_failed, int64_t took_us, void *context)
{
    const struct scheduler *s = context;

    scheduler_metrics_eviction(s->metrics, !has_failed, took_us);
    if (has_failed)
        queue_activate(s->queue, preemptor->namespace, preemptor->name);
}

static void
yield_recorded(struct pod_view *pod, const char *reason, const char *message, void *context)
{
    const struct scheduler *s = context;

    recorder_event(s->recorder, pod, "Normal", reason, message);
}

/* The preemptor is tried again: on another node, or with other victims. */
static void
yield_ended(const struct pod_view *preemptor, void *context)
{
    const struct scheduler *s = context;

    queue_activate(s->queue, preemptor->namespace, preemptor->name);
}

static struct queue_rank
rank_pod(const struct queued_pod *pod, void *context)
{
    const struct scheduler *s = context;

    return s->pod_ranks != NULL ? pod_ranks_rank(s->pod_ranks, pod) : (struct queue_rank){0};
}

static void
unrank_pod(const struct queued_pod *pod, void *context)
{
    const struct scheduler *s = context;

    pod_ranks_unrank(s->pod_ranks, pod);
}

static struct profile *
profile_of(const struct object *pod, void *context)
{
    return scheduler_profile(context, pod);
}

static void
pod_has_new_terms(const struct object *pod, void *context)
{
    scheduler_pod_changed(context, pod, pod);
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
    s->extender_rounds = extender_rounds_new(&(struct extender_rounds_settings){
        .extender_transport = set->extender_transport,
        .extenders = set->extenders,
        .clock = set->clock,
        .reasons = s->reasons,
        .find_node = find_node,
        .ready = pod_activated,
        .abandon = assignment_abandon,
        .context = s,
    });
    s->extender_binder = extender_binder_new(&(struct extender_binder_settings){
        .extender_transport = set->extender_transport,
        .extenders = set->extenders,
        .bound = scheduler_extender_bound,
        .context = s,
    });
}

/* While pods are nominated, the end of a pod on one node may help pods on
 * another: a nominated pod may go to the first node instead.
 */
static const char *
room_of(const struct object *ended, void *context)
{
    struct scheduler *s = context;

    scheduler_tick_ranks(s);
    if (nominator_count(s->handle.nominator) > 0)
        return NULL;
    return pod_of(ended)->spec.node_name;
}

static bool
has_room(const struct queued_pod *queued, const char *node, void *context)
{
    const struct scheduler *s = context;

    return free_room_has(s->free_room, queued, node);
}

static bool
is_kept_off(const struct queued_pod *queued, const char *node, void *context)
{
    const struct scheduler *s = context;

    return free_room_is_kept_off(s->free_room, queued, node);
}

static bool
must_try(const struct queued_pod *queued, void *context)
{
    const struct scheduler *s = context;

    return planner_must_try(s->planner, queued);
}

static bool
is_first(const struct queued_pod *queued, void *context)
{
    const struct scheduler *s = context;

    return planner_is_first(s->planner, queued);
}

static bool
is_reserved(const struct queued_pod *queued, void *context)
{
    const struct scheduler *s = context;

    return planner_find(s->planner, queued) != NULL;
}

static bool
overtakes(const struct queued_pod *queued, void *context)
{
    const struct scheduler *s = context;

    return planner_overtakes(s->planner, queued);
}

static bool
group_sleeps_on(struct queued_pod *leader, void *context)
{
    const struct scheduler *s = context;

    return group_placer_sleeps_on(s->group_placer, leader);
}

static const struct queue_policy policy = {
    .activated = pod_activated,
    .entered = pod_entered,
    .group_of = group_of,
    .refuse_group = refuse_group,
    .held = member_held,
    .room_of = room_of,
    .has_room = has_room,
    .is_kept_off = is_kept_off,
    .is_first = is_first,
    .is_reserved = is_reserved,
    .overtakes = overtakes,
    .must_try = must_try,
    .group_sleeps_on = group_sleeps_on,
    .rank = rank_pod,
    .unrank = unrank_pod,
};

static void
make_components(struct scheduler *s)
{
    const struct scheduler_settings *set = &s->settings;

    s->queue = queue_new(&(struct queue_settings){
        .clock = set->clock,
        .nominator = s->handle.nominator,
        .signatures = s->signatures,
        .initial_backoff_us = set->initial_backoff_us,
        .max_backoff_us = set->max_backoff_us,
        .leftover_us = set->max_unschedulable_us,
        .is_sharing = !set->without_sharing,
        .policy = &policy,
        .context = s,
    });
    s->cache = cache_new(&(struct cache_settings){
        .clock = set->clock,
        .resources = s->resources,
        .expire_us = set->assume_expire_us,
    });
    s->node_finder = node_finder_new(&(struct node_finder_settings){
        .handle = &s->handle,
        .signatures = s->signatures,
        .trace = &s->trace,
        .is_sharing = !set->without_sharing,
    });
    s->binding_cycle = binding_cycle_new(&(struct binding_cycle_settings){
        .clock = set->clock,
        .handle = &s->handle,
        .leaving = scheduler_pod_leaves,
        .ended = scheduler_pod_ended,
        .group_failed = scheduler_group_failed,
        .abandon = scheduler_abandon_member,
        .passed = scheduler_pod_passed,
        .bind_by_extender = scheduler_bind_by_extender,
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
    });
    s->dispatcher = dispatcher_new(&(struct dispatcher_settings){
        .client = set->client,
        .clock = set->clock,
        .ended = call_ended,
        .context = s,
    });
    dispatcher_hold(s->dispatcher, true); /* until scheduler_start */
    s->recorder = recorder_new(&(struct recorder_settings){
        .dispatcher = s->dispatcher,
        .clock = set->clock,
        .component = set->component != NULL ? set->component : SCHEDULER_DEFAULT_NAME,
        .is_off = set->is_simulation,
    });
    s->retained_allocations = (struct retained_allocations){
        .cache = s->cache,
        .queue = s->queue,
    };
    s->unallocated_pods = unallocated_pods_new(set->client, set->clock, s->cache);
    s->metrics = scheduler_metrics_new(set->metrics);
    s->evictions = evictions_new(&(struct evictions_settings){
        .client = set->client,
        .clock = set->clock,
        .begins = eviction_begins,
        .ended = eviction_ended,
        .context = s,
    });
    s->yields = yields_new(&(struct yields_settings){
        .client = set->client,
        .clock = set->clock,
        .cache = s->cache,
        .record = yield_recorded,
        .ended = yield_ended,
        .context = s,
    });
    s->pod_groups = pod_groups_new();
    s->domains = group_domains_new(&(struct group_domains_settings){
        .topology = set->topology,
        .cache = s->cache,
        .snapshot = &s->snapshot,
    });
    s->planner = planner_new(&(struct planner_parts){
        .clock = set->clock,
        .handle = &s->handle,
        .queue = s->queue,
        .cache = s->cache,
        .snapshot = &s->snapshot,
        .recorder = s->recorder,
        .signatures = s->signatures,
        .pod_groups = s->pod_groups,
        .domains = s->domains,
    });
    s->pod_placer = pod_placer_new(&(struct pod_placer_parts){
        .handle = &s->handle,
        .queue = s->queue,
        .cache = s->cache,
        .snapshot = &s->snapshot,
        .node_finder = s->node_finder,
        .yields = s->yields,
        .metrics = s->metrics,
        .trace = &s->trace,
        .seed = set->seed,
        .has_same_ties = set->has_same_ties,
        .is_sharing = !set->without_sharing,
    });
    s->group_placer = group_placer_new(&(struct group_placer_parts){
        .handle = &s->handle,
        .queue = s->queue,
        .cache = s->cache,
        .snapshot = &s->snapshot,
        .node_finder = s->node_finder,
        .pod_placer = s->pod_placer,
        .planner = s->planner,
        .recorder = s->recorder,
        .pod_groups = s->pod_groups,
        .domains = s->domains,
        .topology = set->topology,
        .is_simulation = set->is_simulation,
    });
    s->free_room = free_room_new(&(struct free_room_settings){
        .handle = &s->handle,
        .planner = s->planner,
        .cache = s->cache,
        .snapshot = &s->snapshot,
        .signatures = s->signatures,
        .pod_groups = s->pod_groups,
        .is_sharing = !set->without_sharing,
    });
    s->objects = map_new();
    s->changed_partitions = map_new();
    s->changed_reservations = map_new();
    s->partition_terms = partition_terms_new(&(struct partition_terms_parts){
        .handle = &s->handle,
        .queue = s->queue,
        .cache = s->cache,
        .profile_of = profile_of,
        .pod_changed = pod_has_new_terms,
        .ready = pod_activated,
        .context = s,
    });
    s->wait_report = wait_report_new(&(struct wait_report_parts){
        .handle = &s->handle,
        .cache = s->cache,
        .recorder = s->recorder,
        .planner = s->planner,
        .is_simulation = set->is_simulation,
    });
    make_extenders(s);
}

/* The profiles and the order are known by now. */
static void
make_forecast(struct scheduler *s)
{
    struct forecast_parts parts = {
        .settings = &s->settings,
        .profiles = s->kept_profiles,
        .handle = &s->handle,
        .queue = s->queue,
        .cache = s->cache,
        .snapshot = &s->snapshot,
        .recorder = s->recorder,
        .pod_ranks = s->pod_ranks,
        .pod_groups = s->pod_groups,
        .objects = s->objects,
    };

    for (unsigned i = 0; i < s->n_profiles; i++)
        parts.is_timed |= s->profiles[i]->timed != 0;
    s->forecast = start_forecast_new(&parts);
}

int
scheduler_new(const struct scheduler_settings *settings, struct scheduler **ret_scheduler,
              struct error *err)
{
    CLEANUP(scheduler_freep) struct scheduler *s = xnew(struct scheduler);
    int r;

    s->settings = *settings;
    if (settings->features != NULL && !settings->features->is_on[FEATURE_OPPORTUNISTIC_BATCHING])
        s->settings.without_sharing = true;
    s->random.state = settings->seed;
    s->resources = string_ids_new();
    s->reasons = string_ids_new();
    s->signatures = string_ids_new();
    scheduler_make_handle(s);
    make_components(s);
    r = make_profiles(s, err);
    if (r < 0)
        return r;
    if (profile_is_ranked(s->profiles[0])) /* all profiles sort alike */
        s->pod_ranks = settings->memory != NULL
                           ? pod_ranks_new_after(settings->clock, settings->memory)
                           : pod_ranks_new(settings->clock);
    make_forecast(s);
    *ret_scheduler = s;
    s = NULL;
    return 0;
}

static void
partitions_free(struct map *changed)
{
    size_t at = 0;
    void *object;

    while (map_next(changed, &at, NULL, &object))
        object_unref(object);
    map_free(changed);
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
    dispatcher_hold(s->dispatcher, true); /* callbacks below start no calls */
    debugger_free(s->debugger);
    volume_calls_free(s->volume_calls);
    extender_rounds_free(s->extender_rounds);
    extender_binder_free(s->extender_binder);
    binding_cycle_free(s->binding_cycle);
    evictions_free(s->evictions);
    yields_free(s->yields);
    recorder_free(s->recorder);
    wait_report_free(s->wait_report);
    start_forecast_free(s->forecast);
    dispatcher_free(s->dispatcher);
    unallocated_pods_free(s->unallocated_pods);
    timeline_free(s->handle.timeline); /* the ledgers contain its entries */
    s->handle.timeline = NULL;
    node_reservations_free(s->handle.node_reservations);
    s->handle.node_reservations = NULL;
    queue_free(s->queue);
    free_room_free(s->free_room);
    planner_free(s->planner);
    partition_terms_forget(s->partition_terms);
    pod_ranks_free(s->pod_ranks);
    node_finder_free(s->node_finder);
    cache_free(s->cache);
    for (unsigned i = 0; i < s->n_profiles; i++)
        profile_free(s->profiles[i]);
    free(s->profiles);
    kept_profiles_unref(s->kept_profiles);
    nominator_free(s->handle.nominator);
    volume_book_free(s->handle.volumes);
    scheduler_metrics_free(s->metrics);
    pod_groups_free(s->pod_groups);
    group_domains_free(s->domains);
    group_placer_free(s->group_placer);
    pod_placer_free(s->pod_placer);
    objects_free(s->objects);
    partitions_free(s->changed_partitions);
    partitions_free(s->changed_reservations);
    partition_terms_free(s->partition_terms);
    string_ids_free(s->resources);
    string_ids_free(s->reasons);
    string_ids_free(s->signatures);
    free(s);
}

struct scheduler_counts
scheduler_count(const struct scheduler *s)
{
    struct queue_counts q = queue_count(s->queue);
    struct cache_counts c = cache_count(s->cache);

    return (struct scheduler_counts){
        .attempts = pod_placer_attempts(s->pod_placer),
        .scheduled = s->scheduled,
        .unschedulable = s->unschedulable,
        .errors = s->errors,
        .active = q.active,
        .backoff = q.backoff,
        .unschedulable_pods = q.unschedulable,
        .gated = q.gated,
        .in_group = q.in_group,
        .in_flight = q.in_flight,
        .binding = binding_cycle_count(s->binding_cycle),
        .parked = s->extender_rounds != NULL ? extender_rounds_count(s->extender_rounds) : 0,
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

bool
scheduler_is_paused(const struct scheduler *s)
{
    return s->settings.is_paused != NULL && atomic_load(s->settings.is_paused);
}
