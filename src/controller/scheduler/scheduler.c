/* SPDX-License-Identifier: Apache-2.0 */
/* One thread decides, in cycles that never wait: a pod is popped, a node is found, the pod is
 * assumed there, and its binding goes on beside the cycles that follow. So each decision sees
 * all decisions before it, and no lock is needed. Whatever takes longer, an extender or the
 * API, answers by a callback, and the cycle then runs again, since the cluster may have
 * changed meanwhile.
 *
 * The members of a group are placed one after the other within one cycle and taken back
 * together; nothing else runs in between, so nobody has seen a placement that is rolled back.
 *
 * The same thread serves events, questions and timers. Therefore cycles are run for a time and
 * not by number: one that tries preemption on thousands of nodes takes a hundred times as long
 * as another. For the same reason ranks of sleeping pods are computed a few groups at a time.
 */
#include "controller/scheduler/scheduler.h"
#include "controller/scheduler/partition_terms.h"
#include "controller/scheduler/placing/group_placer.h"
#include "controller/scheduler/placing/pod_placer.h"
#include "controller/scheduler/planning/free_room.h"
#include "controller/scheduler/planning/planner.h"
#include "controller/scheduler/planning/reservation_plan.h"

#include <string.h>

#include "controller/scheduler/bind/binding_cycle.h"
#include "controller/scheduler/bind/dispatcher.h"
#include "controller/scheduler/bind/unallocated_pods.h"
#include "controller/scheduler/bind/volume_calls.h"
#include "controller/scheduler/bind/yields.h"
#include "controller/scheduler/extenders/extender_rounds.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/order/pod_ranks.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/report/scheduler_metrics.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/start_forecast.h"
#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/state/pod_groups.h"
#include "controller/scheduler/wait_report.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"

#define LEFTOVER_EVERY_US (INT64_C(30) * 1000000)

/* After this time scheduler_work returns to the loop, which may have other
 * work: cycles that try preemption on thousands of nodes take a hundred times
 * as long as others.
 */
#define TURN_US 20000

/* How often extenders are asked about nodes that were not feasible the last
 * time.
 */
#define MAX_ROUNDS 3

/* Unschedulable pods are ranked when no pod is to be tried, and in one of this
 * many cycles.
 */
#define RANK_TURNS 16

/* At most this many pods whose room was taken become unschedulable again in the
 * place of one cycle.
 */
#define LATE_MOST 32

/* All unschedulable pods are ranked again once in this time. */
#define RANK_EVERY_US (INT64_C(5) * 1000000)

/* How many groups are ranked in the time of a cycle, and how many are few
 * enough to rank all at once.
 */
#define RANKED_AT_ONCE 16u
#define FEW_GROUPS     256u

#define ANSWER_ERROR ((struct answer){VERDICT_ERROR, PLUGIN_NONE, STRING_ID_NONE})

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
    a->began_us = s->trace.began_us;
    a->asks_nodes = s->extender_rounds != NULL
                    && extender_rounds_concern_nodes(s->extender_rounds, queued->pod);
    cycle_init(&a->cycle, queued->pod, &s->snapshot);
    return a;
}

static struct answer
answer_error(struct assignment *a, const char *error)
{
    a->error = xstrdup(error);
    return ANSWER_ERROR;
}

/* Ends an attempt before its binding cycle. */
static void
end_attempt(struct scheduler *s, struct assignment *a, struct answer answer)
{
    scheduler_forget(s, a);
    scheduler_fail(s, a, answer);
    scheduler_return(s, a);
    assignment_free(a);
}

static bool
should_skip(const struct scheduler *s, const struct queued_pod *queued)
{
    return queued->is_deleted || pod_view_is_terminating(queued->pod)
           || cache_is_assumed(s->cache, queued->pod);
}

/* Asks the extenders about the nodes, a limited number of times. */
static void
ask_extenders(struct scheduler *s, struct assignment *a)
{
    struct node_finder_facts facts = node_finder_facts(s->node_finder);

    if (a->rounds++ < MAX_ROUNDS)
        extender_rounds_ask_nodes(s->extender_rounds, a, facts.nodes, facts.feasible);
    else
        end_attempt(s, a, answer_error(a, "the nodes change faster than extenders answer"));
}

static void
run_cycle(struct scheduler *s, struct assignment *a)
{
    CLEANUP_FREE char *key = xstrdup(a->queued->key);
    const struct profile *profile = a->profile;
    struct node_view *node;

    group_placer_close_nodes(s->group_placer, a->cycle.pod);
    group_placer_limit_to_domain(s->group_placer, &a->cycle);
    node = pod_placer_find_node(s->pod_placer, a);
    if (node != NULL) {
        struct answer answer = pod_placer_assume(s->pod_placer, a, node);

        cache_open_nodes(s->cache);
        if (answer.verdict == VERDICT_OK) {
            planner_note_placed(s->planner, &a, 1);
            binding_cycle_start(s->binding_cycle, a, node);
        } else
            end_attempt(s, a, answer);
    } else if (node_finder_facts(s->node_finder).must_ask) {
        ask_extenders(s, a);
    } else {
        scheduler_found_no_node(s, a);
    }
    cache_open_nodes(s->cache);
    pod_placer_end_cycle(s->pod_placer, profile, key);
}

/* A group: its members are placed one after the other, each with those before
 * it assumed.
 */

static struct answer
place_member(struct scheduler *s, struct assignment *a)
{
    const struct diagnosis *d = node_finder_diagnosis(s->node_finder);
    CLEANUP_STRBUF struct strbuf message = STRBUF_INIT;
    struct answer answer;
    struct node_view *node;

    a->began_us = pod_placer_begin(s->pod_placer);
    node = pod_placer_find_node(s->pod_placer, a);
    if (node != NULL) {
        answer = pod_placer_assume(s->pod_placer, a, node);
        if (a->group->is_one_per_node)
            cache_close_node(s->cache, node);
    } else {
        pod_placer_note_rejectors(s->pod_placer, a, d);
        diagnosis_format(d, s->reasons, &message);
        answer = answer_error(a, message.text);
        if (d->absent.verdict != VERDICT_ERROR)
            answer.verdict = VERDICT_REJECT;
    }
    pod_placer_end(s->pod_placer, a);
    return answer;
}

/* A member that finds no node is left out while enough others remain: those
 * beyond the least number go along only where they fit.
 */
static bool
may_leave_out(const struct assignment_group *g, const struct assignment *a)
{
    return g->answer.verdict == VERDICT_REJECT && a->node_name == NULL
           && g->count - g->n_left_out > g->wanted;
}

/* Called after the placements were rolled back: the diagnosis of the last
 * member tells on which nodes equal members may run.
 */
static void
reserve_group(struct scheduler *s, const struct assignment_group *g)
{
    CLEANUP_FREE struct pod_view **members = NULL;

    if (g->answer.verdict != VERDICT_REJECT
        || g->failed->queued->unschedulable == 0) /* a node was found */
        return;
    if (g->lacks_domain && planner_may_reserve(s->planner, g->members[0]->queued))
        node_finder_diagnose(s->node_finder, g->members[0]->profile, &g->members[0]->cycle);
    members = xnew_array(struct pod_view *, g->wanted);
    for (unsigned i = 0; i < g->wanted; i++)
        members[i] = g->members[i]->cycle.pod;
    planner_reserve(s->planner, g->members[0]->queued, members, g->wanted,
                    node_finder_diagnosis(s->node_finder));
}

static void
place_anywhere(struct scheduler *s, struct assignment_group *g)
{
    unsigned n = 0;

    while (n < g->count && g->answer.verdict == VERDICT_OK) {
        struct assignment *a = g->members[n++];

        g->answer = place_member(s, a);
        if (n == 1 && g->answer.verdict == VERDICT_OK) {
            g->answer = group_placer_check_room(s->group_placer, g);
        } else if (may_leave_out(g, a)) {
            g->n_left_out++;
            g->answer = ANSWER_OK;
        }
    }
    g->failed = g->answer.verdict != VERDICT_OK ? g->members[n - 1] : NULL;
}

/* All placements happen within this call, so no other code has seen those that
 * are rolled back.
 */
static void
run_group_cycle(struct scheduler *s, struct assignment_group *g)
{
    struct cache_mark mark = cache_begin(s->cache);

    cycle_trace_begin(&s->trace, s->settings.clock);
    g->answer = ANSWER_OK;
    g->is_one_per_node = group_placer_close_nodes(s->group_placer, g->members[0]->cycle.pod);
    if (!group_placer_place(s->group_placer, g, &mark))
        place_anywhere(s, g);
    cache_open_nodes(s->cache);
    if (g->answer.verdict == VERDICT_OK)
        group_placer_settle(s->group_placer, g, &mark);
    if (g->answer.verdict == VERDICT_OK) {
        scheduler_return_left_out(s, g);
        cache_keep(s->cache, mark);
        planner_note_placed(s->planner, g->members, g->count);
        binding_cycle_start_group(s->binding_cycle, g);
        return;
    }
    wait_report_find_group_cause(s->wait_report, g, node_finder_diagnosis(s->node_finder));
    group_placer_displace_all(s->group_placer, g);
    cache_roll_back(s->cache, mark);
    group_placer_close_nodes(s->group_placer, g->members[0]->cycle.pod);
    reservation_plan_judge_group(planner_parts(s->planner), g,
                                 node_finder_diagnosis(s->node_finder));
    reserve_group(s, g);
    cache_open_nodes(s->cache);
    group_placer_preempt(s->group_placer, g);
    scheduler_group_failed(g, s);
    for (unsigned n = g->count; n-- > 0;)
        assignment_free(g->members[n]);
}

static struct assignment_group *
begin_group(struct scheduler *s, const struct queued_group *group, struct queued_pod **pods,
            unsigned count)
{
    struct assignment_group *g = xnew(struct assignment_group);
    struct group_terms terms;

    pod_groups_terms(s->pod_groups, pods[0]->pod->object, &terms);
    g->name = xstrdup(group->name);
    g->wanted = group->wanted;
    g->n_placed = terms.n_placed;
    g->members = xnew_array(struct assignment *, count);
    g->count = g->n_users = count;
    for (unsigned i = 0; i < count; i++) {
        g->members[i] = begin_assignment(s, pods[i]);
        g->members[i]->group = g;
    }
    return g;
}

/* False: a member is gone, and the others go back to the queue and wait for it.
 */
static bool
is_whole(struct scheduler *s, struct queued_pod **pods, unsigned count)
{
    unsigned left = 0;

    for (unsigned i = 0; i < count; i++) {
        if (!should_skip(s, pods[i])) {
            pods[left++] = pods[i];
            continue;
        }
        queue_leave(s->queue, pods[i]);
        queued_pod_free(pods[i]);
    }
    for (unsigned i = 0; left < count && i < left; i++)
        queue_fail(s->queue, pods[i]);
    return left == count;
}

static void
schedule_group(struct scheduler *s, const struct queued_group *group)
{
    struct queued_pod *pods[QUEUED_GROUP_MAX];
    unsigned count = queued_group_flying(group, pods);

    if (is_whole(s, pods, count))
        run_group_cycle(s, begin_group(s, group, pods, count));
}

static void
schedule_one(struct scheduler *s, struct queued_pod *queued)
{
    planner_bind(s->planner, queued);
    if (queued->queued_group != NULL) {
        schedule_group(s, queued->queued_group);
        return;
    }
    if (should_skip(s, queued)) {
        queue_leave(s->queue, queued);
        queued_pod_free(queued);
        return;
    }
    (void)pod_placer_begin(s->pod_placer);
    run_cycle(s, begin_assignment(s, queued));
}

/* The extenders have answered. The cluster may have changed meanwhile, so the
 * cycle runs again.
 */
static void
resume(struct scheduler *s, struct assignment *a)
{
    struct queued_pod *queued = a->queued;

    queued->unschedulable = queued->pending = 0;
    if (should_skip(s, queued)) {
        queue_leave(s->queue, queued);
        assignment_free(a);
    } else if (a->error != NULL) {
        end_attempt(s, a, ANSWER_ERROR);
    } else {
        cycle_trace_begin(&s->trace, s->settings.clock);
        cycle_fini(&a->cycle);
        cycle_init(&a->cycle, queued->pod, &s->snapshot);
        planner_bind(s->planner, queued);
        run_cycle(s, a);
    }
}

/* Few groups are ranked all at once, so that no rank is older than the pod's
 * end that is handled; of many, some are ranked in each turn of the loop.
 */
void
scheduler_tick_ranks(struct scheduler *s)
{
    int64_t now_us = clock_monotonic_us(s->settings.clock);

    if (s->pod_ranks == NULL || now_us < s->next_ranking_us)
        return;
    s->next_ranking_us = now_us + RANK_EVERY_US;
    s->n_to_rank = (unsigned)queue_count(s->queue).groups;
    if (s->n_to_rank > FEW_GROUPS) {
        if (s->settings.ready != NULL)
            s->settings.ready(s->settings.context);
        return;
    }
    queue_rank_asleep(s->queue, s->n_to_rank);
    s->n_to_rank = 0;
}

static void
rank_asleep(struct scheduler *s)
{
    unsigned count = s->n_to_rank < RANKED_AT_ONCE ? s->n_to_rank : RANKED_AT_ONCE;

    if (count == 0)
        return;
    s->n_to_rank -= count;
    queue_rank_asleep(s->queue, count);
}

static bool
has_extender_answers(const struct scheduler *s)
{
    return s->extender_rounds != NULL && extender_rounds_has_ready(s->extender_rounds);
}

static bool
has_work(const struct scheduler *s)
{
    return queue_count(s->queue).active > 0 || has_extender_answers(s)
           || queue_has_room_to_hand_out(s->queue) || s->n_to_rank > 0
           || !partition_terms_are_told(s->partition_terms)
           || pod_groups_have_changed(s->pod_groups);
}

bool
scheduler_work(struct scheduler *s, unsigned cycles)
{
    const int64_t until_us = now_us(s) + TURN_US;

    s->was_paused = scheduler_is_paused(s);
    if (s->was_paused)
        return false;
    while (cycles-- > 0) {
        struct queued_pod *queued;
        bool is_late;

        scheduler_flush_pod_groups(s);
        if (partition_terms_update_some(s->partition_terms))
            continue;
        if (has_extender_answers(s)) {
            resume(s, extender_rounds_take(s->extender_rounds));
            continue;
        }
        if (s->pod_ranks != NULL && pod_ranks_take_stale(s->pod_ranks))
            queue_rerank(s->queue);
        pod_placer_flush_nominations(s->pod_placer);
        planner_settle(s->planner);
        free_room_begin_turn(s->free_room);
        queue_hand_out_room(s->queue);
        if (queue_skip_late(s->queue, LATE_MOST))
            continue;
        queued = queue_pop(s->queue);
        if (queued != NULL)
            schedule_one(s, queued);
        is_late = s->trace.began_us >= until_us;
        if (queued == NULL || cycles % RANK_TURNS == 0 || is_late)
            rank_asleep(s);
        if (cycles > 0 && (is_late || !has_work(s)))
            return has_work(s);
    }
    return has_work(s);
}

/* Time */

static void
count_in_flight(const char *label, size_t count, void *context)
{
    const struct scheduler *s = context;

    scheduler_metrics_in_flight(s->metrics, label, count);
}

void
scheduler_tick(struct scheduler *s)
{
    static const struct dispatch_kind *const kinds[] = {
        &scheduler_binding_kind,
        &scheduler_group_binding_kind,
        &recorder_status_kind,
        &recorder_event_kind,
    };
    struct scheduler_counts counts;

    if (s->was_paused && !scheduler_is_paused(s) && s->settings.ready != NULL) {
        s->was_paused = false;
        s->settings.ready(s->settings.context);
    }
    scheduler_flush_partitions(s);
    scheduler_update_topology(s);
    group_placer_tick(s->group_placer);
    scheduler_flush_node_reservations(s);
    queue_flush_backoff(s->queue);
    queue_notify_held(s->queue);
    if (now_us(s) >= s->next_leftover_us) {
        queue_flush_leftover(s->queue);
        s->next_leftover_us = now_us(s) + LEFTOVER_EVERY_US;
    }
    binding_cycle_expire(s->binding_cycle);
    volume_calls_expire(s->volume_calls);
    if (s->extender_rounds != NULL)
        extender_rounds_expire(s->extender_rounds);
    if (cache_expire(s->cache) > 0)
        queue_event(s->queue, &event_assigned_pod_delete, NULL, NULL);
    unallocated_pods_retry(s->unallocated_pods);
    yields_settle(s->yields);
    pod_placer_flush_nominations(s->pod_placer);
    scheduler_tick_ranks(s);
    planner_tick(s->planner);
    start_forecast_tick(s->forecast);
    recorder_flush(s->recorder);
    counts = scheduler_count(s);
    scheduler_metrics_counts(s->metrics, &counts);
    for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
        scheduler_metrics_waiting_calls(s->metrics, kinds[i]->name,
                                        dispatcher_waiting(s->dispatcher, kinds[i]));
    for (unsigned i = 0; i < s->n_profiles; i++)
        scheduler_metrics_profile(s->metrics, s->profiles[i]);
    if (s->metrics != NULL)
        queue_visit_events(s->queue, count_in_flight, s);
}

void
scheduler_start(struct scheduler *s)
{
    if (s->pod_ranks != NULL)
        pod_ranks_start(s->pod_ranks);
    dispatcher_hold(s->dispatcher, false);
    unallocated_pods_retry(s->unallocated_pods);
}

int64_t
scheduler_next_us(const struct scheduler *s)
{
    return queue_next_backoff_us(s->queue);
}

struct profile *
scheduler_profile(const struct scheduler *s, const struct object *pod)
{
    return scheduler_profile_named(s, pod_of(pod)->spec.scheduler_name);
}

struct profile *
scheduler_profile_named(const struct scheduler *s, const char *name)
{
    if (name == NULL || name[0] == '\0')
        name = SCHEDULER_DEFAULT_NAME;
    for (unsigned i = 0; i < s->n_profiles; i++)
        if (strcmp(s->profiles[i]->scheduler_name, name) == 0)
            return s->profiles[i];
    return NULL;
}
