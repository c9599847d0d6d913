/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler's thread cannot stop to copy a cluster, so the input is collected in parts of
 * a tenth of a millisecond, between which pods come, go and move in the order. The simulation
 * therefore begins with a picture that never was at one moment. That is accepted, as a
 * forecast is wrong by more than that anyway; what is ensured is that each pod is in it once,
 * and that the nodes are collected again from the first when one has come or gone in between.
 */
#include "controller/scheduler/forecast_input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/explain/wait_cause.h"
#include "controller/scheduler/framework/handle.h"
#include "controller/scheduler/framework/node_reservations.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/kept_profiles.h"
#include "controller/scheduler/order/pod_ranks.h"
#include "controller/scheduler/order/start_order.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/queue_order.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/scheduler.h"
#include "controller/scheduler/start_simulation.h"
#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/state/pod_groups.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"

#define SECOND_US INT64_C(1000000)

/* A pod that still runs is expected to run half as long again (shadow_schedule.c). */
#define STILL_RUNS 1.5

/* How many pods, or nodes without pods, are collected in one part: about 0.1 ms. */
#define A_PART 64u

struct forecast_running {
    const struct object *object;
    const struct object *node; /* where it is about to start; NULL: it has */
    int64_t end_us[FORECAST_PARTS];
    bool is_guess; /* it has no time limit */
};

struct forecast_waiting {
    struct pod_view *pod; /* only for the scheduler's thread */
    const struct object *object;
    int64_t run_us[FORECAST_PARTS];
    bool is_guess, is_gone;
    struct simulated_start starts[FORECAST_PARTS];
};

/* Pods that count for the group of that one, but are not there any more. */
struct forecast_ended {
    const struct object *pod;
    unsigned count;
};

struct forecast_input {
    struct forecast_parts parts; /* while it is collected */
    struct scheduler_settings settings;
    struct kept_profiles *profiles; /* of the settings */
    struct order_memory *memory;    /* NULL: nothing is predicted */
    int64_t now_us;                 /* on the real clock */
    bool is_full, is_exact;         /* exact: limits are what is predicted */
    bool has_candidate;
    const struct object **nodes, **objects;
    struct forecast_running *running;
    struct forecast_waiting *waiting;
    struct forecast_ended *ended;
    int64_t *turns; /* when nodes may be released without an end */
    size_t n_nodes, n_objects, n_running, n_waiting, n_ended, n_turns;
    size_t node_capacity, object_capacity, running_capacity, waiting_capacity;
    size_t ended_capacity, turn_capacity;
    size_t n_jobs, most;         /* that wait */
    struct queue_cursor cursor;  /* in the queue */
    struct map *seen;            /* uids of `waiting`, while the queue is visited */
    struct pod_view *candidate;  /* until it is the last of those that wait; or NULL */
    size_t at_node, at_waiting;  /* collected so far */
    uint64_t removal_generation; /* of the snapshot, when it began */
    uint32_t n_snapshot;
};

/* A simulation while it is filled. */
struct filling {
    struct start_simulation *simulation;
    enum forecast_part part;
    size_t at_node, at_running, at_waiting;
    size_t *indexes; /* of the waiting pods in the simulation */
    size_t n_simulated;
};

/* ---- What there is ---- */

/* A group waits for the reason why its rejected member found no node. */
static bool
lacks_room(const struct queued_pod *rejected)
{
    const struct profile *profile = rejected->profile;

    return ((rejected->unschedulable | rejected->pending) & (profile->rooms | profile->timed)) != 0;
}

/* Whether the pod waits for room, or was not tried yet. */
static bool
is_for_room(const struct forecast_parts *p, const struct queued_pod *queued)
{
    const struct queued_group *g = queued->queued_group;
    const struct pod_cause *cause;

    if (queued->profile->timed == 0 || queued->is_deleted
        || cache_is_assumed(p->cache, queued->pod))
        return false;
    if (g != NULL)
        return !queued_group_is_held(g) && (g->rejected == NULL || lacks_room(g->rejected));
    cause = recorder_cause(p->recorder, queued->pod);
    return cause == NULL || wait_cause_is_for_room(cause->code);
}

/* A group counts once. */
static bool
is_first_of_group(const struct queued_pod *queued)
{
    const struct queued_group *g = queued->queued_group;

    return g == NULL || queued == (g->leader != NULL ? g->leader : g->members[0]);
}

static void
add_pod(struct forecast_input *in, struct pod_view *pod)
{
    xgrow(in->waiting, in->n_waiting, in->waiting_capacity);
    in->waiting[in->n_waiting++] = (struct forecast_waiting){
        .pod = pod_view_ref(pod),
        .object = object_ref(pod->object),
    };
}

/* False: enough pods wait. A pod that moved in the order comes again. */
static bool
add_waiting(struct forecast_input *in, struct queued_pod *queued)
{
    const char *uid = queued->pod->object->meta->uid;

    if (!is_for_room(&in->parts, queued) || (uid != NULL && map_find(in->seen, uid) != NULL))
        return true;
    if (is_first_of_group(queued) && in->n_jobs++ == in->most) {
        in->is_full = true;
        return false;
    }
    if (uid != NULL)
        map_put(in->seen, uid, in);
    add_pod(in, queued->pod);
    return true;
}

static void
add_objects(struct forecast_input *in)
{
    size_t at = 0, inner;
    void *kind, *object;

    while (map_next(in->parts.objects, &at, NULL, &kind)) {
        inner = 0;
        while (map_next(kind, &inner, NULL, &object)) {
            xgrow(in->objects, in->n_objects, in->object_capacity);
            in->objects[in->n_objects++] = object_ref(object);
        }
    }
}

static void
add_ended(const struct object *waiting, unsigned count, void *context)
{
    struct forecast_input *in = context;

    xgrow(in->ended, in->n_ended, in->ended_capacity);
    in->ended[in->n_ended++] = (struct forecast_ended){object_ref(waiting), count};
}

/* Nodes are collected in several parts, in the order of the snapshot. */
static void
begin_nodes(struct forecast_input *in)
{
    struct snapshot *snapshot = in->parts.snapshot;

    cache_update_snapshot(in->parts.cache, snapshot);
    in->removal_generation = snapshot->removal_generation;
    in->n_snapshot = snapshot->n_nodes;
    in->at_node = 0;
}

struct forecast_input *
forecast_input_new(const struct forecast_parts *parts, size_t most, struct pod_view *candidate)
{
    struct forecast_input *in = xnew(struct forecast_input);

    in->parts = *parts;
    in->settings = *parts->settings;
    in->profiles = kept_profiles_ref(parts->profiles);
    in->settings.profiles = in->profiles->items;
    in->settings.n_profiles = in->profiles->count;
    in->now_us = clock_real_us(parts->settings->clock);
    in->memory = parts->pod_ranks != NULL ? pod_ranks_remember(parts->pod_ranks) : NULL;
    in->settings.memory = in->memory;
    in->is_exact = true;
    in->most = most;
    add_objects(in);
    in->seen = map_new();
    in->candidate = candidate != NULL ? pod_view_ref(candidate) : NULL;
    pod_groups_visit_ended(parts->pod_groups, add_ended, in);
    queue_begin_order(parts->queue, &in->cursor);
    return in;
}

static void
end_visit(struct forecast_input *in)
{
    queue_order_end(&in->cursor);
    map_free(in->seen);
    in->seen = NULL;
    pod_view_unref(in->candidate);
    in->candidate = NULL;
}

/* One part of the queue, most of which may wait for other things than room.
 * When the last one is done, the nodes are next.
 */
static void
visit_queue(struct forecast_input *in)
{
    for (unsigned i = 0; i < A_PART; i++) {
        struct queued_pod *queued = queue_order_next(&in->cursor);

        if (queued != NULL && add_waiting(in, queued))
            continue;
        in->has_candidate = in->candidate != NULL;
        if (in->has_candidate)
            add_pod(in, in->candidate);
        end_visit(in);
        begin_nodes(in);
        return;
    }
}

static void
drop_nodes(struct forecast_input *in)
{
    for (size_t i = 0; i < in->n_nodes; i++)
        object_unref(in->nodes[i]);
    for (size_t i = 0; i < in->n_running; i++)
        object_unref(in->running[i].object);
    in->n_nodes = in->n_running = 0;
}

/* All but the pods that wait, whose views belong to the scheduler's thread. */
static void
drop_collected(struct forecast_input *in)
{
    drop_nodes(in);
    order_memory_free(in->memory);
    in->memory = NULL;
    in->settings.memory = NULL;
    for (size_t i = 0; i < in->n_objects; i++)
        object_unref(in->objects[i]);
    for (size_t i = 0; i < in->n_ended; i++)
        object_unref(in->ended[i].pod);
    in->n_objects = in->n_ended = 0;
}

void
forecast_input_free(struct forecast_input *in)
{
    if (in == NULL)
        return;
    end_visit(in);
    drop_collected(in);
    for (size_t i = 0; i < in->n_waiting; i++) {
        object_unref(in->waiting[i].object);
        pod_view_unref(in->waiting[i].pod);
    }
    kept_profiles_unref(in->profiles);
    free(in->nodes);
    free(in->objects);
    free(in->running);
    free(in->waiting);
    free(in->ended);
    free(in->turns);
    free(in);
}

/* ---- How long pods run ---- */

/* The prediction, in whole seconds as limits are. */
static int64_t
predict_us(const struct forecast_input *in, const struct pod_view *pod)
{
    return (int64_t)fmax(rint(pod_ranks_remember_pod(in->parts.pod_ranks, in->memory, pod)), 1)
           * SECOND_US;
}

static void
find_run(struct forecast_input *in, struct forecast_waiting *w)
{
    int64_t limit_us = timeline_limit_us(w->pod), run_us = INT64_MAX;

    if (in->memory != NULL)
        run_us = predict_us(in, w->pod);
    w->is_guess = limit_us == INT64_MAX;
    if (w->is_guess)
        limit_us = run_us = TIMELINE_ASSUMED_US;
    w->run_us[FORECAST_BY_LIMITS] = limit_us;
    w->run_us[FORECAST_BY_PREDICTION] = run_us < limit_us ? run_us : limit_us;
    in->is_exact &= run_us >= limit_us;
}

/* By its limit, or when it is being ended already. */
static int64_t
find_limit(const struct forecast_input *in, const struct pod_view *pod, bool *ret_is_guess)
{
    int64_t end_us = timeline_end_us(pod, in->now_us);
    int64_t deleted_us = pod->pod->meta.deleted_at_us;

    bool is_held_up = deleted_us == 0 && pod_groups_holds_up(in->parts.pod_groups, pod->object);

    *ret_is_guess = end_us == INT64_MAX && deleted_us == 0 && !is_held_up;
    if (is_held_up)
        return INT64_MAX;
    if (*ret_is_guess)
        return timeline_assumed_end_us(pod, in->now_us);
    if (deleted_us == 0)
        return end_us;
    return deleted_us > in->now_us && deleted_us < end_us ? deleted_us : in->now_us + SECOND_US;
}

/* How long the pod stands still, until now and until others have left its cores. */
static int64_t
find_still(const struct forecast_input *in, const struct pod_view *pod, int64_t *ret_until_now_us)
{
    *ret_until_now_us = pod_frozen_us(pod->pod, in->now_us);
    return *ret_until_now_us
           + (pod->has_yielded && pod->free_at_us > in->now_us ? pod->free_at_us - in->now_us : 0);
}

static void
find_end(struct forecast_input *in, const struct pod_view *pod, struct forecast_running *ret)
{
    int64_t limit_us = find_limit(in, pod, &ret->is_guess), began_us = pod_view_start_us(pod);
    int64_t still_us, stood_us;
    double run_us, ran_us;

    ret->end_us[FORECAST_BY_LIMITS] = ret->end_us[FORECAST_BY_PREDICTION] = limit_us;
    if (in->memory == NULL)
        return;
    run_us = (double)predict_us(in, pod);
    if (ret->is_guess || limit_us == INT64_MAX || pod->pod->meta.deleted_at_us != 0)
        return;
    if (began_us > in->now_us)
        began_us = in->now_us; /* it has no start yet */
    still_us = find_still(in, pod, &stood_us);
    ran_us = (double)(in->now_us - began_us - stood_us);
    run_us = fmax(run_us, STILL_RUNS * ran_us);
    if (run_us >= (double)(limit_us - began_us - still_us))
        return;
    ret->end_us[FORECAST_BY_PREDICTION] = began_us + still_us + (int64_t)run_us;
    in->is_exact = false;
}

/* ---- The parts ---- */

static void
collect_running(struct forecast_input *in, const struct node_view *node)
{
    for (uint32_t i = 0; i < node->pods.count; i++) {
        const struct pod_view *pod = node->pods.items[i];
        struct forecast_running r = {
            .object = object_ref(pod->object),
            .node = pod_view_start_us(pod) == INT64_MAX ? node->object : NULL,
        };

        find_end(in, pod, &r);
        xgrow(in->running, in->n_running, in->running_capacity);
        in->running[in->n_running++] = r;
    }
}

static void
collect_node(struct forecast_input *in, const struct node_view *node)
{
    xgrow(in->nodes, in->n_nodes, in->node_capacity);
    in->nodes[in->n_nodes++] = object_ref(node->object);
    collect_running(in, node);
}

static void
add_turn(int64_t at_us, void *context)
{
    struct forecast_input *in = context;

    xgrow(in->turns, in->n_turns, in->turn_capacity);
    in->turns[in->n_turns++] = at_us;
}

/* A pod that got a node in the meantime is one of the running pods. One that was
 * updated waits as it is now.
 */
static bool
has_gone(const struct forecast_input *in, struct forecast_waiting *w)
{
    const struct queued_pod *queued;

    if (in->has_candidate && w == &in->waiting[in->n_waiting - 1])
        return false;
    queued = queue_find(in->parts.queue, w->pod->namespace, w->pod->name);
    if (queued == NULL || queued->is_deleted || !pod_view_is_same(queued->pod, w->pod)
        || cache_is_assumed(in->parts.cache, queued->pod))
        return true;
    if (queued->pod != w->pod) {
        pod_view_unref(w->pod);
        object_unref(w->object);
        w->pod = pod_view_ref(queued->pod);
        w->object = object_ref(queued->pod->object);
    }
    return false;
}

static void
collect_waiting(struct forecast_input *in, struct forecast_waiting *w)
{
    const struct node_reservations *reservations = in->parts.handle->node_reservations;

    w->is_gone = has_gone(in, w);
    find_run(in, w);
    if (node_reservations_count(reservations) > 0)
        node_reservations_visit_turns(reservations, w->pod, in->now_us, add_turn, in);
}

bool
forecast_input_collect(struct forecast_input *in)
{
    const struct snapshot *snapshot = in->parts.snapshot;

    if (in->cursor.order != NULL) {
        visit_queue(in);
        return true;
    }
    if (in->at_node < in->n_snapshot
        && (snapshot->n_nodes != in->n_snapshot
            || snapshot->removal_generation != in->removal_generation)) {
        drop_nodes(in);
        begin_nodes(in);
    }
    for (size_t i = 0; i < A_PART; i++)
        if (in->at_node < in->n_snapshot) {
            i += snapshot->nodes[in->at_node]->pods.count;
            collect_node(in, snapshot->nodes[in->at_node++]);
        } else if (in->at_waiting < in->n_waiting)
            collect_waiting(in, &in->waiting[in->at_waiting++]);
        else
            return false;
    return true;
}

/* ---- Into the simulation ---- */

static void
add_object(struct scheduler *to, const struct object *object)
{
    if (object->kind == &partition_kind)
        scheduler_partition_changed(to, NULL, object);
    else if (object->kind == &reservation_kind)
        scheduler_reservation_changed(to, NULL, object);
    else if (object->kind == &priority_class_kind)
        scheduler_class_changed(to, NULL, object);
    else if (object->kind == &pod_group_kind)
        scheduler_pod_group_changed(to, NULL, object);
    else
        scheduler_object_changed(to, NULL, object);
}

static void
give_running(const struct forecast_input *in, struct filling *f)
{
    const struct forecast_running *r = &in->running[f->at_running++];

    start_simulation_add_running(f->simulation, r->object,
                                 r->node != NULL ? r->node->meta->name : NULL, r->end_us[f->part],
                                 r->is_guess);
}

static void
give_waiting(const struct forecast_input *in, struct filling *f)
{
    const struct forecast_waiting *w = &in->waiting[f->at_waiting++];

    if (w->is_gone)
        return;
    f->indexes[f->n_simulated++] = f->at_waiting - 1;
    start_simulation_add_waiting(f->simulation, w->object, w->run_us[f->part], w->is_guess);
}

/* The terms of partitions are known before the pods come. */
static void
begin_filling(const struct forecast_input *in, struct filling *f)
{
    struct scheduler *to = start_simulation_scheduler(f->simulation);

    f->indexes = xnew_array(size_t, in->n_waiting + 1);
    for (size_t i = 0; i < in->n_objects; i++)
        add_object(to, in->objects[i]);
    for (size_t i = 0; i < in->n_ended; i++)
        scheduler_members_ended(to, in->ended[i].pod, in->ended[i].count);
    for (size_t i = 0; i < in->n_turns; i++)
        start_simulation_add_turn(f->simulation, in->turns[i]);
}

/* One node or pod, or one step. False: it is over. */
static bool
fill_or_run(const struct forecast_input *in, struct filling *f)
{
    if (f->at_node < in->n_nodes)
        scheduler_node_changed(start_simulation_scheduler(f->simulation), NULL,
                               in->nodes[f->at_node++]);
    else if (f->at_running < in->n_running)
        give_running(in, f);
    else if (f->at_waiting < in->n_waiting)
        give_waiting(in, f);
    else
        return start_simulation_step(f->simulation);
    return true;
}

/* False: it was cut short. */
static bool
run_part(struct forecast_input *in, enum forecast_part part, int64_t until_us,
         const atomic_bool *is_cancelled)
{
    struct filling f = {.part = part};
    struct error err = {0};
    bool is_more = true;

    if (start_simulation_new(&in->settings, in->now_us, &f.simulation, &err) < 0)
        return false; /* the scheduler itself has the same configuration */
    begin_filling(in, &f);
    while (is_more && clock_monotonic_us(in->settings.clock) < until_us
           && (is_cancelled == NULL || !atomic_load_explicit(is_cancelled, memory_order_relaxed)))
        is_more = fill_or_run(in, &f);
    for (size_t i = 0; i < f.n_simulated; i++)
        in->waiting[f.indexes[i]].starts[part] = start_simulation_get(f.simulation, i);
    start_simulation_free(f.simulation);
    free(f.indexes);
    return !is_more;
}

bool
forecast_input_run(struct forecast_input *in, int64_t most_us, const atomic_bool *is_cancelled)
{
    int64_t until_us = clock_monotonic_us(in->settings.clock) + most_us;
    bool was_muted = log_mute(true);
    bool is_whole = true;

    for (unsigned part = 0; part < FORECAST_PARTS && is_whole; part++)
        if (part != FORECAST_BY_LIMITS || !in->is_exact)
            is_whole = run_part(in, (enum forecast_part)part, until_us, is_cancelled);
    log_mute(was_muted);
    drop_collected(in); /* here, and not on the scheduler's thread: it may be much */
    return is_whole;
}

/* ---- Look ---- */

size_t
forecast_input_count(const struct forecast_input *in)
{
    return in->n_waiting;
}

struct pod_view *
forecast_input_pod(const struct forecast_input *in, size_t index)
{
    return in->waiting[index].pod;
}

struct simulated_start
forecast_input_start(const struct forecast_input *in, enum forecast_part part, size_t index)
{
    return in->waiting[index].starts[in->is_exact ? FORECAST_BY_PREDICTION : part];
}

bool
forecast_input_is_full(const struct forecast_input *in)
{
    return in->is_full;
}
