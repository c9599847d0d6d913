/* SPDX-License-Identifier: Apache-2.0 */
/* The one cause that is reported to the owner of a waiting pod, with its
 * condition.
 */
#include "controller/scheduler/wait_report.h"

#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/explain/shortage.h"
#include "controller/scheduler/explain/wait_cause.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/diagnosis.h"
#include "controller/scheduler/framework/handle.h"
#include "controller/scheduler/framework/node_reservations.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/planning/planner.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/queue/unschedulable_pods.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/start_forecast.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/job/job_wait.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/node_reservation.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/base/time_share.h"

/* How many nodes are checked for a cause when the time share is used up. */
#define FEW_NODES 64

/* How many pods of a group get a report at once, which takes some milliseconds;
 * and how many when the time share is used up.
 */
#define ALIKE_MOST  4096
#define ALIKE_LEAST 256

/* The causes of waits and their start times may take a fiftieth of the thread.
 */
#define REPORT_US        2000
#define REPORT_WINDOW_US 100000

struct wait_report {
    struct wait_report_parts parts;
    struct time_share share; /* of the thread */
};

void
wait_report_free(struct wait_report *w)
{
    free(w);
}

struct wait_report *
wait_report_new(const struct wait_report_parts *parts)
{
    struct wait_report *w = xnew(struct wait_report);

    w->parts = *parts;
    w->share = (struct time_share){
        .clock = parts->handle->clock,
        .most_us = REPORT_US,
        .window_us = REPORT_WINDOW_US,
    };
    return w;
}

static struct shortage
shortage_of(const struct wait_report *w, const struct assignment *a)
{
    return (struct shortage){
        .profile = a->profile,
        .cycle = &a->cycle,
        .resources = w->parts.handle->resources,
        .volumes = w->parts.handle->volumes,
        .scratch_bytes = pod_spec_scratch_bytes(&a->cycle.pod->pod->spec),
    };
}

/* The time is that of the forecast, also for a pod with a reservation. */
static void
find_start(struct wait_report *w, const struct assignment *a, struct pod_cause *ret)
{
    const struct reserved_place *place =
        planner_find_place(w->parts.planner, a->queued, a->cycle.pod);

    start_forecast_report(a->queued, ret);
    if (place != NULL)
        ret->node = place->node->name;
}

/* A pod that starts too late for its deadline gets no start time: its Job ends
 * before.
 */
static void
judge_deadline(const struct wait_report *w, const struct pod_view *pod, struct pod_cause *told,
               struct strbuf *words)
{
    int64_t from_us = told->from_us > 0 ? told->from_us : clock_real_us(w->parts.handle->clock);

    if (told->from_us == CAUSE_FROM_SAME || pod_view_is_in_time(pod, from_us))
        return;
    told->from_us = 0;
    told->node = NULL;
    told->is_assumed = false;
    strbuf_add_text(words, "; by current estimates too late for its deadline");
}

/* 0: the begin is not known. */
static int64_t
begin_of_reservation(const struct wait_report *w, const struct pod_view *pod)
{
    const char *name = node_reservations_name(pod);
    const struct object *object =
        name != NULL ? node_reservations_find(w->parts.handle->node_reservations, name) : NULL;
    int64_t now_us = clock_real_us(w->parts.handle->clock);
    struct reserved_window window;

    return object != NULL && node_reservation_window(node_reservation_of(object), now_us, &window)
                   && window.from_us > now_us
               ? window.from_us
               : 0;
}

void
wait_report_record(struct wait_report *w, const struct assignment *a, const struct diagnosis *d,
                   const struct diagnosis_counts *counts, const char *error)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    bool has_time = time_share_is_open(&w->share);
    int64_t began_us = time_share_begin(&w->share);
    struct shortage shortage = shortage_of(w, a);
    struct pod_cause told = {.from_us = CAUSE_FROM_SAME};
    struct wait_cause cause;

    if (w->parts.is_simulation)
        return;
    cause =
        wait_cause_find(&(struct wait_cause_facts){.shortage = &shortage,
                                                   .diagnosis = d,
                                                   .counts = counts,
                                                   .reasons = w->parts.handle->reasons,
                                                   .cache = w->parts.cache,
                                                   .error = error,
                                                   .now_us = clock_real_us(w->parts.handle->clock),
                                                   .scan_most = has_time ? UINT32_MAX : FEW_NODES},
                        &words);

    told.code = job_reason_name(cause.reason);
    told.message = words.text;
    if (!cause.is_for_room)
        told.from_us =
            cause.reason == JOB_REASON_RESERVATION ? begin_of_reservation(w, a->cycle.pod) : 0;
    else
        find_start(w, a, &told);
    judge_deadline(w, a->cycle.pod, &told, &words);
    told.message = words.text;
    time_share_end(&w->share, began_us);
    recorder_set_cause(w->parts.recorder, a->cycle.pod, &told);
}

/* ---- Equal pods ---- */

struct alike {
    struct wait_report *report;
    const struct pod_view *pod;
    const struct pod_cause *cause; /* the report of the pod */
    bool is_for_room, is_other;
};

/* The messages of pods that wait for room always differ, and each pod is tried
 * when there is room. A cause that free room does not end is the same for all.
 */
static void
compare(struct queued_pod *other, void *context)
{
    struct alike *alike = context;
    const struct pod_cause *cause = recorder_cause(alike->report->parts.recorder, other->pod);

    alike->is_other |= cause != NULL
                       && (alike->is_for_room ? !wait_cause_is_for_room(cause->code)
                                              : strcmp(cause->message, alike->cause->message) != 0);
}

static void
copy(struct queued_pod *other, void *context)
{
    const struct alike *alike = context;
    struct pod_cause told = {0};

    if (planner_find_place(alike->report->parts.planner, other, other->pod) != NULL)
        return;
    recorder_copy(alike->report->parts.recorder, alike->pod, other->pod);
    if (!alike->is_for_room)
        return;
    start_forecast_report(other, &told);
    recorder_set_start(alike->report->parts.recorder, other->pod, told.from_us, told.is_assumed);
}

/* Only one pod of a group is tried, but its cause may hold for the whole group:
 * for example, a partition that is down.
 */
void
wait_report_alike(struct wait_report *w, const struct queued_pod *queued)
{
    struct alike alike = {
        .report = w,
        .pod = queued->pod,
        .cause = recorder_cause(w->parts.recorder, queued->pod),
    };

    int64_t began_us;
    unsigned most;

    if (alike.cause == NULL || queued->queued_group != NULL)
        return;
    alike.is_for_room = wait_cause_is_for_room(alike.cause->code);
    unschedulable_pods_visit_ends_alike(queued, compare, &alike);
    if (!alike.is_other)
        return;
    most = time_share_is_open(&w->share) ? ALIKE_MOST : ALIKE_LEAST;
    began_us = time_share_begin(&w->share);
    unschedulable_pods_visit_alike(queued, most, copy, &alike);
    time_share_end(&w->share, began_us);
}

static void
report(struct wait_report *w, const struct pod_view *pod, const struct job_wait *wait)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    enum job_reason reason = job_wait_format(wait, &pod->pod->spec, &words);

    recorder_set_cause(w->parts.recorder, pod,
                       &(struct pod_cause){.code = job_reason_name(reason), .message = words.text});
}

const char *
wait_report_format_failure(const struct pod_view *pod, const char *words, bool is_error,
                           struct strbuf *out)
{
    return job_reason_name(job_wait_format(
        &(struct job_wait){.kind = WAIT_WORDS,
                           .what = words,
                           .reason = is_error ? JOB_REASON_SYSTEM_FAILURE : JOB_REASON_OTHER},
        &pod->pod->spec, out));
}

void
wait_report_room(struct wait_report *w, const struct pod_view *pod, const char *node_name)
{
    report(w, pod, &(struct job_wait){.kind = WAIT_MAKING_ROOM, .node = node_name});
}

void
wait_report_failure(struct wait_report *w, const struct pod_view *pod, const char *words,
                    bool is_error)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const char *code = wait_report_format_failure(pod, words, is_error, &out);

    recorder_set_cause(w->parts.recorder, pod,
                       &(struct pod_cause){.code = code, .message = out.text});
}

void
wait_report_gates(struct wait_report *w, const struct pod_view *pod)
{
    CLEANUP_STRBUF struct strbuf what = STRBUF_INIT;
    const struct pod_spec *spec = &pod->pod->spec;

    if (spec->scheduling_gates.count > 0)
        strbuf_printf(&what, "waits for scheduling gate %.80s",
                      spec->scheduling_gates.items[0].name);
    else
        strbuf_add_text(&what, "a plugin keeps it out of the queue");
    report(w, pod,
           &(struct job_wait){.kind = WAIT_WORDS, .what = what.text, .reason = JOB_REASON_GATED});
}

/* ---- Groups ---- */

void
wait_report_hold(struct wait_report *w, const struct queued_pod *member)
{
    const struct queued_group *g = member->queued_group;
    CLEANUP_STRBUF struct strbuf what = STRBUF_INIT;

    if (g->refusal != NULL)
        queued_group_format_hold(g, &what);
    else
        strbuf_printf(&what, "waits until %u pods of its group '%s' are there", g->wanted, g->name);
    report(w, member->pod,
           &(struct job_wait){.kind = WAIT_WORDS,
                              .what = what.text,
                              .reason = g->refusal != NULL && g->refusal != g->obstacle
                                            ? JOB_REASON_BAD_CONSTRAINTS
                                            : JOB_REASON_GATED});
}

static unsigned
count_placed(const struct assignment_group *g)
{
    unsigned placed = 0;

    for (unsigned i = 0; i < g->count; i++)
        placed += g->members[i]->node_name != NULL;
    return placed;
}

/* The members together need more room than there is. */
static void
set_lack_of_room(struct assignment_group *g)
{
    g->cause = job_reason_name(JOB_REASON_RESOURCES);
    g->cause_brief =
        g->wanted < g->count
            ? xasprintf("waits for room for %u of %u pods at the same time", g->wanted, g->count)
            : xasprintf("waits for room for %u pods at the same time", g->count);
    g->cause_words = g->lacks_room
                         ? xstrdup(g->cause_brief)
                         : xasprintf("%s: %u would fit now", g->cause_brief, count_placed(g));
}

/* If one member lacks no more than room, the group does; any other cause of the
 * member is the cause of the group. An attempt that failed for another reason
 * than that a member found no node has no cause here.
 */
void
wait_report_find_group_cause(const struct wait_report *w, struct assignment_group *g,
                             const struct diagnosis *d)
{
    const struct assignment *a = g->failed;
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    struct shortage shortage = shortage_of(w, a);
    struct diagnosis_counts counts;
    struct wait_cause cause;

    if (w->parts.is_simulation || g->answer.verdict != VERDICT_REJECT || g->lacks_domain)
        return;
    if (g->lacks_room) {
        set_lack_of_room(g);
        return;
    }
    if ((a->queued->unschedulable | a->queued->pending) == 0)
        return;
    counts = diagnosis_count(d, w->parts.handle->reasons);
    cause =
        wait_cause_find(&(struct wait_cause_facts){.shortage = &shortage,
                                                   .diagnosis = d,
                                                   .counts = &counts,
                                                   .reasons = w->parts.handle->reasons,
                                                   .cache = w->parts.cache,
                                                   .now_us = clock_real_us(w->parts.handle->clock),
                                                   .scan_most = FEW_NODES},
                        &words);
    diagnosis_counts_fini(&counts);
    if (cause.reason == JOB_REASON_RESOURCES) {
        set_lack_of_room(g);
        return;
    }
    g->cause = job_reason_name(cause.reason);
    g->cause_words = xstrdup(words.text);
    g->cause_brief = xstrdup(words.text);
}
