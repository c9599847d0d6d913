/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/job_report.h"

#include <inttypes.h>
#include <string.h>

#include "controller/lifecycle/dependencies/dependencies.h"
#include "controller/lifecycle/job/array_state.h"
#include "controller/lifecycle/job/element_counts.h"
#include "controller/lifecycle/job/job_pod_counts.h"
#include "controller/lifecycle/job/job_verdict.h"
#include "controller/lifecycle/job/removed_counts.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/job/job_wait.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

struct job_report
job_report(struct arena *arena, const struct job *job, int64_t now_us)
{
    return (struct job_report){
        .arena = arena,
        .job = job,
        .now_us = now_us,
        .status = json_object(arena),
    };
}

static void
set_time(struct arena *arena, struct json *o, const char *name, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    time_format(us, false, text);
    json_set_string(arena, o, name, text);
}

/* ---- Conditions ---- */

static void
add_condition(struct job_report *r, const char *type, const char *status, const char *reason,
              const char *message, int64_t at_us)
{
    struct arena *arena = r->arena;
    struct json *c = NULL;

    for (uint32_t i = 0; i < json_count(r->conditions) && c == NULL; i++)
        if (strcmp(json_get_text(r->conditions->items[i], "type"), type) == 0)
            c = r->conditions->items[i];
    if (c == NULL) {
        c = json_object(arena);
        json_append(arena, r->conditions, c);
    }
    json_set_string(arena, c, "type", type);
    json_set_string(arena, c, "status", status);
    set_time(arena, c, "lastProbeTime", at_us);
    set_time(arena, c, "lastTransitionTime", at_us);
    json_set_string(arena, c, "reason", reason);
    json_set_string(arena, c, "message", message);
}

static void
begin_conditions(struct job_report *r)
{
    if (r->conditions != NULL)
        return;
    r->is_urgent = true;
    r->conditions = json_array(r->arena);
    json_set(r->arena, r->status, "conditions", r->conditions);
    for (unsigned i = 0; i < r->job->status.conditions.count; i++) {
        const struct job_condition *c = &r->job->status.conditions.items[i];

        add_condition(r, c->type, c->status, c->reason ? c->reason : "",
                      c->message ? c->message : "", c->last_transition_at_us);
    }
}

static void
set_condition(struct job_report *r, const char *type, const struct job_verdict *v)
{
    if (job_find_condition(r->job, type) != NULL)
        return;
    begin_conditions(r);
    add_condition(r, type, "True", v->reason, v->message, r->now_us);
}

void
job_report_verdict(struct job_report *r, const struct job_verdict *v)
{
    set_condition(r, v->outcome == JOB_COMPLETE ? "SuccessCriteriaMet" : "FailureTarget", v);
}

void
job_report_order(struct job_report *r, const struct job_verdict *v)
{
    if (job_find_order(r->job) != NULL)
        return;
    begin_conditions(r);
    add_condition(r, "FailureTarget", "False", v->reason, v->message, r->now_us);
}

static void
report_canceller(struct job_report *r)
{
    const char *by = string_map_find(&r->job->meta.annotations, ANNOTATION_CANCEL);

    if (by != NULL)
        json_set_string(r->arena, r->status, "cancelledBy", arena_printf(r->arena, "%.100s", by));
}

/* A job never ends before it has started, even if the clock was set back
 * meanwhile: the API refuses such a status, and the job would not end at all.
 */
static int64_t
completion_us(const struct job_report *r)
{
    const int64_t start_us = r->job->status.start_at_us;

    return r->now_us > start_us ? r->now_us : start_us;
}

void
job_report_end(struct job_report *r, const struct job_verdict *v)
{
    bool is_complete = v->outcome == JOB_COMPLETE;

    set_condition(r, is_complete ? "Complete" : "Failed", v);
    r->event = is_complete ? (struct job_event){false, EVENT_COMPLETED, "Job completed"}
                           : (struct job_event){true, v->reason, v->message};
    if (is_complete)
        set_time(r->arena, r->status, "completionTime", completion_us(r));
    if (strcmp(v->reason, REASON_CANCELLED) == 0)
        report_canceller(r);
}

static const struct job_event suspended_event = {
    false,
    EVENT_SUSPENDED,
    JOB_SUSPENDED_MESSAGE,
};

void
job_report_suspended(struct job_report *r, bool is_suspended)
{
    r->event =
        is_suspended ? suspended_event : (struct job_event){false, EVENT_RESUMED, "Job resumed"};
    begin_conditions(r);
    add_condition(r, "Suspended", is_suspended ? "True" : "False",
                  is_suspended ? REASON_JOB_SUSPENDED : REASON_JOB_RESUMED,
                  is_suspended ? JOB_SUSPENDED_MESSAGE : "Job resumed", r->now_us);
    if (is_suspended && r->job->status.start_at_us > 0)
        json_set(r->arena, r->status, "startTime", json_null(r->arena));
}

/* ---- Counts ---- */

static void
set_count(struct job_report *r, const char *name, int64_t was, int64_t is)
{
    if (was == is)
        return;
    if (is == 0)
        json_set(r->arena, r->status, name, json_null(r->arena));
    else
        json_set_int(r->arena, r->status, name, is);
}

static void
set_indexes(struct job_report *r, const char *name, const char *was, const struct index_set *is)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    /* Indexes beyond the completions are dropped, as upstream does. */
    index_set_format(is, job_completions(r->job), &text);
    if (strcmp(text.text, was != NULL ? was : "") != 0)
        json_set_string(r->arena, r->status, name, arena_strndup(r->arena, text.text, text.length));
}

static bool
is_same_run(const struct job_run *was, const struct job_last_run *is)
{
    const struct pod_usage *usage = was != NULL ? was->usage : NULL;

    return was != NULL && text_equals_loosely(was->pod_name, is->pod_name)
           && text_equals_loosely(was->reason, is->reason)
           && text_equals_loosely(was->message, is->message)
           && was->started_at_us == is->started_at_us && was->finished_at_us == is->finished_at_us
           && was->frozen_us == is->frozen_us && was->signal == is->signal
           && (usage != NULL) == is->has_usage;
}

/* A merge patch keeps members that it does not name, so an empty one is set to
 * null.
 */
static void
set_or_clear(struct job_report *r, struct json *run, const char *name, struct json *value)
{
    if (value != NULL)
        json_set(r->arena, run, name, value);
    else if (r->job->status.last_run != NULL)
        json_set(r->arena, run, name, json_null(r->arena));
}

static struct json *
text_or_null(struct arena *arena, const char *text)
{
    return text != NULL ? json_string(arena, text) : NULL;
}

static struct json *
time_or_null(struct arena *arena, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    if (us == 0)
        return NULL;
    time_format(us, false, text);
    return json_string(arena, arena_strdup(arena, text));
}

static struct json *
usage_or_null(struct arena *arena, const struct job_last_run *run)
{
    struct json *usage;

    if (!run->has_usage)
        return NULL;
    usage = json_object(arena);
    json_set_int(arena, usage, "peakMemoryBytes", run->peak_memory_bytes);
    json_set_int(arena, usage, "userCpuMicroseconds", run->user_cpu_us);
    json_set_int(arena, usage, "systemCpuMicroseconds", run->system_cpu_us);
    return usage;
}

/* The script was ended by the job controller, which says because of which pod. */
static struct job_last_run
run_of(const struct job_pod_counts *counts)
{
    static char reason[] = REASON_MEMBER_ENDED;
    struct job_last_run run = counts->run;

    if (counts->cause == NULL || run.reason == NULL || strcmp(run.reason, REASON_POD_DELETED) != 0)
        return run;
    run.reason = reason;
    run.message = counts->cause;
    return run;
}

static void
set_run(struct job_report *r, const struct job_last_run *is)
{
    struct arena *arena = r->arena;
    struct json *run;

    if (is->has_exit_code
        && (r->job->status.exit_code == NULL || *r->job->status.exit_code != is->exit_code))
        json_set_int(arena, r->status, "exitCode", is->exit_code);
    if (is->pod_name == NULL || is_same_run(r->job->status.last_run, is))
        return;
    run = json_make_object(arena, r->status, "lastRun");
    json_set_string(arena, run, "podName", is->pod_name);
    set_or_clear(r, run, "nodeName", text_or_null(arena, is->node_name));
    set_or_clear(r, run, "startedAt", time_or_null(arena, is->started_at_us));
    set_or_clear(r, run, "finishedAt", time_or_null(arena, is->finished_at_us));
    set_or_clear(r, run, "frozenMicroseconds",
                 is->frozen_us > 0 ? json_int(arena, is->frozen_us) : NULL);
    set_or_clear(r, run, "exitCode",
                 is->has_exit_code && is->exit_code != 0 ? json_int(arena, is->exit_code) : NULL);
    set_or_clear(r, run, "signal", is->signal != 0 ? json_int(arena, is->signal) : NULL);
    set_or_clear(r, run, "reason", text_or_null(arena, is->reason));
    set_or_clear(r, run, "message", text_or_null(arena, is->message));
    set_or_clear(r, run, "usage", usage_or_null(arena, is));
}

static void
set_array(struct job_report *r, const struct job_pod_counts *counts)
{
    const struct job_array_status *was = r->job->status.array;
    CLEANUP_STRBUF struct strbuf waiting = STRBUF_INIT;
    int64_t cancelled = job_verdict_count_cancelled(r->job, counts);
    struct json *array;

    if (!job_is_cancelled(r->job))
        array_state_format_waiting(counts->array, &counts->indexes.taken, &waiting);
    if (text_equals_loosely(was != NULL ? was->waiting : NULL, waiting.text)
        && (was != NULL ? was->cancelled : 0) == cancelled)
        return;
    array = json_make_object(r->arena, r->status, "array");
    if (waiting.length > 0)
        json_set_string(r->arena, array, "waiting", arena_strdup(r->arena, waiting.text));
    else
        json_set(r->arena, array, "waiting", json_null(r->arena));
    if (cancelled > 0)
        json_set_int(r->arena, array, "cancelled", cancelled);
}

void
job_report_unstarted(struct job_report *r, const struct job_pod_counts *counts)
{
    CLEANUP_STRBUF struct strbuf tasks = STRBUF_INIT;
    struct index_set indexes = {0};

    if (counts->array == NULL)
        return;
    element_counts_find_unstarted(counts, &indexes);
    array_state_format(counts->array, &indexes, &tasks);
    index_set_fini(&indexes);
    if (tasks.length > 0)
        json_set_string(r->arena, json_make_object(r->arena, r->status, "array"), "unstarted",
                        arena_strdup(r->arena, tasks.text));
}

void
job_report_counts(struct job_report *r, const struct job_pod_counts *counts)
{
    const struct job_status *was = &r->job->status;
    int64_t made = counts->made;
    struct job_last_run run;

    set_count(r, "active", was->active, counts->live);
    set_count(r, "terminating", was->terminating, counts->ending);
    set_count(r, "ready", was->ready, counts->ready);
    set_count(r, "succeeded", was->succeeded, counts->succeeded);
    set_count(r, "failed", was->failed,
              counts->failed > was->failed || counts->array != NULL ? counts->failed : was->failed);
    set_count(r, "excused", was->excused, counts->excused);
    if (removed_counts_are_complete(counts, r->job)) {
        json_set(r->arena, r->status, "removedPods", json_null(r->arena));
        r->is_urgent = true;
    }
    if (made > was->attempts)
        json_set_int(r->arena, r->status, "attempts", made);
    if (counts->array != NULL)
        set_array(r, counts);
    if (job_is_indexed(r->job) && !counts->indexes.is_merged)
        set_indexes(r, "completedIndexes", was->completed_indexes, &counts->indexes.done);
    if (r->job->spec.backoff_limit_per_index != NULL && !counts->indexes.is_merged)
        set_indexes(r, "failedIndexes", was->failed_indexes, &counts->indexes.failed);
    run = run_of(counts);
    set_run(r, &run);
}

void
job_report_start(struct job_report *r, int64_t began_us)
{
    if (r->job->status.start_at_us == 0 && json_get(r->status, "startTime") == NULL)
        set_time(r->arena, r->status, "startTime", began_us > 0 ? began_us : r->now_us);
}

static struct job_event
held_event(struct arena *arena, const char *by)
{
    return (struct job_event){false, EVENT_HELD, arena_printf(arena, "Held by %.100s", by)};
}

struct job_event
job_report_new(struct arena *arena, const struct job *job)
{
    const char *by = string_map_find(&job->meta.annotations, ANNOTATION_HOLD);

    if (job_state_of_name(job->status.state) != JOB_STATE_HELD)
        return (struct job_event){0};
    if (job_find_condition(job, "Suspended") != NULL)
        return suspended_event;
    return by != NULL ? held_event(arena, by) : (struct job_event){0};
}

/* Events for who has held the Job, and for its release. */
static void
set_hold_event(struct job_report *r, const char *was, enum job_state state)
{
    const char *by = string_map_find(&r->job->meta.annotations, ANNOTATION_HOLD);

    if (state == JOB_STATE_HELD && by != NULL)
        r->event = held_event(r->arena, by);
    else if (job_state_of_name(was) == JOB_STATE_HELD && !job_is_held(r->job))
        r->event = (struct job_event){false, EVENT_RELEASED, "Released"};
}

/* Events for a freeze and its end; both are written without delay. */
static void
set_freeze_event(struct job_report *r, const char *was, enum job_state state, const char *yields_to)
{
    const char *by = job_find_freezer(r->job);

    if (state == JOB_STATE_FROZEN)
        r->event = (struct job_event){
            false, EVENT_FROZEN,
            by != NULL ? arena_printf(r->arena, "Suspended by %.100s", by)
            : yields_to != NULL
                ? arena_printf(r->arena, "Suspended for %.100s, which runs on its cores", yields_to)
                : "Suspended"};
    else if (job_state_of_name(was) == JOB_STATE_FROZEN && state == JOB_STATE_RUNNING)
        r->event = (struct job_event){false, EVENT_THAWED, "Resumed"};
    else
        return;
    r->is_urgent = true;
}

void
job_report_refusal(struct job_report *r, const char *refusal)
{
    const struct pod_cause *was = r->job->status.cause;
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    const char *code;
    struct json *cause;

    if (refusal == NULL) {
        if (was != NULL)
            json_set(r->arena, r->status, "cause", json_null(r->arena));
        return;
    }
    code = job_reason_name(job_wait_format_refusal(refusal, &words));
    if (was != NULL && text_equals_loosely(was->code, code)
        && text_equals_loosely(was->message, words.text))
        return;
    cause = json_make_object(r->arena, r->status, "cause");
    json_set_string(r->arena, cause, "code", code);
    json_set(r->arena, cause, "message", json_string_n(r->arena, words.text, words.length));
}

/* Sets the status cause of a job that waits on although its dependency is never
 * met.
 */
static void
report_vain_wait(struct job_report *r, const struct dependency_answer *answer)
{
    const struct pod_cause *was = r->job->status.cause;
    struct json *cause;

    if (answer == NULL || answer->verdict != DEPENDENCY_IS_NEVER_MET) {
        if (was != NULL
            && text_equals_loosely(was->code, job_reason_name(JOB_REASON_DEPENDENCY_NEVER)))
            json_set(r->arena, r->status, "cause", json_null(r->arena));
        return;
    }
    if (was != NULL && text_equals_loosely(was->message, answer->message))
        return;
    cause = json_make_object(r->arena, r->status, "cause");
    json_set_string(r->arena, cause, "code", job_reason_name(JOB_REASON_DEPENDENCY_NEVER));
    json_set_string(r->arena, cause, "message", answer->message);
}

void
job_report_dependencies(struct job_report *r, const struct dependency_answer *answer,
                        int64_t met_at_us)
{
    const struct job_dependency_status *was = r->job->status.dependencies;
    struct json *is;

    if (r->job->spec.dependencies == NULL)
        return;
    if (!r->job->spec.suspend) /* a suspended job has no cause */
        report_vain_wait(r, answer);
    if (answer != NULL && answer->ended != NULL) {
        is = json_make_object(r->arena, r->status, "dependencies");
        json_set(r->arena, is, "ended", answer->ended);
    }
    if (met_at_us != 0 && (was == NULL || was->met_at_us == 0)) {
        is = json_make_object(r->arena, r->status, "dependencies");
        set_time(r->arena, is, "metTime", met_at_us);
    }
}

void
job_report_state(struct job_report *r, enum job_state state, const char *yields_to)
{
    const char *was = r->job->status.state;
    const char *is = job_state_words(state)->name;

    if (text_equals_loosely(was, is)
        || (was == NULL && state == JOB_STATE_PENDING && json_count(r->status) == 0))
        return;
    json_set_string(r->arena, r->status, "state", is);
    r->is_urgent |= state == JOB_STATE_ENDING;
    if (r->event.reason == NULL)
        set_hold_event(r, was, state);
    if (r->event.reason == NULL)
        set_freeze_event(r, was, state, yields_to);
}

void
job_report_requeued(struct job_report *r, int64_t before)
{
    r->is_urgent = true;
    r->event = (struct job_event){false, EVENT_REQUEUED, "Job starts again"};
    json_set_int(r->arena, r->status, "requeued", before);
}

void
job_report_excess(struct job_report *r, int64_t interrupted, int64_t maximum)
{
    const struct pod_cause *was = r->job->status.cause;
    const char *code = job_reason_name(JOB_REASON_HELD_REQUEUES);
    struct json *cause;
    const char *words = arena_printf(r->arena,
                                     "held: interrupted %" PRId64 " times, started again "
                                     "%" PRId64 " time%s at most",
                                     interrupted, maximum, maximum == 1 ? "" : "s");

    if (was != NULL && text_equals_loosely(was->code, code)
        && text_equals_loosely(was->message, words))
        return;
    cause = json_object(r->arena);
    json_set_string(r->arena, cause, "code", code);
    json_set_string(r->arena, cause, "message", words);
    json_set(r->arena, r->status, "cause", cause);
    r->is_urgent = true;
    r->event = (struct job_event){true, EVENT_HELD, words};
}
