/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job_plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/job.h"
#include "lib/api/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define DEFAULT_BACKOFF_LIMIT 6
#define REQUEUE_BACKOFF_S     10 /* upstream's first retry delay */
#define MAX_BACKOFF_S         600

/* One index of an Indexed job, or of a plain job of one completion. */
struct slot {
    bool active;
    bool succeeded;
    int64_t next_attempt;
};

struct job_tally {
    const struct job *job;
    struct slot *slots;
    int64_t n_slots; /* 0: pods are only counted */
    int64_t next_index;
    int64_t active, ready, succeeded, failed, excused;
    int64_t seen; /* pods that exist or are expected */
    int64_t earliest_start_us;
    int64_t last_end_us;
    bool has_exit_code;
    int64_t exit_code;
    int64_t last_failure_us;
    int64_t requeue_before;
};

static bool
is_indexed(const struct job *job)
{
    return job->spec.completion_mode != NULL
           && strcmp(job->spec.completion_mode, "Indexed") == 0;
}

/* Without completions and with parallelism above 1, one success ends it. */
static bool
is_work_queue(const struct job *job)
{
    return job->spec.completions == NULL;
}

static int64_t
parallelism_of(const struct job *job)
{
    return job->spec.parallelism != NULL ? *job->spec.parallelism : 1;
}

static int64_t
completions_of(const struct job *job)
{
    return job->spec.completions != NULL ? *job->spec.completions : 1;
}

static bool
has_slots(const struct job *job)
{
    return is_indexed(job)
           || (completions_of(job) == 1 && parallelism_of(job) <= 1);
}

struct job_tally *
job_tally_new(const struct job *job)
{
    struct job_tally *t = xnew(struct job_tally);
    const char *before =
        string_map_find(&job->meta.annotations, ANNOTATION_REQUEUE_BEFORE);

    t->job = job;
    if (before != NULL)
        t->requeue_before = strtoll(before, NULL, 10);
    if (has_slots(job)) {
        t->n_slots = completions_of(job);
        t->slots = xnew_array(struct slot, (size_t)t->n_slots);
    }
    return t;
}

void
job_tally_free(struct job_tally *t)
{
    if (t == NULL)
        return;
    free(t->slots);
    free(t);
}

char *
job_pod_name(struct arena *arena,
             const char *job,
             int64_t index,
             int64_t attempt)
{
    if (attempt == 0)
        return arena_printf(arena, "%s-%" PRId64, job, index);
    return arena_printf(arena, "%s-%" PRId64 "-r%" PRId64, job, index, attempt);
}

static bool
take_int(const char **text, int64_t *ret)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    *ret = strtoll(*text, &end, 10);
    *text = end;
    return true;
}

bool
job_pod_name_parse(const char *job,
                   const char *pod,
                   int64_t *ret_index,
                   int64_t *ret_attempt)
{
    size_t length = strlen(job);
    const char *at = pod + length + 1;
    int64_t index, attempt = 0;

    if (strncmp(pod, job, length) != 0 || pod[length] != '-'
        || !take_int(&at, &index))
        return false;
    if (at[0] == '-' && at[1] == 'r') {
        at += 2;
        if (!take_int(&at, &attempt))
            return false;
    }
    if (*at != '\0')
        return false;
    *ret_index = index;
    *ret_attempt = attempt;
    return true;
}

/* NULL for a pod outside the job's indexes. */
static struct slot *
note_made(struct job_tally *t, int64_t index, int64_t attempt)
{
    struct slot *slot = NULL;

    t->seen++;
    if (index >= t->next_index)
        t->next_index = index + 1;
    if (index < t->n_slots) {
        slot = &t->slots[index];
        if (attempt >= slot->next_attempt)
            slot->next_attempt = attempt + 1;
    }
    return slot;
}

void
job_tally_add_expected(struct job_tally *t, int64_t index, int64_t attempt)
{
    struct slot *slot = note_made(t, index, attempt);

    t->active++;
    if (slot != NULL)
        slot->active = true;
}

/* Lost without a fault of its own, or sent back by its user. */
static bool
is_excused(const struct job_tally *t, const struct pod *pod, int64_t attempt)
{
    const struct pod_condition *c = pod_find_condition(pod, "DisruptionTarget");

    if (attempt < t->requeue_before)
        return true;
    return t->job->spec.requeue && c != NULL && strcmp(c->status, "True") == 0;
}

static void
note_end(struct job_tally *t, const struct pod *pod)
{
    struct container_state state;

    if (!pod_main_state(pod, &state) || !state.terminated)
        return;
    if (state.finished_at_us >= t->last_end_us) {
        t->last_end_us = state.finished_at_us;
        t->exit_code = state.signal > 0 && state.exit_code == 0
                           ? 128 + state.signal
                           : state.exit_code;
        t->has_exit_code = true;
    }
}

static void
note_failure(struct job_tally *t, const struct pod *pod, int64_t attempt)
{
    struct container_state state;

    if (is_excused(t, pod, attempt)) {
        t->excused++;
        return;
    }
    t->failed++;
    if (pod_main_state(pod, &state)
        && state.finished_at_us > t->last_failure_us)
        t->last_failure_us = state.finished_at_us;
}

void
job_tally_add(struct job_tally *t, const struct pod *pod)
{
    const struct pod_condition *ready = pod_find_condition(pod, "Ready");
    const char *phase = pod->status.phase ? pod->status.phase : "Pending";
    int64_t index = 0, attempt = 0;
    struct slot *slot = NULL;

    if (job_pod_name_parse(t->job->meta.name, pod->meta.name, &index, &attempt))
        slot = note_made(t, index, attempt);
    else
        t->seen++;
    if (pod->status.start_at_us > 0
        && (t->earliest_start_us == 0
            || pod->status.start_at_us < t->earliest_start_us))
        t->earliest_start_us = pod->status.start_at_us;
    if (strcmp(phase, "Succeeded") == 0) {
        t->succeeded++;
        if (slot != NULL)
            slot->succeeded = true;
        note_end(t, pod);
    } else if (strcmp(phase, "Failed") == 0) {
        note_failure(t, pod, attempt);
        note_end(t, pod);
    } else {
        /* One being deleted still holds its index until it is gone. */
        t->active++;
        if (slot != NULL)
            slot->active = true;
        if (ready != NULL && strcmp(ready->status, "True") == 0)
            t->ready++;
    }
}

/* Pods that were made and are gone have ended without anybody saying how:
 * what the status had counted already stays counted, the rest have failed,
 * except those that a requeue sent back.
 */
static int64_t
count_gone(const struct job_tally *t, int64_t *ret_succeeded)
{
    int64_t made = t->job->status.attempts;
    int64_t gone = made > t->seen ? made - t->seen : 0;
    int64_t succeeded = t->job->status.succeeded > t->succeeded
                            ? t->job->status.succeeded - t->succeeded
                            : 0;
    int64_t excused =
        t->requeue_before > t->excused ? t->requeue_before - t->excused : 0;

    if (succeeded > gone)
        succeeded = gone;
    gone -= succeeded;
    if (excused > gone)
        excused = gone;
    *ret_succeeded = succeeded;
    return gone - excused;
}

static bool
has_condition(const struct job *job, const char *type)
{
    for (unsigned i = 0; i < job->status.conditions.count; i++)
        if (strcmp(job->status.conditions.items[i].type, type) == 0
            && strcmp(job->status.conditions.items[i].status, "True") == 0)
            return true;
    return false;
}

/* ---- The verdict ---- */

enum outcome { GOES_ON, COMPLETE, FAILED };

struct verdict_of_job {
    enum outcome outcome;
    const char *reason;
    const char *message;
};

static int64_t
backoff_limit_of(const struct job *job)
{
    return job->spec.backoff_limit != NULL ? *job->spec.backoff_limit
                                           : DEFAULT_BACKOFF_LIMIT;
}

static bool
is_past_deadline(const struct job *job, int64_t now_us)
{
    const int64_t *limit = job->spec.active_deadline_seconds;

    return limit != NULL && job->status.start_at_us > 0 && !job->spec.suspend
           && now_us - job->status.start_at_us >= *limit * 1000000;
}

static bool
is_complete(const struct job_tally *t, int64_t succeeded)
{
    if (t->n_slots > 0) {
        for (int64_t i = 0; i < t->n_slots; i++)
            if (!t->slots[i].succeeded)
                return false;
        return true;
    }
    if (is_work_queue(t->job))
        return succeeded > 0 && t->active == 0;
    return succeeded >= completions_of(t->job);
}

static struct verdict_of_job
judge(const struct job_tally *t,
      int64_t succeeded,
      int64_t failed,
      int64_t now_us)
{
    if (is_past_deadline(t->job, now_us))
        return (struct verdict_of_job){
            FAILED,
            "DeadlineExceeded",
            "Job was active longer than specified deadline",
        };
    if (is_complete(t, succeeded))
        return (struct verdict_of_job){
            COMPLETE,
            "CompletionsReached",
            "Reached expected number of succeeded pods",
        };
    if (string_map_find(&t->job->meta.annotations, ANNOTATION_CANCEL) != NULL)
        return (struct verdict_of_job){
            FAILED,
            "Cancelled",
            "Cancelled by a user",
        };
    if (failed > backoff_limit_of(t->job))
        return (struct verdict_of_job){
            FAILED,
            "BackoffLimitExceeded",
            "Job has reached the specified backoff limit",
        };
    return (struct verdict_of_job){GOES_ON, NULL, NULL};
}

/* ---- The status ---- */

static void
set_time(struct arena *arena, struct json *o, const char *name, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    time_format(us, false, text);
    json_set_string(arena, o, name, text);
}

static void
add_condition(struct arena *arena,
              struct json *conditions,
              const char *type,
              const char *status,
              const char *reason,
              const char *message,
              int64_t now_us)
{
    struct json *c = NULL;

    for (uint32_t i = 0; i < json_count(conditions) && c == NULL; i++)
        if (strcmp(json_get_text(conditions->items[i], "type"), type) == 0)
            c = conditions->items[i];
    if (c == NULL) {
        c = json_object(arena);
        json_append(arena, conditions, c);
    } else if (strcmp(json_get_text(c, "status"), status) == 0) {
        return;
    }
    json_set_string(arena, c, "type", type);
    json_set_string(arena, c, "status", status);
    set_time(arena, c, "lastProbeTime", now_us);
    set_time(arena, c, "lastTransitionTime", now_us);
    json_set_string(arena, c, "reason", reason);
    json_set_string(arena, c, "message", message);
}

static struct json *
present_conditions(struct arena *arena, const struct job *job)
{
    struct json *list = json_array(arena);

    for (unsigned i = 0; i < job->status.conditions.count; i++) {
        const struct job_condition *c = &job->status.conditions.items[i];

        add_condition(arena,
                      list,
                      c->type,
                      c->status,
                      c->reason ? c->reason : "",
                      c->message ? c->message : "",
                      c->last_transition_at_us);
    }
    return list;
}

static void
set_count(struct arena *arena,
          struct json *status,
          const char *name,
          int64_t was,
          int64_t is)
{
    if (was == is)
        return;
    if (is == 0)
        json_set(arena, status, name, json_null(arena));
    else
        json_set_int(arena, status, name, is);
}

/* "0-2,5": the indexes that are done. */
static char *
completed_indexes(struct arena *arena, const struct job_tally *t)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (int64_t i = 0; i < t->n_slots; i++) {
        int64_t first = i;

        if (!t->slots[i].succeeded)
            continue;
        while (i + 1 < t->n_slots && t->slots[i + 1].succeeded)
            i++;
        strbuf_printf(&text, "%s%" PRId64, text.length ? "," : "", first);
        if (i > first)
            strbuf_printf(&text, "%c%" PRId64, i > first + 1 ? '-' : ',', i);
    }
    return arena_strndup(arena, text.text, text.length);
}

static void
write_counts(struct arena *arena,
             struct json *status,
             const struct job_tally *t,
             int64_t active,
             int64_t succeeded,
             int64_t failed)
{
    const struct job_status *was = &t->job->status;

    set_count(arena, status, "active", was->active, active);
    set_count(arena, status, "ready", was->ready, active ? t->ready : 0);
    set_count(arena, status, "succeeded", was->succeeded, succeeded);
    set_count(arena, status, "failed", was->failed, failed);
    if (t->seen > was->attempts)
        json_set_int(arena, status, "attempts", t->seen);
    if (t->has_exit_code
        && (was->exit_code == NULL || *was->exit_code != t->exit_code))
        json_set_int(arena, status, "exitCode", t->exit_code);
    if (is_indexed(t->job) && succeeded != was->succeeded)
        json_set_string(arena,
                        status,
                        "completedIndexes",
                        completed_indexes(arena, t));
}

static void
write_end(struct arena *arena,
          struct json *status,
          const struct job *job,
          const struct verdict_of_job *verdict,
          int64_t now_us)
{
    struct json *conditions = present_conditions(arena, job);
    bool complete = verdict->outcome == COMPLETE;

    add_condition(arena,
                  conditions,
                  complete ? "SuccessCriteriaMet" : "FailureTarget",
                  "True",
                  verdict->reason,
                  verdict->message,
                  now_us);
    add_condition(arena,
                  conditions,
                  complete ? "Complete" : "Failed",
                  "True",
                  verdict->reason,
                  verdict->message,
                  now_us);
    json_set(arena, status, "conditions", conditions);
    if (job->status.start_at_us == 0)
        set_time(arena, status, "startTime", now_us);
    if (complete)
        set_time(arena, status, "completionTime", now_us);
}

static void
write_suspension(struct arena *arena,
                 struct json *status,
                 const struct job *job,
                 int64_t now_us,
                 bool *urgent)
{
    struct json *conditions;

    if (job->spec.suspend == has_condition(job, "Suspended"))
        return;
    conditions = present_conditions(arena, job);
    add_condition(arena,
                  conditions,
                  "Suspended",
                  job->spec.suspend ? "True" : "False",
                  job->spec.suspend ? "JobSuspended" : "JobResumed",
                  job->spec.suspend ? "Job suspended" : "Job resumed",
                  now_us);
    json_set(arena, status, "conditions", conditions);
    if (job->spec.suspend && job->status.start_at_us > 0)
        json_set(arena, status, "startTime", json_null(arena));
    *urgent = true;
}

/* ---- The pods ---- */

static void
plan_pod(struct job_plan *plan, int64_t index, int64_t attempt)
{
    plan->create[plan->n_create++] = (struct job_plan_pod){index, attempt};
}

static void
plan_pods(const struct job_tally *t,
          int64_t succeeded,
          unsigned limit,
          struct arena *arena,
          struct job_plan *plan)
{
    const struct job *job = t->job;
    int64_t wanted = parallelism_of(job);
    int64_t left = completions_of(job) - succeeded;

    if (!is_work_queue(job) && left < wanted)
        wanted = left;
    if (is_work_queue(job) && succeeded > 0)
        wanted = 0;
    wanted -= t->active;
    if (wanted <= 0)
        return;
    if (wanted > limit)
        wanted = limit;
    plan->create = arena_new_array(arena, struct job_plan_pod, wanted);
    if (t->n_slots == 0)
        for (int64_t i = 0; i < wanted; i++)
            plan_pod(plan, t->next_index + i, 0);
    for (int64_t i = 0; i < t->n_slots && plan->n_create < wanted; i++)
        if (!t->slots[i].active && !t->slots[i].succeeded)
            plan_pod(plan, i, t->slots[i].next_attempt);
}

/* After a failure the next pod waits: 10 s, doubled per failure. */
static int64_t
backoff_left_us(const struct job_tally *t, int64_t now_us)
{
    int64_t seconds = REQUEUE_BACKOFF_S;
    int64_t left;

    if (t->failed == 0 || t->last_failure_us == 0)
        return 0;
    for (int64_t i = 1; i < t->failed && seconds < MAX_BACKOFF_S; i++)
        seconds *= 2;
    if (seconds > MAX_BACKOFF_S)
        seconds = MAX_BACKOFF_S;
    left = t->last_failure_us + seconds * 1000000 - now_us;
    return left > 0 ? left : 0;
}

static void
wake_at_deadline(const struct job *job, int64_t now_us, struct job_plan *plan)
{
    const int64_t *limit = job->spec.active_deadline_seconds;
    int64_t left;

    if (limit == NULL || job->status.start_at_us == 0 || job->spec.suspend)
        return;
    left = job->status.start_at_us + *limit * 1000000 - now_us;
    if (left > 0 && (plan->wake_after_us == 0 || left < plan->wake_after_us))
        plan->wake_after_us = left;
}

/* The pods made before a requeue was asked for have to go first. */
static bool
is_being_requeued(const struct job_tally *t)
{
    if (t->n_slots == 0)
        return false;
    for (int64_t i = 0; i < t->n_slots; i++)
        if (t->slots[i].active && t->slots[i].next_attempt <= t->requeue_before)
            return true;
    return false;
}

void
job_plan(const struct job *job,
         const struct job_tally *t,
         int64_t now_us,
         unsigned limit,
         struct arena *arena,
         struct job_plan *ret_plan)
{
    struct job_plan plan = {0};
    struct json *status = json_object(arena);
    int64_t gone_succeeded;
    int64_t failed = t->failed + count_gone(t, &gone_succeeded);
    int64_t succeeded = t->succeeded + gone_succeeded;
    struct verdict_of_job verdict = judge(t, succeeded, failed, now_us);
    int64_t backoff = backoff_left_us(t, now_us);

    if (verdict.outcome != GOES_ON) {
        plan.delete_active = t->active > 0;
        plan.status_is_urgent = true;
        write_counts(arena, status, t, 0, succeeded, failed + t->active);
        write_end(arena, status, job, &verdict, now_us);
    } else {
        if (job->spec.suspend || is_being_requeued(t))
            plan.delete_active = t->active > 0;
        else if (job->spec.begin_at_us > now_us)
            plan.wake_after_us = job->spec.begin_at_us - now_us;
        else if (backoff > 0)
            plan.wake_after_us = backoff;
        else
            plan_pods(t, succeeded, limit, arena, &plan);
        wake_at_deadline(job, now_us, &plan);
        write_counts(arena, status, t, t->active, succeeded, failed);
        write_suspension(arena, status, job, now_us, &plan.status_is_urgent);
        if (job->status.start_at_us == 0 && !job->spec.suspend && t->active > 0)
            set_time(arena, status, "startTime", now_us);
    }
    plan.status = json_count(status) > 0 ? status : NULL;
    *ret_plan = plan;
}
