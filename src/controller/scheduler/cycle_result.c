/* SPDX-License-Identifier: Apache-2.0 */
/* The end of an attempt: the pod is bound or goes back to the queue. */
#include <string.h>

#include "controller/scheduler/bind/binding_cycle.h"
#include "controller/scheduler/bind/unallocated_pods.h"
#include "controller/scheduler/bind/volume_calls.h"
#include "controller/scheduler/explain/wait_cause.h"
#include "controller/scheduler/extenders/extender_binder.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/placing/pod_placer.h"
#include "controller/scheduler/planning/planner.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/report/scheduler_metrics.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/start_forecast.h"
#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/wait_report.h"
#include "lib/allocator/holding.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/node/node.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"

static int64_t
now_us(const struct scheduler *s)
{
    return clock_monotonic_us(s->settings.clock);
}

/* The pod goes back to the queue and no longer belongs to the assignment. */
void
scheduler_return(struct scheduler *s, struct assignment *a)
{
    struct queued_pod *queued = a->queued;

    a->queued = NULL;
    if (a->has_left)
        queue_return(s->queue, queued);
    else
        queue_fail(s->queue, queued);
}

static void
attempt_ended(struct scheduler *s, const struct assignment *a, enum attempt_result result)
{
    scheduler_metrics_attempt(s->metrics, a->profile->scheduler_name, result,
                              now_us(s) - a->began_us);
}

/* Undoes what was assumed. True: other pods may have more room than before. */
static bool
take_back(struct scheduler *s, struct assignment *a)
{
    struct node_view *node;
    struct pod_view *pod = a->cycle.pod;
    bool has_volumes = cycle_get(&a->cycle, CYCLE_VOLUMES) != NULL;

    if (a->node_name == NULL)
        return false;
    node = cache_find_node(s->cache, a->node_name);
    profile_unreserve(a->profile, &a->cycle, node);
    if (has_volumes)
        queue_event(s->queue, &event_storage_capacity, NULL, NULL);
    if (!cache_forget(s->cache, pod))
        return false;
    holding_free(pod->holding);
    pod->holding = NULL;
    scheduler_room_changed(s, node);
    return true;
}

void
scheduler_forget(struct scheduler *s, struct assignment *a)
{
    if (take_back(s, a))
        queue_event(s->queue, &event_assigned_pod_delete, NULL, NULL);
}

static const char *
reason_of(const struct scheduler *s, const struct assignment *a, struct answer answer)
{
    if (a->error != NULL)
        return a->error;
    return answer.reason != STRING_ID_NONE ? string_ids_text(s->reasons, answer.reason)
                                           : "no reason was given";
}

static void
count_failure(struct scheduler *s, const struct assignment *a, bool is_error)
{
    if (is_error)
        s->errors++;
    else
        s->unschedulable++;
    attempt_ended(s, a, is_error ? ATTEMPT_ERROR : ATTEMPT_UNSCHEDULABLE);
}

void
scheduler_fail(struct scheduler *s, struct assignment *a, struct answer answer)
{
    bool is_error = answer.verdict == VERDICT_ERROR;

    if (a->queued->is_deleted)
        return;
    a->queued->n_errors += is_error;
    if (!is_error && answer.plugin != PLUGIN_NONE)
        a->queued->unschedulable |= PLUGIN_BIT(answer.plugin);
    wait_report_failure(s->wait_report, a->cycle.pod, reason_of(s, a, answer), is_error);
    recorder_failed(s->recorder, a->cycle.pod,
                    is_error ? REASON_SCHEDULER_ERROR : REASON_UNSCHEDULABLE,
                    reason_of(s, a, answer));
    count_failure(s, a, is_error);
}

/* A group */

/* Whether a member found no node; then the message changes with every attempt.
 */
static bool
lacks_node(const struct assignment_group *g)
{
    const struct assignment *failed = g->failed;

    return g->answer.verdict == VERDICT_REJECT && !g->lacks_room && failed->owner == NULL
           && (failed->queued->unschedulable | failed->queued->pending) != 0;
}

static void
format_group(const struct assignment_group *g, struct strbuf *out)
{
    strbuf_printf(out, "group '%s' of %u pods, ", g->name, g->count);
    if (g->n_placed > 0)
        strbuf_printf(out, "beside %u of it that %s a node or ended well, ", g->n_placed,
                      g->n_placed == 1 ? "has" : "have");
    if (g->wanted < g->count)
        strbuf_printf(out, "at least %u of them placed together: ", g->wanted);
    else
        strbuf_printf(out, "placed all together or not at all: ");
}

static void
format_failure(const struct scheduler *s, const struct assignment_group *g, struct strbuf *out)
{
    const struct assignment *failed = g->failed;
    unsigned before = 0;

    while (before < g->count && g->members[before] != failed)
        before++;
    format_group(g, out);
    if (failed->owner == NULL && before > 0)
        strbuf_printf(out, "%u found room, ", before);
    strbuf_printf(out, "pod '%s'%s: %s", failed->cycle.pod->name,
                  failed->owner != NULL ? ""
                  : before > 0          ? " did not"
                                        : " found no room",
                  reason_of(s, failed, g->answer));
}

/* The message for members that neither failed nor are the first. It is the same
 * each time, because each change of it is written to the API.
 */
static void
format_for_others(const struct assignment_group *g, struct strbuf *out)
{
    format_group(g, out);
    strbuf_printf(out, "not all found a node; see the message of pod '%s'",
                  g->members[0]->cycle.pod->name);
}

/* The texts that one member is given: those of the condition, and the cause. */
struct group_words {
    const char *reason;
    const char *words;
    struct pod_cause cause;
    struct strbuf cause_words;
};

static void
group_words_init(struct group_words *w, const struct assignment_group *g, const char *words,
                 const char *cause)
{
    bool is_error = g->answer.verdict == VERDICT_ERROR;

    *w = (struct group_words){
        .reason = is_error ? REASON_SCHEDULER_ERROR : REASON_UNSCHEDULABLE,
        .words = words,
        .cause_words = STRBUF_INIT,
    };
    w->cause.code = g->cause;
    if (g->cause != NULL)
        strbuf_add_text(&w->cause_words, cause);
    else
        w->cause.code =
            wait_report_format_failure(g->members[0]->cycle.pod, words, is_error, &w->cause_words);
    w->cause.message = w->cause_words.text;
}

/* Every member gets the condition; only the failed one gets an event. */
static void
fail_member(struct scheduler *s, const struct assignment_group *g, struct assignment *a,
            const struct group_words *w, const struct reserved_place *place)
{
    struct pod_cause cause = w->cause;

    if (a->queued->is_deleted)
        return;
    a->queued->n_errors += g->answer.verdict == VERDICT_ERROR;
    if (a == g->failed && g->answer.verdict != VERDICT_ERROR && g->answer.plugin != PLUGIN_NONE)
        a->queued->unschedulable |= PLUGIN_BIT(g->answer.plugin);
    if (g->cause == NULL || wait_cause_is_for_room(g->cause))
        start_forecast_report(a->queued, &cause);
    if (place != NULL)
        cause.node = place->node->name;
    recorder_set_cause(s->recorder, a->cycle.pod, &cause);
    if (a == g->failed)
        recorder_failed(s->recorder, a->cycle.pod, w->reason, w->words);
    else
        recorder_condition(s->recorder, a->cycle.pod, w->reason, w->words);
    count_failure(s, a, g->answer.verdict == VERDICT_ERROR);
}

/* The places usually are in the order of the members, so index `at` is tried
 * first.
 */
static const struct reserved_place *
find_place(const struct reservation *r, unsigned at, const struct pod_view *pod)
{
    if (r == NULL || r->places == NULL)
        return NULL;
    if (at < r->count && pod_view_is_same(r->places[at].pod, pod))
        return &r->places[at];
    for (unsigned i = 0; i < r->count; i++)
        if (pod_view_is_same(r->places[i].pod, pod))
            return &r->places[i];
    return NULL;
}

static void
fail_members(struct scheduler *s, const struct assignment_group *g)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf for_others = STRBUF_INIT;
    bool is_short = lacks_node(g);
    const struct reservation *r = planner_find(s->planner, g->members[0]->queued);
    struct group_words full, brief;

    format_failure(s, g, &words);
    if (is_short)
        format_for_others(g, &for_others);
    group_words_init(&full, g, words.text, g->cause_words);
    group_words_init(&brief, g, is_short ? for_others.text : words.text, g->cause_brief);
    for (unsigned i = 0; i < g->count; i++) {
        struct assignment *a = g->members[i];

        fail_member(s, g, a, i == 0 || a == g->failed ? &full : &brief,
                    find_place(r, i, a->cycle.pod));
    }
    strbuf_fini(&full.cause_words);
    strbuf_fini(&brief.cause_words);
}

static void
return_group(struct scheduler *s, const struct assignment_group *g)
{
    struct queued_pod *left[QUEUED_GROUP_MAX];
    unsigned n_left = 0;

    for (unsigned i = 0; i < g->count; i++) {
        struct assignment *a = g->members[i];

        if (a->has_left) {
            left[n_left++] = a->queued;
            a->queued = NULL;
        } else {
            scheduler_return(s, a);
        }
    }
    queue_return_all(s->queue, left, n_left);
}

void
scheduler_group_failed(struct assignment_group *g, void *context)
{
    struct scheduler *s = context;
    bool has_freed = false;

    for (unsigned i = g->count; i-- > 0;)
        has_freed |= take_back(s, g->members[i]);
    if (has_freed)
        queue_event(s->queue, &event_assigned_pod_delete, NULL, NULL);
    fail_members(s, g);
    return_group(s, g);
    /* The API may have bound the members all the same. */
    for (unsigned i = 0; i < g->count; i++)
        if (g->members[i]->has_left)
            unallocated_pods_add_node(s->unallocated_pods, g->members[i]->node_name);
}

/* They were not assumed, so nothing is to be undone. */
void
scheduler_return_left_out(struct scheduler *s, struct assignment_group *g)
{
    const struct answer answer = {
        .verdict = VERDICT_REJECT,
        .plugin = PLUGIN_NONE,
        .reason = STRING_ID_NONE,
    };
    unsigned kept = 0;

    for (unsigned i = 0; i < g->count; i++) {
        struct assignment *a = g->members[i];

        if (a->node_name != NULL) {
            g->members[kept++] = a;
            continue;
        }
        a->group = NULL;
        g->n_users--;
        scheduler_fail(s, a, answer);
        scheduler_return(s, a);
        assignment_free(a);
    }
    g->count = kept;
}

void
scheduler_abandon_member(struct assignment *a, void *context)
{
    const struct scheduler *s = context;

    volume_calls_abandon(s->volume_calls, a);
}

/* One pod */

void
scheduler_pod_leaves(struct assignment *a, void *context)
{
    struct scheduler *s = context;

    queue_leave(s->queue, a->queued);
}

/* Elements of an array get no event: their pods, and later their rows of the
 * history, say where they run.
 */
static void
record_scheduled(struct scheduler *s, const struct assignment *a)
{
    CLEANUP_STRBUF struct strbuf message = STRBUF_INIT;

    recorder_forget(s->recorder, a->cycle.pod);
    if (string_map_find(&a->cycle.pod->pod->meta.annotations, ANNOTATION_ARRAY_TASK) != NULL)
        return;
    strbuf_printf(&message, "Successfully assigned %s to %s", a->queued->key, a->node_name);
    recorder_event(s->recorder, a->cycle.pod, "Normal", EVENT_SCHEDULED, message.text);
}

/* The owner relies on the checkpoint command and is warned before it is needed.
 */
static void
record_no_checkpoint(struct scheduler *s, const struct assignment *a)
{
    const struct execution *e = a->cycle.pod->pod->spec.execution;
    const struct node_view *view = cache_find_node(s->cache, a->node_name);
    CLEANUP_STRBUF struct strbuf message = STRBUF_INIT;

    if (e == NULL || e->checkpoint_command == NULL || e->checkpoint_command[0] == '\0'
        || view == NULL || view->node == NULL
        || node_has_feature(view->node, NODE_FEATURE_CHECKPOINT))
        return;
    strbuf_printf(&message,
                  "its checkpoint command will not be run: the agent of node "
                  "%s is of an earlier release",
                  a->node_name);
    recorder_event(s->recorder, a->cycle.pod, "Warning", EVENT_CHECKPOINT_UNSUPPORTED,
                   message.text);
}

void
scheduler_pod_ended(struct assignment *a, struct answer answer, void *context)
{
    struct scheduler *s = context;

    if (answer.verdict == VERDICT_OK) {
        cache_finish_binding(s->cache, a->cycle.pod);
        record_scheduled(s, a);
        record_no_checkpoint(s, a);
        attempt_ended(s, a, ATTEMPT_SCHEDULED);
        scheduler_metrics_placed(s->metrics, a->queued->attempts,
                                 now_us(s) - a->queued->first_at_us);
        s->scheduled++;
        return;
    }
    scheduler_forget(s, a);
    scheduler_fail(s, a, answer);
    scheduler_return(s, a);
    /* The API may have bound the pod all the same. */
    unallocated_pods_add_node(s->unallocated_pods, a->node_name);
}

/* The claims of the pod are bound, or will not be. */
void
scheduler_volumes_ended(struct assignment *a, const char *words, void *context)
{
    struct scheduler *s = context;

    if (words != NULL) {
        scheduler_metrics_volume_failed(s->metrics, "bind");
        free(a->error);
        a->error = xstrdup(words);
    }
    binding_cycle_resume(s->binding_cycle, a, words == NULL ? VERDICT_OK : VERDICT_ERROR,
                         STRING_ID_NONE);
}

/* An extender that binds knows nothing of allocations: the pod's allocation is
 * written after the extender has bound it.
 */

bool
scheduler_bind_by_extender(struct assignment *a, void *context)
{
    const struct scheduler *s = context;

    return s->extender_binder != NULL && extender_binder_bind(s->extender_binder, a);
}

void
scheduler_extender_bound(struct assignment *a, enum verdict verdict, void *context)
{
    struct scheduler *s = context;

    if (verdict == VERDICT_SKIP)
        binding_cycle_bind(s->binding_cycle, a);
    else if (verdict == VERDICT_OK && cycle_get(&a->cycle, CYCLE_GRANT) != NULL)
        s->handle.bind(s->handle.owner, a);
    else
        binding_cycle_resume(s->binding_cycle, a, verdict, STRING_ID_NONE);
}

static const char *
permit_result(enum verdict verdict, const struct assignment *a, int64_t now)
{
    if (verdict == VERDICT_OK)
        return "allowed";
    return now >= a->deadline_us ? "timeout" : "rejected";
}

void
scheduler_pod_passed(const struct assignment *a, enum verdict verdict, int64_t took_us,
                     void *context)
{
    static const char *const names[] = {
        [ASSIGNMENT_PERMIT] = "Permit",
        [ASSIGNMENT_PREBIND] = "PreBind",
        [ASSIGNMENT_BIND] = "Bind",
    };
    const struct scheduler *s = context;

    scheduler_metrics_point(s->metrics, a->profile->scheduler_name, names[a->stage], verdict,
                            took_us);
    if (a->stage == ASSIGNMENT_PERMIT && a->has_waited)
        scheduler_metrics_permit_wait(s->metrics, permit_result(verdict, a, now_us(s)), took_us);
}

/* ---- A cycle that found no node: which reports it makes, and to whom ---- */

/* WAIT: PostFilter continues later, and the assignment is not ours until then.
 */
static enum verdict
run_postfilter(struct scheduler *s, struct assignment *a, const struct diagnosis *d,
               const char **ret_nominated, struct strbuf *message)
{
    uint64_t before = s->evicted;
    enum verdict verdict;

    if (a->profile->orders[POINT_POSTFILTER].count == 0)
        return VERDICT_REJECT;
    verdict = profile_postfilter(a->profile, &a->cycle, d, ret_nominated, message);
    cycle_trace_mark(&s->trace, STEP_POSTFILTER);
    cycle_trace_set_verdict(&s->trace, STEP_POSTFILTER, verdict);
    if (verdict != VERDICT_WAIT)
        scheduler_metrics_preemption(s->metrics, (unsigned)(s->evicted - before));
    return verdict;
}

/* "" ends the nomination. */
static void
nominate(struct scheduler *s, struct pod_view *pod, const char *node_name)
{
    pod_placer_end_nomination(s->pod_placer, pod, node_name);
    if (*node_name != '\0')
        nominator_add(s->handle.nominator, pod, cache_make_node(s->cache, node_name));
    recorder_nominate(s->recorder, pod, node_name);
}

/* No node has room now. PostFilter may make room for the pod. */
void
scheduler_found_no_node(struct scheduler *s, struct assignment *a)
{
    const struct diagnosis *d = node_finder_diagnosis(s->node_finder);
    CLEANUP_STRBUF struct strbuf message = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf more = STRBUF_INIT;
    const char *nominated = NULL;
    bool is_error = d->absent.verdict == VERDICT_ERROR;
    struct diagnosis_counts counts;

    counts = diagnosis_count(d, s->reasons);
    diagnosis_format_counts(d, &counts, s->reasons, &message);
    wait_report_record(s->wait_report, a, d, &counts, is_error ? message.text : NULL);
    diagnosis_counts_fini(&counts);
    pod_placer_note_rejectors(s->pod_placer, a, d);
    if (!is_error && run_postfilter(s, a, d, &nominated, &more) == VERDICT_WAIT)
        return;
    if (more.length > 0) {
        strbuf_add_char(&message, ' ');
        strbuf_add(&message, more.text, more.length);
    }
    if (nominated != NULL
        && (*nominated != '\0' || nominator_node(s->handle.nominator, a->cycle.pod) != NULL))
        nominate(s, a->cycle.pod, nominated);
    if (nominated != NULL && *nominated != '\0')
        wait_report_room(s->wait_report, a->cycle.pod, nominated);
    if (!is_error)
        planner_reserve(s->planner, a->queued, &a->cycle.pod, 1, d);
    recorder_failed(s->recorder, a->cycle.pod,
                    is_error ? REASON_SCHEDULER_ERROR : REASON_UNSCHEDULABLE, message.text);
    if (!is_error && (nominated == NULL || *nominated == '\0'))
        wait_report_alike(s->wait_report, a->queued);
    if (is_error)
        s->errors++;
    else
        s->unschedulable++;
    attempt_ended(s, a, is_error ? ATTEMPT_ERROR : ATTEMPT_UNSCHEDULABLE);
    scheduler_return(s, a);
    assignment_free(a);
}
