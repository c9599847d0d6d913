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
struct cache_mark;
struct node_finder;
struct pod_groups;
struct domain_need;
struct partition_terms;
struct planner;
struct pod_ranks;
struct extender_rounds;
struct debugger;
struct diagnosis;
struct diagnosis_counts;
struct dispatch_kind;
struct dispatcher;
struct evictions;
struct free_room;
struct group_domains;
struct kept_profiles;
struct map;
struct string_ids;
struct queue;
struct queued_pod;
struct recorder;
struct start_forecast;
struct strbuf;
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
    struct node_view **domain_nodes;  /* for group_places.c */
    struct map *switch_waits;         /* key of a pod to its struct switch_wait */
    int64_t next_switch_us;           /* when the first of them is over */
    struct map *objects;              /* name of kind to a map by key */
    struct map *changed_partitions;   /* by name, since the last tick */
    bool has_mode_changed;            /* preemption's, of a partition or class */
    struct map *changed_reservations; /* by name, since the last tick */
    struct start_forecast *forecast;
    struct wait_report *wait_report;
    struct partition_terms *partition_terms;
    bool has_nomination_gone; /* and that was not reported yet */
    int64_t next_ranking_us;  /* when to rank unschedulable pods again */
    unsigned n_to_rank;       /* groups still to be ranked now */
    int64_t next_leftover_us;
    uint64_t attempts, scheduled, unschedulable, errors;
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

/* For a group as a whole, by CPUs alone (group_room.c). Check room: whether the
 * nodes may have room for all members but the first, which has a node already. Has
 * room: for all that it wants.
 * Sleeps on: a leader that was activated may become unschedulable again, because
 * the nodes have no room for its group.
 */
bool scheduler_has_group_room(const struct scheduler *s, const struct assignment_group *g);
struct answer scheduler_check_group_room(struct scheduler *s, struct assignment_group *g);
bool scheduler_group_sleeps_on(struct queued_pod *leader, void *scheduler);

/* Closes the nodes that a pod may not have whose group goes one per node, until
 * cache_open_nodes; false: none, whatever pods are there.
 */
bool scheduler_close_nodes(struct scheduler *s, const struct pod_view *pod);

/* The place of pods in the topology (group_places.c). Limit to domain: the cycle of a pod
 * that is placed by itself chooses from the domain of its group. Place in domains: places
 * the members near to each other; false: nothing was done, and they may go anywhere.
 * May find domain: false: the group must be in one domain and none has enough free CPUs.
 * Order group: the members of a Job whose pods have a node each, all placed: places them
 * again so that their indexes are in the order of the topology and of their nodes' names.
 * Settle group: orders it, unless its nodes have too many switches and it still waits for
 * better ones; the answer of the group is OK before, and says what came of it. The mark is
 * that of the group's cycle. Most switches: how many leaves the nodes may have as long as
 * the group waits for that. Find domains told: a pod with Slurm's variables is told the
 * domains of its node when it is bound. Update topology: takes new
 * levels from the settings (event_handlers.c).
 */
void scheduler_update_topology(struct scheduler *s);
void scheduler_limit_to_domain(struct scheduler *s, struct cycle *c);
bool scheduler_place_in_domains(struct scheduler *s, struct assignment_group *g,
                                struct cache_mark *mark);
bool scheduler_may_find_domain(struct scheduler *s, const struct pod_view *pod,
                               const struct domain_need *need, unsigned wanted);
void scheduler_settle_group(struct scheduler *s, struct assignment_group *g,
                            struct cache_mark *mark);
unsigned scheduler_most_switches(const struct scheduler *s, const struct pod_view *pod);
unsigned scheduler_count_switches(const struct scheduler *s, const struct assignment_group *g);
void scheduler_find_domains_told(struct scheduler *s, struct assignment *a);
void scheduler_tick_switches(struct scheduler *s);
void scheduler_forget_switches(struct scheduler *s);

/* Around each search for a node. */
void scheduler_begin_trace(struct scheduler *s);
void scheduler_end_trace(struct scheduler *s, const struct assignment *a);

/* The best node for the pod; NULL: none fits, and the node finder knows why. */
struct node_view *scheduler_find_node(struct scheduler *s, struct assignment *a);

/* For a group whose cycle has failed and was rolled back: ends pods of lower priority
 * if all of the group then fit (group_preemption.c).
 */
void scheduler_preempt_for_group(struct scheduler *s, struct assignment_group *g);

/* Puts the pod on the node for all later cycles. Displace: takes it back, except
 * in the cache. All: of the group, the last one first.
 */
void scheduler_displace_all(struct scheduler *s, const struct assignment_group *g);
struct answer scheduler_assume(struct scheduler *s, struct assignment *a, struct node_view *node);
void scheduler_displace(struct scheduler *s, struct assignment *a);

/* End: the pod is no longer nominated, because it has taken that node, or no
 * node (NULL). Tell: reports an event to the pods that may use the room that
 * was kept for it.
 */
void scheduler_end_nomination(struct scheduler *s, const struct pod_view *pod, const char *taken);
void scheduler_flush_nominations(struct scheduler *s);

/* The kinds of API calls that bind one pod and a group (plugin_handle.c). */
extern const struct dispatch_kind scheduler_binding_kind;
extern const struct dispatch_kind scheduler_group_binding_kind;

/* Fills in the handle that plugins use (plugin_handle.c). */
void scheduler_make_handle(struct scheduler *s);

/* Reports the changed partitions to the waiting pods (event_handlers.c). */
void scheduler_flush_partitions(struct scheduler *s);
void scheduler_flush_pod_groups(struct scheduler *s);

/* Reservations of nodes (event_handlers.c). Tell: reports to the
 * waiting pods which reservations changed, began and ended.
 */
void scheduler_flush_node_reservations(struct scheduler *s);

/* For a cycle that found no node for the pod (cycle_result.c). Note: records the
 * plugins that rejected the pod, which decide what may activate it. Found no
 * node: ends the attempt, unless PostFilter continues it later.
 */
void scheduler_note_rejectors(const struct scheduler *s, struct assignment *a,
                              const struct diagnosis *d);
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
