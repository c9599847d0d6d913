/* SPDX-License-Identifier: Apache-2.0 */
/* no_node.c - a cycle that found no node: which reports it makes, and to whom
 */

#include "controller/scheduler/bind/binding_cycle.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/report/scheduler_metrics.h"
#include "controller/scheduler/scheduler.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/pod/pod.h"
#include "lib/base/strbuf.h"

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

/* The cluster has no nodes: the first node that is added activates the waiting
 * pods, where upstream treats this as an error and tries again and again.
 */
static plugin_set
find_waiters_for_nodes(const struct profile *p)
{
    plugin_set waiters = 0;

    for (unsigned i = 0; i < p->n_entries; i++) {
        const struct plugin *plugin = p->entries[i].plugin;

        for (unsigned w = 0; w < plugin->n_wakes; w++)
            if (!plugin->depends_on_others && plugin->wakes[w].resource == EVENT_NODE
                && (plugin->wakes[w].actions & ACTION_ADD) != 0)
                waiters |= PLUGIN_BIT(i);
    }
    return waiters;
}

static bool
is_parked(const struct scheduler *s, const struct diagnosis *d)
{
    return s->snapshot.n_nodes == 0 && !s->settings.without_sharing
           && (d->unschedulable | d->pending) == 0;
}

void
scheduler_note_rejectors(const struct scheduler *s, struct assignment *a, const struct diagnosis *d)
{
    bool is_error = d->absent.verdict == VERDICT_ERROR;

    a->queued->unschedulable =
        is_parked(s, d) && !is_error ? find_waiters_for_nodes(a->profile) : d->unschedulable;
    a->queued->pending = d->pending;
}

/* "" ends the nomination. */
static void
nominate(struct scheduler *s, struct pod_view *pod, const char *node_name)
{
    scheduler_end_nomination(s, pod, node_name);
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
    scheduler_report_wait(s, a, d, &counts, is_error ? message.text : NULL);
    diagnosis_counts_fini(&counts);
    scheduler_note_rejectors(s, a, d);
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
        scheduler_report_room(s, a->cycle.pod, nominated);
    if (!is_error)
        scheduler_reserve(s, a->queued, &a->cycle.pod, 1, d);
    recorder_failed(s->recorder, a->cycle.pod, is_error ? "SchedulerError" : "Unschedulable",
                    message.text);
    if (!is_error && (nominated == NULL || *nominated == '\0'))
        scheduler_report_alike(s, a->queued);
    if (is_error)
        s->errors++;
    else
        s->unschedulable++;
    scheduler_attempt_ended(s, a, is_error ? ATTEMPT_ERROR : ATTEMPT_UNSCHEDULABLE);
    scheduler_return(s, a);
    assignment_free(a);
}
