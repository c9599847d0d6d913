/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_state.h - the internals of a scheduler, for its own files
 *
 * Called by:  the .c files of this folder, without those in folders below it.
 *             No other file.
 * Thread:     the scheduler's.
 */
#pragma once

#define SCHEDULER_DEFAULT_NAME "default-scheduler"

#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/probe.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/report/cycle_trace.h"
#include "controller/scheduler/report/scheduler_metrics.h"
#include "controller/scheduler/scheduler.h"
#include "controller/scheduler/state/retained_allocations.h"
#include "lib/base/random.h"

struct unallocated_pods;
struct assignment;
struct assignment_group;
struct binding_cycle;
struct extender_binder;
struct cache;
struct node_finder;
struct pod_groups;
struct partition_terms;
struct planner;
struct pod_placer;
struct pod_ranks;
struct extender_rounds;
struct debugger;
struct dispatch_kind;
struct dispatcher;
struct evictions;
struct free_room;
struct group_domains;
struct group_placer;
struct kept_profiles;
struct map;
struct string_ids;
struct queue;
struct recorder;
struct start_forecast;
struct volume_calls;
struct wait_report;
struct yields;

struct scheduler {
    struct scheduler_settings settings;
    struct random_source random;
    struct string_ids *resources;
    struct string_ids *reasons;
    struct string_ids *signatures;
    struct handle handle;
    struct probe probe;
    struct profile **profiles;
    unsigned n_profiles;
    struct kept_profiles *kept_profiles; /* that they were made from */
    struct queue *queue;
    struct pod_ranks *pod_ranks; /* NULL: no profile sorts by rank */
    struct cache *cache;
    struct snapshot snapshot;
    struct node_finder *node_finder;
    struct binding_cycle *binding_cycle;
    struct extender_rounds *extender_rounds; /* NULL: there are no extenders */
    struct extender_binder *extender_binder; /* NULL: likewise */
    struct dispatcher *dispatcher;
    struct recorder *recorder;
    struct unallocated_pods *unallocated_pods;
    struct retained_allocations retained_allocations;
    struct evictions *evictions;
    struct yields *yields;
    struct volume_calls *volume_calls;
    struct scheduler_metrics *metrics;
    struct debugger *debugger;
    struct cycle_trace trace; /* of the current cycle */
    struct pod_groups *pod_groups;
    struct group_domains *domains;
    struct planner *planner;
    struct free_room *free_room;
    struct pod_placer *pod_placer;
    struct group_placer *group_placer;
    struct map *objects;              /* name of kind to a map by key */
    struct map *changed_partitions;   /* by name, since the last tick */
    bool has_mode_changed;            /* preemption's, of a partition or class */
    struct map *changed_reservations; /* by name, since the last tick */
    struct start_forecast *forecast;
    struct wait_report *wait_report;
    struct partition_terms *partition_terms;
    int64_t next_ranking_us; /* when to rank unschedulable pods again */
    unsigned n_to_rank;      /* groups still to be ranked now */
    int64_t next_leftover_us;
    uint64_t scheduled, unschedulable, errors;
    uint64_t evicted; /* victims that were asked to leave */
    bool was_paused;  /* when there was work last */
};

bool scheduler_is_paused(const struct scheduler *s);

/* The profile that schedules the pod, or NULL: another scheduler does. Named:
 * by the name in a pod's spec, which may be NULL.
 */
struct profile *scheduler_profile(const struct scheduler *s, const struct object *pod);
struct profile *scheduler_profile_named(const struct scheduler *s, const char *name);

/* Begins to rank the unschedulable pods again, when that is due. */
void scheduler_tick_ranks(struct scheduler *s);

/* Room became free or was taken on the node, or on any if NULL. */
void scheduler_room_changed(struct scheduler *s, const struct node_view *node);

/* The kinds of API calls that bind one pod and a group (plugin_handle.c). */
extern const struct dispatch_kind scheduler_binding_kind;
extern const struct dispatch_kind scheduler_group_binding_kind;

/* Fills in the handle that plugins use (plugin_handle.c). */
void scheduler_make_handle(struct scheduler *s);

/* Report the changed partitions to the waiting pods; takes new levels
 * of the topology from the settings.
 */
void scheduler_flush_partitions(struct scheduler *s);
void scheduler_update_topology(struct scheduler *s);
void scheduler_flush_pod_groups(struct scheduler *s);

/* Reservations of nodes (event_handlers.c). Flush: reports to the
 * waiting pods which reservations changed, began and ended.
 */
void scheduler_flush_node_reservations(struct scheduler *s);

/* For a cycle that found no node for the pod (cycle_result.c): ends the attempt, unless
 * PostFilter continues it later.
 */
void scheduler_found_no_node(struct scheduler *s, struct assignment *a);

/* The end of an attempt (cycle_result.c). Return puts the pod back into the
 * queue. Forget undoes the assumption, so that other pods may have the room.
 * Fail records why the pod was not placed.
 */
void scheduler_return(struct scheduler *s, struct assignment *a);
void scheduler_forget(struct scheduler *s, struct assignment *a);
void scheduler_fail(struct scheduler *s, struct assignment *a, struct answer answer);

/* Callbacks of the binding cycle and of the extender that binds. */
void scheduler_pod_leaves(struct assignment *a, void *scheduler);
void scheduler_pod_ended(struct assignment *a, struct answer answer, void *scheduler);
void scheduler_pod_passed(const struct assignment *a, enum verdict verdict, int64_t took_us,
                          void *scheduler);
void scheduler_volumes_ended(struct assignment *a, const char *words, void *scheduler);
void scheduler_group_failed(struct assignment_group *g, void *scheduler);

/* Returns the members of a group that found no node to the queue; the others
 * are the group from now on.
 */
void scheduler_return_left_out(struct scheduler *s, struct assignment_group *g);
void scheduler_abandon_member(struct assignment *a, void *scheduler);
bool scheduler_bind_by_extender(struct assignment *a, void *scheduler);
void scheduler_extender_bound(struct assignment *a, enum verdict verdict, void *scheduler);
