/* SPDX-License-Identifier: Apache-2.0 */
/* A forecast that models the rules would have to follow each change of them; this one runs
 * them (decision 470). It must not touch the original: it has its own clock, API, random
 * numbers and logs that are muted, and it borrows only objects, which never change.
 *
 * Time jumps from event to event. Only the order of the waiting pods changes with time alone,
 * and the scheduler looks at it some times a second, which would be most of the work for a
 * year of simulated time; so it is looked at just before an event, and the more seldom, the
 * farther away the event is. Steps for one event are counted, because a fault in a plugin must
 * end the simulation and not occupy the thread for ever.
 */
#include "controller/scheduler/start_simulation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/bind/binding_client.h"
#include "controller/scheduler/framework/plugin.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/scheduler.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/heap.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECOND_US INT64_C(1000000)

/* Pods that would start later than that get no time. */
#define HORIZON_US (INT64_C(400) * 86400 * SECOND_US)

/* How many cycles one step runs, and how many steps one event may take before
 * the simulation gives up.
 */
#define CYCLES_A_STEP 8u
#define STEPS_MOST    1000000u

/* The order is looked at this long before an event, if since the last time this
 * much time and this part of the time since the beginning have passed.
 */
#define BEFORE_US   (SECOND_US / 10)
#define LOOKS_US    (5 * SECOND_US)
#define LOOKS_SHARE 64
#define LOOK_TURNS  1000u

/* At most this many turns, the first ones. */
#define TURNS_MOST 64u

#define MONOTONIC_BEGIN_US (3600 * SECOND_US)

/* Both clocks are set by the simulation alone. */
struct simulated_clock {
    struct clock clock;
    int64_t monotonic_us, real_us;
};

struct simulated_pod {
    const struct object *object; /* as the scheduler has it */
    int64_t run_us;              /* how long it will run */
    int64_t end_us;              /* INT64_MAX: it does not run */
    struct simulated_start start;
    bool is_guess;
    bool is_running;
    size_t place; /* in the heap of running pods */
};

struct start_simulation {
    struct simulated_clock time;
    struct binding_client *api;
    struct scheduler *scheduler;
    struct heap *running; /* by their ends */
    struct simulated_pod **waiting;
    size_t n_waiting, capacity, n_started;
    struct map *by_key; /* the waiting pods */
    int64_t turns[TURNS_MOST];
    unsigned n_turns, next_turn;
    int64_t now_us;   /* when it began */
    int64_t event_us; /* when the last event was */
    int64_t looked_us;
    unsigned steps; /* since then */
    bool has_begun, is_settled, has_guessed;
};

static int64_t
monotonic_us(struct clock *c)
{
    return container_of(c, struct simulated_clock, clock)->monotonic_us;
}

static int64_t
real_us(struct clock *c)
{
    return container_of(c, struct simulated_clock, clock)->real_us;
}

static void
set_time(struct start_simulation *s, int64_t at_us)
{
    s->time.real_us = at_us;
    s->time.monotonic_us = MONOTONIC_BEGIN_US + at_us - s->now_us;
}

static bool
ends_before(const void *a, const void *b, void *context)
{
    const struct simulated_pod *x = a, *y = b;

    (void)context;
    return x->end_us < y->end_us;
}

/* ---- Life ---- */

/* The volumes of a pod are not simulated, and nothing is preempted: what could
 * be preempted for a waiting pod is being ended already.
 */
static bool
is_simulated(const struct plugin *plugin)
{
    static const char *const others[] = {
        "VolumeBinding",    "VolumeZone", "VolumeRestrictions",
        "NodeVolumeLimits", "Preemption", "DefaultPreemption",
    };

    for (unsigned i = 0; i < ARRAY_SIZE(others); i++)
        if (strcmp(plugin->name, others[i]) == 0)
            return false;
    return true;
}

/* A profile without some of its plugins. */
struct profile_copy {
    struct profile_plugin plugins[PROFILE_MAX_PLUGINS];
    struct point_order orders[POINTS];
};

static void
copy_orders(const struct profile_settings *from, const uint8_t *numbers, struct profile_copy *to)
{
    for (unsigned point = 0; point < POINTS; point++) {
        const struct point_order *order = &from->orders[point];

        for (unsigned i = 0; i < order->count; i++)
            if (numbers[order->items[i]] < PROFILE_MAX_PLUGINS)
                to->orders[point].items[to->orders[point].count++] = numbers[order->items[i]];
    }
}

static struct profile_settings
copy_profile(const struct profile_settings *from, struct profile_copy *to)
{
    struct profile_settings settings = *from;
    uint8_t numbers[PROFILE_MAX_PLUGINS];

    settings.n_plugins = 0;
    for (unsigned i = 0; i < from->n_plugins && i < PROFILE_MAX_PLUGINS; i++) {
        bool is_kept = is_simulated(from->plugins[i].plugin);

        numbers[i] = is_kept ? (uint8_t)settings.n_plugins : PROFILE_MAX_PLUGINS;
        if (is_kept)
            to->plugins[settings.n_plugins++] = from->plugins[i];
    }
    settings.plugins = to->plugins;
    if (from->orders != NULL) {
        copy_orders(from, numbers, to);
        settings.orders = to->orders;
    }
    return settings;
}

static int
make_scheduler(struct start_simulation *s, const struct scheduler_settings *settings,
               struct error *err)
{
    unsigned count = settings->n_profiles;
    CLEANUP_FREE struct profile_copy *copies = xcalloc(count, sizeof(*copies));
    CLEANUP_FREE struct profile_settings *profiles = xcalloc(count, sizeof(*profiles));

    for (unsigned i = 0; i < count; i++)
        profiles[i] = copy_profile(&settings->profiles[i], &copies[i]);
    return scheduler_new(
        &(struct scheduler_settings){
            .client = binding_client_client(s->api),
            .clock = &s->time.clock,
            .seed = settings->seed,
            .profiles = profiles,
            .n_profiles = count,
            .initial_backoff_us = 1,
            .max_backoff_us = 1,
            .has_same_ties = settings->has_same_ties,
            .without_sharing = settings->without_sharing,
            .without_forecast = true,
            .is_simulation = true,
            .memory = settings->memory,
            .group_of = settings->group_of,
            .topology = settings->topology,
            .refuse = settings->refuse,
            .refuse_context = settings->refuse_context,
            .context = settings->context,
        },
        &s->scheduler, err);
}

static void
pod_free(struct simulated_pod *p)
{
    object_unref(p->object);
    free(p);
}

void
start_simulation_free(struct start_simulation *s)
{
    struct simulated_pod *p;
    bool was_muted;

    if (s == NULL)
        return;
    was_muted = log_mute(true);
    scheduler_free(s->scheduler);
    log_mute(was_muted);
    binding_client_free(s->api);
    while ((p = heap_pop(s->running)) != NULL)
        if (p->run_us == 0) /* it ran from the beginning */
            pod_free(p);
    heap_free(s->running);
    for (size_t i = 0; i < s->n_waiting; i++)
        pod_free(s->waiting[i]);
    free(s->waiting);
    map_free(s->by_key);
    free(s);
}

/* ---- The pods ---- */

static const char *
key_of(const char *namespace, const char *name, char out[OBJECT_KEY_SIZE])
{
    snprintf(out, OBJECT_KEY_SIZE, "%s/%s", namespace != NULL ? namespace : "", name);
    return out;
}

/* The pod as the API would have it: it runs on the node from now on. */
static const struct object *
make_running(const struct start_simulation *s, const struct object *pod, const char *node_name,
             const struct json *allocation)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(4096);
    struct json *tree = object_tree(pod, arena);
    struct json *spec = json_get(tree, "spec"), *status = json_get(tree, "status");
    char text[TIME_TEXT_SIZE];

    if (status == NULL)
        status = json_make_object(arena, tree, "status");
    json_set_string(arena, spec, "nodeName", node_name);
    json_set_string(arena, status, "phase", "Running");
    time_format(s->event_us, false, text);
    json_set_string(arena, status, "startTime", text);
    if (allocation != NULL)
        json_set(arena, status, "allocation", json_dup(arena, allocation));
    return object_new(&pod_kind, tree);
}

static void
run_until(struct start_simulation *s, struct simulated_pod *p, int64_t end_us)
{
    p->end_us = end_us;
    p->is_running = true;
    heap_push(s->running, p);
}

static void
pod_bound(const char *namespace, const char *pod_name, const char *node_name,
          const struct json *allocation, void *context)
{
    struct start_simulation *s = context;
    char key[OBJECT_KEY_SIZE];
    struct simulated_pod *p = map_find(s->by_key, key_of(namespace, pod_name, key));
    const struct object *before;
    int64_t from_us;

    if (p == NULL || p->is_running)
        return;
    before = p->object;
    p->object = make_running(s, before, node_name, allocation);
    p->start = (struct simulated_start){.at_us = s->event_us, .is_assumed = s->has_guessed};
    s->n_started++;
    /* Plans count a limit from the second of the start. */
    from_us = s->event_us - s->event_us % SECOND_US;
    run_until(s, p, p->run_us < INT64_MAX - from_us ? from_us + p->run_us : INT64_MAX);
    scheduler_pod_changed(s->scheduler, before, p->object);
    object_unref(before);
}

int
start_simulation_new(const struct scheduler_settings *settings, int64_t now_us,
                     struct start_simulation **ret_simulation, struct error *err)
{
    CLEANUP(start_simulation_freep) struct start_simulation *s = xnew(struct start_simulation);
    int r;

    s->time.clock = (struct clock){.monotonic_us = monotonic_us, .real_us = real_us};
    s->now_us = s->event_us = s->looked_us = now_us;
    set_time(s, now_us);
    s->running = heap_new(ends_before, NULL, offsetof(struct simulated_pod, place));
    s->by_key = map_new();
    s->api = binding_client_new(pod_bound, s);
    r = make_scheduler(s, settings, err);
    if (r < 0)
        return r;
    *ret_simulation = s;
    s = NULL;
    return 0;
}

struct scheduler *
start_simulation_scheduler(const struct start_simulation *s)
{
    return s->scheduler;
}

void
start_simulation_add_running(struct start_simulation *s, const struct object *pod,
                             const char *node_name, int64_t end_us, bool is_guess)
{
    struct simulated_pod *p = xnew(struct simulated_pod);
    bool was_muted = log_mute(true);

    p->place = HEAP_NOWHERE;
    p->object = node_name != NULL ? make_running(s, pod, node_name, NULL) : object_ref(pod);
    p->is_guess = is_guess;
    run_until(s, p, end_us);
    scheduler_pod_changed(s->scheduler, NULL, p->object);
    log_mute(was_muted);
}

void
start_simulation_add_waiting(struct start_simulation *s, const struct object *pod, int64_t run_us,
                             bool is_guess)
{
    struct simulated_pod *p = xnew(struct simulated_pod);
    char key[OBJECT_KEY_SIZE];

    p->place = HEAP_NOWHERE;
    p->object = object_ref(pod);
    p->run_us = run_us > 0 ? run_us : 1;
    p->is_guess = is_guess;
    p->end_us = INT64_MAX;
    xgrow(s->waiting, s->n_waiting, s->capacity);
    s->waiting[s->n_waiting++] = p;
    map_put(s->by_key, key_of(pod->meta->namespace, pod->meta->name, key), p);
    scheduler_pod_changed(s->scheduler, NULL, p->object);
}

void
start_simulation_add_turn(struct start_simulation *s, int64_t at_us)
{
    unsigned at = s->n_turns;

    while (at > 0 && s->turns[at - 1] > at_us)
        at--;
    if (at_us <= s->now_us || at == TURNS_MOST || (at > 0 && s->turns[at - 1] == at_us))
        return;
    s->n_turns -= s->n_turns == TURNS_MOST;
    memmove(s->turns + at + 1, s->turns + at, (s->n_turns - at) * sizeof(s->turns[0]));
    s->turns[at] = at_us;
    s->n_turns++;
}

/* ---- The run ---- */

static bool
is_idle(const struct start_simulation *s)
{
    struct scheduler_counts c = scheduler_count(s->scheduler);

    return c.active == 0 && c.in_flight == 0 && c.binding == 0;
}

/* One part of what the scheduler does at the time of the last event. Backoff
 * ends at once: the clock is advanced to its end.
 */
static void
run_cycles(struct start_simulation *s)
{
    int64_t next_us;

    if (scheduler_work(s->scheduler, CYCLES_A_STEP) || binding_client_run(s->api))
        return;
    scheduler_tick(s->scheduler);
    if (binding_client_run(s->api) || !is_idle(s))
        return;
    next_us = scheduler_next_us(s->scheduler);
    if (next_us >= MONOTONIC_BEGIN_US + s->event_us - s->now_us + SECOND_US)
        s->is_settled = true;
    else if (next_us > s->time.monotonic_us)
        set_time(s, s->now_us + next_us - MONOTONIC_BEGIN_US);
}

/* INT64_MAX: nothing more happens. */
static int64_t
next_event_us(const struct start_simulation *s)
{
    const struct simulated_pod *p = heap_top(s->running);
    int64_t next_us = p != NULL ? p->end_us : INT64_MAX;

    if (s->next_turn < s->n_turns && s->turns[s->next_turn] < next_us)
        next_us = s->turns[s->next_turn];
    return next_us;
}

static void
end_pod(struct start_simulation *s)
{
    struct simulated_pod *p = heap_pop(s->running);

    s->has_guessed |= p->is_guess;
    scheduler_members_ended(s->scheduler, p->object, 1);
    scheduler_pod_changed(s->scheduler, p->object, NULL);
    if (p->run_us == 0)
        pod_free(p);
}

/* The order of waiting pods changes with time alone, and a scheduler looks at it
 * some times a second. Here it does just before an event, unless little time has
 * passed: the farther the future, the more is little.
 */
static void
update_order(struct start_simulation *s, int64_t at_us)
{
    int64_t least_us = (s->looked_us - s->now_us) / LOOKS_SHARE;

    if (least_us < LOOKS_US)
        least_us = LOOKS_US;
    if (at_us - BEFORE_US - s->looked_us < least_us)
        return;
    s->looked_us = at_us - BEFORE_US;
    set_time(s, s->looked_us);
    scheduler_tick(s->scheduler);
    for (unsigned i = 0; i < LOOK_TURNS && scheduler_work(s->scheduler, CYCLES_A_STEP); i++)
        continue;
}

/* One event, or one of several at the same time. */
static void
handle_event(struct start_simulation *s, int64_t at_us)
{
    const struct simulated_pod *first = heap_top(s->running);

    if (at_us > s->event_us) {
        update_order(s, at_us);
        s->event_us = at_us;
        s->steps = 0;
        set_time(s, at_us);
    }
    if (s->next_turn < s->n_turns && s->turns[s->next_turn] <= at_us)
        s->next_turn++;
    else if (first != NULL && first->end_us <= at_us)
        end_pod(s);
    s->is_settled = next_event_us(s) <= s->event_us;
}

static bool
step(struct start_simulation *s)
{
    int64_t next_us;

    if (!s->has_begun) {
        s->has_begun = true;
        scheduler_start(s->scheduler);
    }
    if (!s->is_settled) {
        run_cycles(s);
        return s->steps++ < STEPS_MOST;
    }
    if (s->n_started == s->n_waiting)
        return false;
    next_us = next_event_us(s);
    if (next_us == INT64_MAX || next_us > s->now_us + HORIZON_US)
        return false;
    handle_event(s, next_us);
    return true;
}

bool
start_simulation_step(struct start_simulation *s)
{
    bool was_muted = log_mute(true);
    bool is_more = step(s);

    log_mute(was_muted);
    return is_more;
}

struct simulated_start
start_simulation_get(const struct start_simulation *s, size_t index)
{
    struct simulated_start start = s->waiting[index]->start;

    return start;
}
