/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_state.h - the insides of a scheduler, for its own files
 *
 * Called by:  scheduler.c (the cycle), no_node.c and cycle_result.c (what
 *             becomes of it), setup.c (how it is made), event_handlers.c
 *             (what happens in the cluster), plugin_handle.c (what plugins
 *             may use), explain.c with its parts (explanation.h) and
 *             wait_report.c. Nobody else.
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
#include "lib/base/time_share.h"

struct unallocated_pods;
struct assignment;
struct assignment_group;
struct binding_cycle;
struct extender_binder;
struct cache;
struct node_finder;
struct pod_ranks;
struct extender_rounds;
struct debugger;
struct diagnosis;
struct diagnosis_counts;
struct dispatch_kind;
struct dispatcher;
struct evictions;
struct map;
struct string_ids;
struct queue;
struct queued_pod;
struct recorder;
struct reservation;
struct reserved_place;
struct room_answer;
struct start_answer;
struct start_forecast;
struct strbuf;
struct volume_calls;
struct yields;

/* Nodes on which reservations have left room to others, by name. */
#define FREED_PLACES_MOST 16u
struct freed_places {
    char *nodes[FREED_PLACES_MOST];
    unsigned count;
    bool is_overfull; /* there are more */
};

struct scheduler {
    struct scheduler_settings settings;
    struct random_source random;
    struct string_ids *resources;
    struct shared_demands *demands; /* of the pods */
    struct string_ids *reasons;
    struct string_ids *signatures;
    struct handle handle;
    struct probe probe;
    struct profile **profiles;
    unsigned n_profiles;
    struct queue *queue;
    struct pod_ranks *pod_ranks; /* NULL: no profile orders by ranks */
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
    struct cycle_trace trace; /* of the cycle under way */
    struct map *objects; /* of further kinds: name of kind to a map by key */
    struct map *changed_partitions; /* by name, since the last tick */
    bool have_terms_changed;        /* what they say of their pods, likewise */
    struct moved_pods *moved_pods;  /* who is yet to be told of that, or NULL */
    unsigned n_partitions_of_one_user; /* whose nodes are for one user each */
    bool has_mode_changed; /* of preemption, of one or of a priority class */
    struct map *changed_reservations; /* likewise */
    struct start_forecast *forecast;
    struct time_share
        report_share;          /* of the thread, for causes and their times */
    bool may_lack_reservation; /* a pod that sleeps and may get one */
    bool has_room_come;        /* since one was last looked for */
    struct freed_places freed; /* by reservations; nobody was told yet */
    bool has_nomination_gone;  /* and nobody was told yet */
    int64_t next_ranking_us;   /* then an end has all ranked that sleep */
    unsigned n_to_rank;        /* groups of them, by now */
    uint64_t room_turn;        /* in which nothing changes but who is active */
    struct room_answer *room_answers; /* for free_room.c; NULL: none yet */
    int64_t clock_offset_us; /* of the real clock to the monotonic one */
    int64_t next_leftover_us;
    uint64_t attempts, scheduled, unschedulable, errors;
    uint64_t evicted; /* pods that were told to make room */
};

/* The profile that schedules the pod, or NULL: another scheduler does. By the
 * name in its spec, which may be NULL.
 */
struct profile *scheduler_profile(const struct scheduler *s,
                                  const struct object *pod);
struct profile *scheduler_profile_named(const struct scheduler *s,
                                        const char *name);

/* Reservations (reservations.c). Bind: those before this pod in the order bind it,
 * and those of its group; NULL: all do. May reserve: it is one of the first, and
 * so needs to be told which nodes have no room. Lacks: and it has none yet. Reserve: no cycle found room for
 * it; all of its group, or itself. Placed: it has a node. Changed: room has come
 * or gone on
 * the node, or on any; nodes came or are others now; a waiting pod is another
 * now. Settle: before the next cycle. Find: what is reserved for it, or NULL;
 * reservation: of its group, or its own. Moves: it takes the place in the order
 * that its pod has now, and that is another.
 */
void scheduler_bind_reservations(struct scheduler *s,
                                 const struct queued_pod *queued);
bool scheduler_may_reserve(const struct scheduler *s,
                           const struct queued_pod *queued);
const struct reserved_place *
scheduler_find_place(const struct scheduler *s,
                     const struct queued_pod *queued,
                     const struct pod_view *pod);
const struct reservation *
scheduler_find_reservation(const struct scheduler *s,
                           const struct queued_pod *queued);
bool scheduler_reservation_moves(struct scheduler *s,
                                 const struct queued_pod *queued);
bool scheduler_lacks_reservation(const struct scheduler *s,
                                 const struct queued_pod *queued);
void scheduler_reserve(struct scheduler *s,
                       struct queued_pod *queued,
                       struct pod_view *const *members,
                       unsigned count,
                       const struct diagnosis *d);
void scheduler_note_placed(struct scheduler *s,
                           struct assignment *const *members,
                           unsigned count);
void scheduler_room_changed(struct scheduler *s, const struct node_view *node);
void scheduler_nodes_changed(struct scheduler *s);
void scheduler_node_leaves(struct scheduler *s, const struct node_view *node);
void scheduler_wait_changed(struct scheduler *s, const struct pod_view *pod);
void scheduler_settle_reservations(struct scheduler *s);
void scheduler_tick_reservations(struct scheduler *s);

/* Their plan (reservation_plan.c). Plan: when and where it would start; false:
 * nobody knows, or too late for its deadline. Moved: that is later or elsewhere
 * than it stands. The start is the caller's to end (start_answer_fini), always.
 */
bool scheduler_plan_reservation(struct scheduler *s,
                                const struct reservation *r,
                                struct start_answer *ret_start,
                                bool *ret_is_moved);

/* Their nodes (open_nodes.c). Note, tell: others may have again what was
 * reserved there. Open: sets where it may run once there is room; false: nowhere.
 */
void scheduler_note_freed(struct scheduler *s, const struct node_view *node);
void scheduler_tell_freed(struct scheduler *s);
void scheduler_forget_freed(struct scheduler *s);
bool scheduler_find_open_nodes(const struct scheduler *s,
                               const struct diagnosis *d,
                               struct reservation *r);

/* Members of a group that differ are not planned together. */
bool scheduler_are_alike(struct scheduler *s,
                         const struct profile *profile,
                         struct pod_view *const *members,
                         unsigned count);

/* For the queue, which room may help whom (free_room.c). */
const char *scheduler_room_of(const struct object *ended, void *scheduler);
bool scheduler_has_room(const struct queued_pod *queued,
                        const char *node_name,
                        void *scheduler);
bool scheduler_is_kept_off(const struct queued_pod *queued,
                           const char *node_name,
                           void *scheduler);
bool scheduler_must_try(const struct queued_pod *queued, void *scheduler);
bool scheduler_is_first(const struct queued_pod *queued, void *scheduler);
bool scheduler_is_reserved(const struct queued_pod *queued, void *scheduler);
bool scheduler_overtakes(const struct queued_pod *queued, void *scheduler);

/* Now and then, those that sleep are asked where they stand in the order: tick
 * says when it is time, the other asks some.
 */
void scheduler_tick_ranks(struct scheduler *s);
void scheduler_rank_asleep(struct scheduler *s);

/* Of a group as a whole (group_room.c), by CPUs: the nodes may have room for
 * all, of which the first has a node; a leader that was woken may sleep on, since
 * they have not.
 */
bool scheduler_group_has_room(const struct scheduler *s,
                              const struct assignment_group *g);
bool scheduler_group_sleeps_on(struct queued_pod *leader, void *scheduler);

/* The pod is nominated no more: it has taken that node, or none (NULL). Tell:
 * those who may have the room that was kept for it.
 */
void scheduler_end_nomination(struct scheduler *s,
                              const struct pod_view *pod,
                              const char *taken);
void scheduler_tell_nominations(struct scheduler *s);

/* The kinds of calls that bind a pod, and a group (plugin_handle.c). */
extern const struct dispatch_kind scheduler_binding_kind;
extern const struct dispatch_kind scheduler_group_binding_kind;

/* Fills in the handle that plugins use (plugin_handle.c). */
void scheduler_make_handle(struct scheduler *s);

/* Tells those who wait of the partitions that changed (event_handlers.c). */
void scheduler_tell_partitions(struct scheduler *s);

/* Terms of partitions for their pods (partition_terms.c). View: the pod with the
 * tier that its partitions give it, where its profile knows partitions, and with
 * whom it may be on a node. Changed: pods get what holds now, and who waits is
 * tried with it. Tell: some of those pods have it now; false: all had it before. No
 * pod is tried meanwhile, since it could preempt one that is to go up with it.
 */
struct pod_view *scheduler_view_pod(struct scheduler *s,
                                    const struct object *pod)
    OWNED_BY(pod_view_unref);
void scheduler_partition_terms_changed(struct scheduler *s);
bool scheduler_tell_moved_pods(struct scheduler *s);
void scheduler_forget_moved_pods(struct scheduler *s);

/* Reservations of nodes (node_reservation_events.c). Tell: those who wait, of what
 * changed, began and ended.
 */
void scheduler_tell_node_reservations(struct scheduler *s);

/* The cycle found no node for the pod (no_node.c). Note: which plugins say so,
 * and so what may wake it. Found: the attempt ends, unless PostFilter goes on
 * with it later.
 */
void scheduler_note_rejectors(const struct scheduler *s,
                              struct assignment *a,
                              const struct diagnosis *d);
void scheduler_found_no_node(struct scheduler *s, struct assignment *a);

/* The end of an attempt (cycle_result.c). Return puts the pod back into the
 * queue. Forget takes back what was assumed, so that other pods may have it.
 * Fail records why the pod was not placed.
 */
void scheduler_return(struct scheduler *s, struct assignment *a);
void scheduler_forget(struct scheduler *s, struct assignment *a);
void
scheduler_fail(struct scheduler *s, struct assignment *a, struct answer answer);
void scheduler_attempt_ended(struct scheduler *s,
                             const struct assignment *a,
                             enum attempt_result result);

/* Callbacks of the binding cycle and of the extender that binds. */
void scheduler_pod_leaves(struct assignment *a, void *scheduler);
void scheduler_pod_ended(struct assignment *a,
                         struct answer answer,
                         void *scheduler);
void scheduler_pod_passed(const struct assignment *a,
                          enum verdict verdict,
                          int64_t took_us,
                          void *scheduler);
void scheduler_volumes_ended(struct assignment *a,
                             const char *words,
                             void *scheduler);
void scheduler_group_failed(struct assignment_group *g, void *scheduler);
void scheduler_abandon_member(struct assignment *a, void *scheduler);
bool scheduler_bind_by_extender(struct assignment *a, void *scheduler);
void scheduler_extender_bound(struct assignment *a,
                              enum verdict verdict,
                              void *scheduler);

/* Tells the pod's owner why it waits (wait_report.c): after a cycle that
 * found no node; when others leave a node for it; after an attempt that failed
 * later; when a plugin keeps it out of the queue.
 */
void scheduler_report_alike(struct scheduler *s,
                            const struct queued_pod *queued);
void scheduler_report_wait(struct scheduler *s,
                           const struct assignment *a,
                           const struct diagnosis *d,
                           const struct diagnosis_counts *counts,
                           const char *error);
void scheduler_report_room(struct scheduler *s,
                           const struct pod_view *pod,
                           const char *node_name);
void scheduler_report_failure(struct scheduler *s,
                              const struct pod_view *pod,
                              const char *words,
                              bool is_error);
void scheduler_report_gates(struct scheduler *s, const struct pod_view *pod);

/* The code and the words of a failure's cause. */
const char *scheduler_format_failure(const struct pod_view *pod,
                                     const char *words,
                                     bool is_error,
                                     struct strbuf *out);
