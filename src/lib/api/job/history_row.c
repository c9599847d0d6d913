/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/history_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_end.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/job/job_wait.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_sums.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/arena.h"
#include "lib/base/bitset.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define FAIL_FAST  "fail-fast"
#define WORDS_MOST 400 /* bytes of a message, to keep rows small */

static const char *
annotation(const struct meta *meta, const char *name)
{
    return string_map_find(&meta->annotations, name);
}

static int64_t
number_of(const char *text, int64_t fallback)
{
    int64_t n;

    return text != NULL && sscanf(text, "%" SCNd64, &n) == 1 ? n : fallback;
}

static int64_t
time_of(const char *text)
{
    int64_t us;

    return text != NULL && time_parse(text, &us) == 0 ? us : 0;
}

static void
take_owner(struct history_row *row, const struct meta *meta)
{
    const char *user = annotation(meta, ANNOTATION_USER);

    row->user = user != NULL ? user : "";
    row->uid = number_of(annotation(meta, ANNOTATION_UID), -1);
    row->account = meta->namespace;
}

/* ---- What the job held ---- */

static int64_t
count_cpus(const char *list)
{
    struct bitset set = {0};

    if (list == NULL || cpuset_parse(list, &set, NULL) < 0)
        return 0;
    return bitset_count(&set);
}

static bool
is_device(const char *name)
{
    return strchr(name, '/') != NULL && strncmp(name, "hugepages-", 10) != 0;
}

/* The amounts of so many pods. */
static void
take_amounts(struct history_row *row, struct arena *arena, const struct pod_spec *spec,
             const struct allocation *allocation, int64_t pods)
{
    struct pod_sums sums = {0};
    CLEANUP_STRBUF struct strbuf devices = STRBUF_INIT;

    pod_sums_add_requests(&sums, spec, NULL);
    row->cpu_milli = pods * pod_sum_milli(pod_sums_find(&sums, "cpu"));
    row->memory_bytes = pods * pod_sum_value(pod_sums_find(&sums, "memory"));
    for (uint32_t i = 0; i < sums.count; i++)
        if (is_device(sums.items[i].name) && pod_sum_value(&sums.items[i]) > 0)
            strbuf_printf(&devices, "%s%s=%" PRId64, devices.length > 0 ? "," : "",
                          sums.items[i].name, pods * pod_sum_value(&sums.items[i]));
    pod_sums_fini(&sums);
    if (devices.length > 0)
        row->devices = arena_strdup(arena, devices.text);
    if (allocation != NULL) {
        const int64_t held =
            1000 * (count_cpus(allocation->cpus) + count_cpus(allocation->withheld));

        if (held > row->cpu_milli)
            row->cpu_milli = held;
    }
    if (spec->active_deadline_seconds != NULL)
        row->time_limit_s = *spec->active_deadline_seconds;
}

static const int64_t *
keep_number(struct arena *arena, int64_t n)
{
    return arena_memdup(arena, &n, sizeof(n));
}

/* ---- How the job ended ---- */

static const struct job_condition *
find_failure(const struct job *job)
{
    const struct job_condition *c = job_find_condition(job, "Failed");

    if (c == NULL)
        c = job_find_condition(job, "FailureTarget");
    return c != NULL ? c : job_find_order(job);
}

static bool
is_failure_of(const struct job *job, const char *reason)
{
    const struct job_condition *c = job != NULL ? find_failure(job) : NULL;

    return c != NULL && c->reason != NULL && strcmp(c->reason, reason) == 0;
}

static bool
is_cancelled(const struct job *job)
{
    return job != NULL
           && (annotation(&job->meta, ANNOTATION_CANCEL) != NULL
               || is_failure_of(job, REASON_CANCELLED));
}

static bool
is_requeued(const struct pod *pod, const struct job *job)
{
    if (job == NULL)
        return false;
    /* A task of an array has the annotation itself. */
    if (annotation(&pod->meta, ANNOTATION_REQUEUE_BEFORE) != NULL)
        return true;
    return number_of(annotation(&pod->meta, ANNOTATION_ATTEMPT), 0)
           < number_of(annotation(&job->meta, ANNOTATION_REQUEUE_BEFORE), 0);
}

bool
history_row_waited_again(const struct job *job)
{
    const enum job_state state = job_find_state(job);

    /* Otherwise a pod has ended before it was told to, and its row says how the job ended. */
    return (state == JOB_STATE_CANCELLED || state == JOB_STATE_DEADLINE) && !job_is_array(job)
           && job->status.attempts > 0 && job->status.attempts <= job->status.requeued;
}

/* The state that follows from the reason; NONE: it follows from how the process
 * ended.
 */
static enum job_state
state_of_reason(enum job_reason reason)
{
    switch (reason) {
    case JOB_REASON_TIME_LIMIT:
        return JOB_STATE_TIMED_OUT;
    case JOB_REASON_OUT_OF_MEMORY:
        return JOB_STATE_OUT_OF_MEMORY;
    case JOB_REASON_NODE_DOWN:
    case JOB_REASON_SYSTEM_FAILURE:
        return JOB_STATE_NODE_FAILED;
    case JOB_REASON_PREEMPTED:
    case JOB_REASON_EVICTED:
        return JOB_STATE_PREEMPTED;
    default:
        return JOB_STATE_NONE;
    }
}

/* The pod held resources for the script on another node, and was ended with it. */
static bool
has_ended_with_job(const struct pod *pod, const struct job *job)
{
    return job != NULL && pod_only_holds(pod)
           && annotation(&pod->meta, ANNOTATION_DELETED_BY) == NULL;
}

static bool
has_condition(const struct job *job, const char *first, const char *last)
{
    return job_find_condition(job, first) != NULL || job_find_condition(job, last) != NULL;
}

/* NONE: the job goes on. How it has failed is told by the pod that failed. */
static enum job_state
state_of_job(const struct job *job)
{
    return has_condition(job, "SuccessCriteriaMet", "Complete") ? JOB_STATE_COMPLETED
           : has_condition(job, "FailureTarget", "Failed")      ? JOB_STATE_CANCELLED
                                                                : JOB_STATE_NONE;
}

/* The state of a pod that was deleted. */
static enum job_state
state_of_deleted(const struct pod *pod, const struct job *job, enum job_reason *reason)
{
    if (is_cancelled(job)) {
        *reason = JOB_REASON_CANCELLED;
        return JOB_STATE_CANCELLED;
    }
    if (is_failure_of(job, REASON_DEADLINE_EXCEEDED)) {
        *reason = JOB_REASON_DEADLINE;
        return JOB_STATE_DEADLINE;
    }
    if (job != NULL && job->meta.deleted_at_us == 0) {
        if (job_is_held_on_request(job)) {
            *reason = job_is_held_by_operator(job) ? JOB_REASON_HELD_ADMIN : JOB_REASON_HELD_USER;
            return JOB_STATE_REQUEUED;
        }
        if (is_requeued(pod, job))
            return JOB_STATE_REQUEUED;
    }
    if (job != NULL && job_has_failed_fast(job)) {
        *reason = JOB_REASON_CANCELLED;
        return JOB_STATE_CANCELLED;
    }
    if (has_ended_with_job(pod, job) && state_of_job(job) != JOB_STATE_NONE) {
        *reason = JOB_REASON_NONE;
        return state_of_job(job);
    }
    *reason = JOB_REASON_POD_DELETED;
    return JOB_STATE_CANCELLED;
}

/* The user who deleted the pod or its Job, or cancelled its task; of several the last. */
static const char *
find_deleter(const struct pod *pod, const struct job *job, const char *deleted_by)
{
    const char *by = annotation(&pod->meta, ANNOTATION_DELETED_BY);

    if (by == NULL && job != NULL)
        by = annotation(&job->meta, ANNOTATION_DELETED_BY);
    if (by == NULL && job != NULL)
        by = annotation(&job->meta, ANNOTATION_TASKS_CANCELLED);
    return by != NULL ? by : deleted_by;
}

static const char *
find_canceller(const struct job *job)
{
    const char *by = annotation(&job->meta, ANNOTATION_CANCEL);

    return by != NULL ? by : job->status.cancelled_by;
}

static const char *
find_preemptor(const char *words, struct arena *arena)
{
    long long job;

    return sscanf(words, JOB_REASON_BY_JOB "%lld", &job) == 1 ? arena_printf(arena, "job %lld", job)
                                                              : NULL;
}

/* The user or the cause that ended the job; NULL: it ended by itself. */
static const char *
find_ender(enum job_state state, enum job_reason reason, const struct pod *pod,
           const struct job *job, const char *deleted_by, const char *words, struct arena *arena)
{
    switch (state) {
    case JOB_STATE_CANCELLED:
        if (is_cancelled(job))
            return find_canceller(job);
        return reason == JOB_REASON_CANCELLED ? FAIL_FAST : find_deleter(pod, job, deleted_by);
    case JOB_STATE_REQUEUED:
        if (job_is_held_on_request(job))
            return annotation(&job->meta, ANNOTATION_HOLD);
        return annotation(&job->meta, ANNOTATION_REQUEUED_BY);
    case JOB_STATE_PREEMPTED:
        return reason == JOB_REASON_PREEMPTED ? find_preemptor(words, arena)
                                              : find_deleter(pod, job, deleted_by);
    case JOB_STATE_NODE_FAILED:
        return pod->spec.node_name != NULL ? arena_printf(arena, "node %s", pod->spec.node_name)
                                           : NULL;
    case JOB_STATE_TIMED_OUT:
        return "time limit";
    case JOB_STATE_OUT_OF_MEMORY:
        return "memory limit";
    case JOB_STATE_DEADLINE:
        return "deadline";
    default:
        return NULL;
    }
}

static void
take_end(struct history_row *row, struct arena *arena, const struct pod *pod, const struct job *job,
         const char *deleted_by, int64_t now_us)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    const struct job_reason_facts facts = {
        .pod = pod,
        .now_us = now_us,
        .is_whole = true,
        .is_utc = true,
    };
    const char *phase = pod->status.phase;
    enum job_reason reason = JOB_REASON_NONE;
    enum job_state state = JOB_STATE_NONE;

    if (phase != NULL && strcmp(phase, "Succeeded") == 0) {
        row->state = job_state_words(JOB_STATE_COMPLETED)->name;
        return;
    }
    if (job_end_has_pod(pod))
        reason = job_reason_find(&facts, &words);
    state = state_of_reason(reason);
    /* Nothing shows that its end came before the order. */
    if (state == JOB_STATE_NODE_FAILED && is_cancelled(job) && pod_was_ended(pod))
        state = JOB_STATE_NONE;
    if (state == JOB_STATE_NONE && pod_was_ended(pod))
        state = state_of_deleted(pod, job, &reason);
    if (state == JOB_STATE_NONE)
        state = JOB_STATE_FAILED;
    row->state = job_state_words(state)->name;
    if (reason != JOB_REASON_NONE) {
        row->reason = job_reason_name(reason);
    } else if (pod_was_ended(pod) && has_ended_with_job(pod, job)) {
        row->exit_code = NULL; /* the signal that ended it tells nothing */
        row->signal = 0;
    }
    if (words.length > 0)
        row->message = arena_printf(arena, "%.*s", WORDS_MOST, words.text);
    row->ended_by = find_ender(state, reason, pod, job, deleted_by, words.text, arena);
}

/* The time of the last known event of the run. */
static int64_t
find_end(const struct pod *pod, const struct container_state *s, int64_t now_us)
{
    int64_t end = s->terminated ? s->finished_at_us : 0;

    if (end == 0 && pod_is_finished(pod))
        end = pod_last_transition_us(pod);
    if (end == 0)
        end = now_us;
    return end > s->started_at_us ? end : s->started_at_us;
}

static void
take_run(struct history_row *row, struct arena *arena, const struct pod *pod, int64_t now_us)
{
    const struct pod_usage *usage = pod->status.usage;
    struct container_state s = {0};
    bool has_state = pod_main_state(pod, &s);

    row->start_at_us = s.started_at_us;
    row->end_at_us = find_end(pod, &s, now_us);
    row->frozen_us = pod_frozen_us(pod, row->end_at_us);
    if (has_state && s.terminated && s.started_at_us > 0) {
        row->exit_code = keep_number(arena, s.exit_code);
        row->signal = s.signal;
    }
    if (usage != NULL) {
        row->cpu_time_us = keep_number(arena, usage->user_cpu_us + usage->system_cpu_us);
        row->peak_memory_bytes = keep_number(arena, usage->peak_memory_bytes);
        row->rss_bytes = usage->rss_bytes;
        row->cache_bytes = usage->cache_bytes;
        row->gpus = usage->gpus;
        row->gpu_milli = usage->gpu_milli;
        row->gpu_peak_bytes = usage->gpu_peak_bytes;
        row->gpu_memory_bytes = usage->gpu_memory_bytes;
        row->read_bytes = usage->read_bytes;
        row->written_bytes = usage->written_bytes;
    }
}

/* ---- The whole row ---- */

static void
take_job(struct history_row *row, const struct job *job)
{
    row->submit_at_us = job->meta.created_at_us;
    if (job->spec.begin_at_us > row->eligible_at_us)
        row->eligible_at_us = job->spec.begin_at_us;
    if (row->eligible_at_us < row->submit_at_us)
        row->eligible_at_us = row->submit_at_us;
}

void
history_row_of_pod(struct history_row *row, struct arena *arena, const struct object *object,
                   const struct object *job_object, const char *deleted_by, int64_t now_us)
{
    const struct pod *pod = pod_of(object);
    const struct job *job = job_object != NULL ? job_of(job_object) : NULL;
    const struct meta *meta = &pod->meta;
    const struct owner_reference *owner = meta_controller_of(meta, &job_kind);
    const char *index = annotation(meta, ANNOTATION_INDEX);
    const char *task = annotation(meta, ANNOTATION_ARRAY_TASK);

    *row = (struct history_row){0};
    take_owner(row, meta);
    row->partition = job_wait_partition(&pod->spec);
    row->job_uid = owner != NULL ? owner->uid : NULL;
    row->object = owner != NULL ? owner->name : meta->name;
    row->pod = meta->name;
    row->pod_uid = meta->uid;
    row->name = annotation(meta, ANNOTATION_JOB_NAME);
    if (row->name == NULL)
        row->name = row->object;
    if (row->job_uid != NULL) {
        row->job_id = number_of(annotation(meta, ANNOTATION_JOB_ID), 0);
        row->script = annotation(meta, ANNOTATION_SCRIPT);
        if (index != NULL)
            row->index = keep_number(arena, number_of(index, 0));
        if (index != NULL && task != NULL)
            row->task = keep_number(arena, number_of(task, 0));
    }
    row->attempt = number_of(annotation(meta, ANNOTATION_ATTEMPT), 0) + 1;
    row->submit_at_us = meta->created_at_us;
    row->eligible_at_us = time_of(annotation(meta, ANNOTATION_ELIGIBLE_AT));
    if (row->eligible_at_us == 0)
        row->eligible_at_us = meta->created_at_us;
    if (job != NULL)
        take_job(row, job);
    row->node = pod->spec.node_name;
    take_amounts(row, arena, &pod->spec, pod->status.allocation, 1);
    take_run(row, arena, pod, now_us);
    take_end(row, arena, pod, job, deleted_by, now_us);
    row->revision = object->revision;
    row->is_allocation = pod_is_allocation(pod);
    row->nodes = number_of(annotation(meta, ANNOTATION_GANG_SIZE), 0);
    if (row->nodes < 2 || row->nodes > JOB_GANG_MAX || row->job_uid == NULL)
        row->nodes = 0;
    else
        row->member = pod->spec.execution != NULL && pod->spec.execution->runs != NULL
                              && strcmp(pod->spec.execution->runs, EXECUTION_RUNS_EACH) == 0
                          ? HISTORY_MEMBER_EACH
                          : HISTORY_MEMBER_FIRST;
}

/* Tasks that never ran have no end of their own, and the end of the last task
 * that did run is not theirs.
 */
static enum job_reason
find_reason_of_unstarted(const struct job *job, enum job_reason reason, struct strbuf *words)
{
    if (reason == JOB_REASON_CANCELLED || reason == JOB_REASON_DEADLINE
        || reason == JOB_REASON_DEPENDENCY_NEVER)
        return reason;
    strbuf_truncate(words, 0);
    if (job_has_failed_fast(job))
        strbuf_add_text(words, "a task failed, and fail-fast ends the others");
    return JOB_REASON_CANCELLED;
}

void
history_row_of_job(struct history_row *row, struct arena *arena, const struct object *object,
                   int64_t now_us)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    const struct job *job = job_of(object);
    const struct job_reason_facts facts = {
        .job = job,
        .now_us = now_us,
        .is_whole = true,
        .is_utc = true,
    };
    const int64_t nodes = job_gang_size(job);
    enum job_reason reason = job_reason_find(&facts, &words);
    enum job_state state = job_find_state(job);

    /* Other tasks of the array may have failed, but these did not run. */
    if (job_has_unstarted_tasks(job)) {
        reason = find_reason_of_unstarted(job, reason, &words);
        if (state != JOB_STATE_DEADLINE)
            state = JOB_STATE_CANCELLED;
    }
    *row = (struct history_row){0};
    take_owner(row, &job->meta);
    row->job_id = job->status.id;
    row->job_uid = job->meta.uid;
    row->object = job->meta.name;
    row->name = annotation(&job->meta, ANNOTATION_JOB_NAME);
    if (row->name == NULL)
        row->name = row->object;
    take_job(row, job);
    if (job->spec.template_.spec != NULL) {
        row->partition = job_wait_partition(job->spec.template_.spec);
        take_amounts(row, arena, job->spec.template_.spec, NULL, nodes > 0 ? nodes : 1);
    }
    if (job->spec.script != NULL)
        row->script = job->spec.script->digest;
    if (history_row_waited_again(job))
        row->attempt = job->status.attempts + 1;
    row->end_at_us = job_ended_at_us(job);
    if (row->end_at_us == 0)
        row->end_at_us = now_us;
    row->state = job_state_words(state)->name;
    if (job->status.array != NULL)
        row->tasks = job->status.array->unstarted;
    row->ended_by = job->status.cancelled_by;
    if (row->ended_by == NULL && row->tasks != NULL && job_has_failed_fast(job))
        row->ended_by = FAIL_FAST;
    if (row->ended_by == NULL && row->tasks != NULL && reason == JOB_REASON_CANCELLED)
        row->ended_by = annotation(&job->meta, ANNOTATION_TASKS_CANCELLED);
    if (reason != JOB_REASON_NONE)
        row->reason = job_reason_name(reason);
    if (words.length > 0)
        row->message = arena_printf(arena, "%.*s", WORDS_MOST, words.text);
    row->revision = object->revision;
}

bool
history_row_is_due(const struct pod *pod, const struct job *job)
{
    const bool is_placed = pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0';

    /* One row covers all tasks of an array that never started. */
    if (is_placed || (job != NULL && job_is_array(job)))
        return is_placed;
    return is_cancelled(job) || is_failure_of(job, REASON_DEADLINE_EXCEEDED);
}
