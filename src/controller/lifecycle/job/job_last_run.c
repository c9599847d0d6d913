/* SPDX-License-Identifier: Apache-2.0 */
/* Which run "is" the job has to be the same whatever order events come in, and after a
 * restart, when only the status is left: so runs are ordered completely, by rank and end and
 * number, with whole seconds as the status has them. Pods that were ended because another had
 * failed are not how the job ended, although they end last.
 */
#include "controller/lifecycle/job/job_last_run.h"

#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/job/failure_policy.h"
#include "controller/lifecycle/job/job_verdict.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/macro.h"

static char *
dup_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? xstrdup(text) : NULL;
}

void
job_last_run_fini(struct job_last_run *run)
{
    free(run->pod_name);
    free(run->node_name);
    free(run->reason);
    free(run->message);
    *run = (struct job_last_run){0};
}

static void
set_usage(struct job_last_run *run, const struct pod_usage *usage)
{
    if (usage == NULL)
        return;
    run->has_usage = true;
    run->peak_memory_bytes = usage->peak_memory_bytes;
    run->user_cpu_us = usage->user_cpu_us;
    run->system_cpu_us = usage->system_cpu_us;
}

/* Whether a run that an earlier controller has noted was a failure, and not ignored by
 * podFailurePolicy.
 */
static bool
is_failure_of(const struct job *job, const char *reason)
{
    const enum job_state state = job_state_of_failure(NULL, reason);

    if (job->status.exit_code != NULL && failure_policy_ignores_code(job, *job->status.exit_code))
        return false;
    return reason != NULL && strcmp(reason, REASON_COMPLETED) != 0
           && (state == JOB_STATE_FAILED || state == JOB_STATE_TIMED_OUT
               || state == JOB_STATE_OUT_OF_MEMORY);
}

void
job_last_run_load(struct job_last_run *run, const struct job *job)
{
    const struct job_status *status = &job->status;
    const struct job_run *known = status->last_run;

    if (known != NULL) {
        run->pod_name = dup_or_null(known->pod_name);
        run->node_name = dup_or_null(known->node_name);
        run->reason = dup_or_null(known->reason);
        run->message = dup_or_null(known->message);
        run->started_at_us = known->started_at_us;
        run->finished_at_us = known->finished_at_us;
        run->frozen_us = known->frozen_us;
        run->signal = known->signal;
        run->is_failure = is_failure_of(job, known->reason);
        run->was_ended = !run->is_failure;
        set_usage(run, known->usage);
    }
    if (status->exit_code != NULL) {
        run->has_exit_code = true;
        run->exit_code = *status->exit_code;
    }
}

/* The status has whole seconds, so that is what is read back. */
static int64_t
whole_seconds(int64_t us)
{
    return us - us % 1000000;
}

/* Orders by the end, then by the pod's number, so that the order of events does
 * not matter.
 */
static bool
is_later(const struct job_last_run *known, const struct job_last_run *run)
{
    if (run->finished_at_us != known->finished_at_us)
        return run->finished_at_us > known->finished_at_us;
    return strverscmp(run->pod_name, known->pod_name) >= 0;
}

/* The numbers in NAME-INDEX or NAME-INDEX-rATTEMPT, as job_pod_name makes them. */
static void
numbers_of(const char *pod_name, int64_t *ret_index, int64_t *ret_attempt)
{
    const char *dash = strrchr(pod_name, '-');
    const char *end = dash;

    *ret_attempt = 0;
    *ret_index = -1;
    if (dash != NULL && dash[1] == 'r') {
        *ret_attempt = strtoll(dash + 2, NULL, 10);
        while (dash > pod_name && dash[-1] != '-')
            dash--;
        *ret_index = strtoll(dash, NULL, 10);
    } else if (end != NULL) {
        *ret_index = strtoll(end + 1, NULL, 10);
    }
}

/* Ranks and times order the runs completely, so any order of events leads to
 * the same run.
 */
static int
rank_of(enum run_choice choice, const struct job_last_run *run)
{
    if (choice == RUN_LAST)
        return 0;
    if (run->reason != NULL && strcmp(run->reason, REASON_POD_DELETED) == 0)
        return 0;
    return (choice == RUN_FIRST_FAILURE || choice == RUN_WORST_FAILURE) && run->is_failure ? 2 : 1;
}

/* The pods of one attempt end because one of them has: the code of those is not
 * how the job has ended.
 */
static bool
is_preferred_of_attempt(enum run_choice choice, const struct job_last_run *known,
                        const struct job_last_run *run)
{
    int64_t index, attempt, known_index, known_attempt;

    numbers_of(run->pod_name, &index, &attempt);
    numbers_of(known->pod_name, &known_index, &known_attempt);
    if (attempt != known_attempt)
        return attempt > known_attempt;
    if (choice == RUN_LEADER)
        return index < known_index;
    if (rank_of(choice, run) != rank_of(choice, known))
        return rank_of(choice, run) > rank_of(choice, known);
    if (run->exit_code != known->exit_code)
        return run->exit_code > known->exit_code;
    return is_later(known, run);
}

static bool
is_preferred(enum run_choice choice, const struct job_last_run *known,
             const struct job_last_run *run)
{
    int was, is;

    if (known->pod_name == NULL || strcmp(known->pod_name, run->pod_name) == 0)
        return true;
    if (choice == RUN_LEADER || choice == RUN_HIGHEST_CODE)
        return is_preferred_of_attempt(choice, known, run);
    was = rank_of(choice, known);
    is = rank_of(choice, run);
    if (was != is)
        return is > was;
    if (is == 2 && choice == RUN_WORST_FAILURE && run->exit_code != known->exit_code)
        return run->exit_code > known->exit_code;
    return is == 2 && choice == RUN_FIRST_FAILURE ? !is_later(known, run) : is_later(known, run);
}

/* How a pod has ended: a word and a sentence; either may be NULL. */
struct ending {
    const char *reason, *message;
};

static const char *
text_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : NULL;
}

/* The condition that says why the pod was disrupted by others. */
static const struct pod_condition *
find_disruption(const struct pod *pod)
{
    const struct pod_condition *c = pod_find_condition(pod, "DisruptionTarget");
    const char *phase = pod->status.phase;

    return pod_was_disrupted(pod) && (phase == NULL || strcmp(phase, "Succeeded") != 0) ? c : NULL;
}

/* Maps upstream's reasons of a disruption to the codes of job_reason.h. */
static const char *
reason_of_disruption(const char *reason)
{
    static const struct {
        const char *word;
        enum job_reason reason;
    } reasons[] = {
        {REASON_DELETION_BY_TAINT_MANAGER, JOB_REASON_EVICTED},
        {REASON_EVICTION_BY_EVICTION_API, JOB_REASON_EVICTED},
        {REASON_PREEMPTION_BY_SCHEDULER, JOB_REASON_PREEMPTED},
    };

    for (size_t i = 0; reason != NULL && i < ARRAY_SIZE(reasons); i++)
        if (strcmp(reasons[i].word, reason) == 0)
            return job_reason_name(reasons[i].reason);
    return text_or_null(reason);
}

/* The cause of a disruption goes before the end of the process, which is mostly
 * a signal then.
 */
static struct ending
ending_of(const struct pod *pod)
{
    const struct pod_condition *disruption = find_disruption(pod);
    const struct pod_cause *cause = pod->status.cause;
    struct container_state state = {0};
    struct ending e = {text_or_null(pod->status.reason), text_or_null(pod->status.message)};

    if (e.reason == NULL && disruption != NULL && cause != NULL)
        e = (struct ending){text_or_null(cause->code), text_or_null(cause->message)};
    if (e.reason == NULL && disruption != NULL)
        e = (struct ending){reason_of_disruption(disruption->reason),
                            text_or_null(disruption->message)};
    if (e.reason == NULL && pod_main_state(pod, &state) && state.reason != NULL
        && strcmp(state.reason, REASON_OOM_KILLED) == 0)
        e.reason = state.reason;
    if (e.reason == NULL && pod->meta.deleted_at_us != 0 && pod_was_ended(pod))
        e.reason = REASON_POD_DELETED;
    if (e.reason == NULL && pod_main_state(pod, &state))
        e.reason = text_or_null(state.reason);
    return e;
}

/* Whether an order ended the pod, and not a limit or a preemption before it: as
 * history_row.h tells the end of the attempt.
 */
static bool
was_ended(const struct pod *pod, const char *reason)
{
    switch (job_state_of_failure(NULL, reason)) {
    case JOB_STATE_TIMED_OUT:
    case JOB_STATE_OUT_OF_MEMORY:
    case JOB_STATE_PREEMPTED:
        return false;
    default:
        return pod_was_ended(pod);
    }
}

const char *
job_last_run_reason(const struct pod *pod)
{
    return ending_of(pod).reason;
}

static void
note(struct job_last_run *known, enum run_choice choice, const struct pod *pod, bool is_failure,
     const char *reason_if_unknown)
{
    struct container_state state = {0};
    struct job_last_run run = {0};
    struct ending ending = ending_of(pod);
    bool has_state = pod_main_state(pod, &state);

    run.started_at_us = whole_seconds(state.started_at_us);
    run.has_exit_code = known->has_exit_code;
    run.exit_code = known->exit_code;
    if (has_state && state.terminated) {
        run.finished_at_us = whole_seconds(state.finished_at_us);
        run.signal = state.signal;
        run.has_exit_code = true;
        run.exit_code =
            state.signal > 0 && state.exit_code == 0 ? 128 + state.signal : state.exit_code;
    } else if (run.started_at_us > 0) {
        run.finished_at_us = whole_seconds(pod->meta.deleted_at_us);
        if (run.finished_at_us == 0 && pod_is_finished(pod)) /* its node is lost */
            run.finished_at_us = whole_seconds(pod_last_transition_us(pod));
    }
    run.frozen_us = pod_frozen_us(pod, run.finished_at_us);
    run.is_failure = is_failure;
    run.was_ended = was_ended(pod, ending.reason);
    run.pod_name = xstrdup(pod->meta.name);
    run.node_name = dup_or_null(pod->spec.node_name);
    run.reason = dup_or_null(ending.reason != NULL ? ending.reason : reason_if_unknown);
    run.message = dup_or_null(ending.message);
    set_usage(&run, pod->status.usage);
    if (!is_preferred(choice, known, &run)) {
        job_last_run_fini(&run);
        return;
    }
    job_last_run_fini(known);
    *known = run;
}

enum run_choice
job_last_run_choose(const struct job *job)
{
    if (job_is_array(job))
        return job->spec.array->fail_fast ? RUN_FIRST_FAILURE : RUN_WORST_FAILURE;
    if (job_gang_size(job) > 0)
        return job_gang_runs_first(job) ? RUN_LEADER : RUN_HIGHEST_CODE;
    return !job_is_indexed(job) && job->spec.completions != NULL && *job->spec.completions == 1
               ? RUN_LAST
               : RUN_OWN_END;
}

void
job_last_run_note(struct job_last_run *run, enum run_choice choice, const struct pod *pod,
                  bool is_failure)
{
    note(run, choice, pod, is_failure, NULL);
}

void
job_last_run_note_gone(struct job_last_run *run, enum run_choice choice, const struct pod *pod)
{
    note(run, choice, pod, false, REASON_POD_DELETED);
}
