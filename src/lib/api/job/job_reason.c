/* SPDX-License-Identifier: Apache-2.0 */
/* Many things keep a job from running at once, and a column has room for one. So they are
 * asked in a fixed order: how it ended, an order to end it, what its pod does on a node, who
 * holds it, whom it waits for, its begin time, and only then what keeps a pod from a node; as
 * long as an earlier one stands, a later one does not matter. Causes that only one component
 * can know are written by that component; all others are derived here from the objects, so
 * they cannot be stale.
 */
#include "lib/api/job/job_reason.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_dependency.h"
#include "lib/api/job/job_end.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/pod/pod.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#define SECOND_US INT64_C(1000000)

static const char *const names[JOB_REASON_COUNT] = {
    [JOB_REASON_NONE] = "None",
    [JOB_REASON_RESOURCES] = "Resources",
    [JOB_REASON_PRIORITY] = "Priority",
    [JOB_REASON_HELD_USER] = "JobHeldUser",
    [JOB_REASON_HELD_ADMIN] = "JobHeldAdmin",
    [JOB_REASON_HELD_REQUEUES] = "JobHoldMaxRequeue",
    [JOB_REASON_BEGIN_TIME] = "BeginTime",
    [JOB_REASON_DEPENDENCY] = "Dependency",
    [JOB_REASON_DEPENDENCY_NEVER] = "DependencyNeverSatisfied",
    [JOB_REASON_GATED] = "SchedulingGated",
    [JOB_REASON_NOT_AVAILABLE] = "ReqNodeNotAvail",
    [JOB_REASON_PARTITION_DOWN] = "PartitionDown",
    [JOB_REASON_PARTITION_TIME] = "PartitionTimeLimit",
    [JOB_REASON_PARTITION_LIMIT] = "PartitionLimit",
    [JOB_REASON_NOT_ALLOWED] = "NotAllowed",
    [JOB_REASON_RESERVATION] = "Reservation",
    [JOB_REASON_RESERVATION_GONE] = "ReservationDeleted",
    [JOB_REASON_RESERVED] = "ReservedNodes",
    [JOB_REASON_BAD_CONSTRAINTS] = "BadConstraints",
    [JOB_REASON_GROUP_CPUS] = "AssocGrpCpuLimit",
    [JOB_REASON_GROUP_MEMORY] = "AssocGrpMemLimit",
    [JOB_REASON_GROUP_JOBS] = "AssocGrpJobsLimit",
    [JOB_REASON_GROUP_OTHER] = "AssocGrpGRES",
    [JOB_REASON_STORAGE] = "Storage",
    [JOB_REASON_START] = "StartBlocked",
    [JOB_REASON_SUSPENDED] = "Suspended",
    [JOB_REASON_NODE_DOWN] = "NodeDown",
    [JOB_REASON_PREEMPTED] = "Preempted",
    [JOB_REASON_EVICTED] = "Evicted",
    [JOB_REASON_PROLOG] = "Prolog",
    [JOB_REASON_LAUNCH_FAILURE] = "JobLaunchFailure",
    [JOB_REASON_TIME_LIMIT] = "TimeLimit",
    [JOB_REASON_DEADLINE] = "DeadLine",
    [JOB_REASON_OUT_OF_MEMORY] = "OutOfMemory",
    [JOB_REASON_SIGNAL] = "RaisedSignal",
    [JOB_REASON_EXIT_CODE] = "NonZeroExitCode",
    [JOB_REASON_CANCELLED] = "Cancelled",
    [JOB_REASON_POD_DELETED] = "PodDeleted",
    [JOB_REASON_SYSTEM_FAILURE] = "SystemFailure",
    [JOB_REASON_OTHER] = "Other",
};

const char *
job_reason_name(enum job_reason reason)
{
    return names[reason];
}

/* A name that a later release wrote becomes JOB_REASON_OTHER. */
static enum job_reason
find_reason(const char *name)
{
    if (!text_is_set(name))
        return JOB_REASON_NONE;
    for (unsigned i = 0; i < JOB_REASON_COUNT; i++)
        if (strcmp(names[i], name) == 0)
            return (enum job_reason)i;
    return JOB_REASON_OTHER;
}

/* ---- Amounts ---- */

void
job_reason_add_duration(int64_t seconds, struct strbuf *out)
{
    int64_t hours = seconds / 3600;

    if (seconds >= 86400)
        strbuf_printf(out, "%" PRId64 "-", seconds / 86400);
    if (seconds >= 86400)
        strbuf_printf(out, "%02d:%02d", (int)(hours % 24), (int)(seconds / 60 % 60));
    else if (hours > 0)
        strbuf_printf(out, "%d:%02d", (int)hours, (int)(seconds / 60 % 60));
    else
        strbuf_printf(out, "%d", (int)(seconds / 60));
    strbuf_printf(out, ":%02d", (int)(seconds % 60));
}

void
job_reason_add_bytes(int64_t bytes, struct strbuf *out)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes / 1024;
    unsigned unit = 0;

    if (bytes < 1024) {
        strbuf_printf(out, "%" PRId64 " bytes", bytes);
        return;
    }
    while (value >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
        value /= 1024;
        unit++;
    }
    strbuf_printf(out, value >= 100 ? "%.0f %s" : "%.3g %s", value, units[unit]);
}

/* Appends ", from about 22:06", with the date if it is another day; appends
 * nothing for a time that has passed.
 */
static void
add_from(const struct job_reason_facts *f, int64_t from_us, struct strbuf *out)
{
    time_t from = (time_t)(from_us / SECOND_US + f->east_s);
    time_t now = (time_t)(f->now_us / SECOND_US + f->east_s);
    struct tm at, today;
    char text[32];

    if (from_us <= f->now_us)
        return;
    if (f->is_utc) {
        gmtime_r(&from, &at);
        gmtime_r(&now, &today);
    } else {
        localtime_r(&from, &at);
        localtime_r(&now, &today);
    }
    if (strftime(text, sizeof(text),
                 at.tm_year == today.tm_year && at.tm_yday == today.tm_yday ? "%H:%M"
                                                                            : "%b %e %H:%M",
                 &at)
        > 0)
        strbuf_printf(out, ", from about %s", text);
}

/* ---- How the job ended ---- */

static bool
counts_failures(const char *reason)
{
    return text_is(reason, REASON_BACKOFF_LIMIT_EXCEEDED) || text_is(reason, REASON_FAILED_INDEXES)
           || text_is(reason, REASON_MAX_FAILED_INDEXES_EXCEEDED);
}

/* The message of the job, or that of the pod if the job's message only counts
 * failures.
 */
static enum job_reason
describe_failure(const struct job_reason_facts *f, const struct job_condition *failed,
                 struct strbuf *words)
{
    struct job_end end;

    if (text_is(failed->reason, REASON_CANCELLED)) {
        strbuf_add_text(words, text_is_set(failed->message) ? failed->message : "Cancelled");
        if (words->length > 0 && words->text[0] == 'C')
            words->text[0] = 'c';
        return JOB_REASON_CANCELLED;
    }
    if (text_is(failed->message, JOB_AT_DEADLINE)
        || text_is(failed->message, JOB_BEFORE_DEADLINE)) {
        strbuf_add_text(words, text_is(failed->message, JOB_AT_DEADLINE)
                                   ? "not done by its deadline"
                                   : "its time limit no longer fits before its "
                                     "deadline");
        return JOB_REASON_DEADLINE;
    }
    if (text_is(failed->reason, REASON_DEADLINE_EXCEEDED)) {
        strbuf_add_text(words, "not done within ");
        if (f->job->spec.active_deadline_seconds != NULL)
            job_reason_add_duration(*f->job->spec.active_deadline_seconds, words);
        else
            strbuf_add_text(words, "its deadline");
        return JOB_REASON_DEADLINE;
    }
    if (text_is(failed->reason, names[JOB_REASON_DEPENDENCY_NEVER])) {
        strbuf_add_text(words, text_is_set(failed->message) ? failed->message : "of other jobs");
        return JOB_REASON_DEPENDENCY_NEVER;
    }
    if (counts_failures(failed->reason) && job_end_find(f, &end) && !job_end_is_success(&end))
        return job_end_describe(f, &end, words);
    strbuf_add_text(words, text_is_set(failed->message)  ? failed->message
                           : text_is_set(failed->reason) ? failed->reason
                                                         : "it failed");
    return JOB_REASON_OTHER;
}

/* ---- Why the job waits ---- */

static enum job_reason
describe_cause(const struct job_reason_facts *f, const struct pod_cause *cause,
               struct strbuf *words)
{
    strbuf_add_text(words, text_is_set(cause->message) ? cause->message : "");
    add_from(f, cause->from_us, words);
    return find_reason(cause->code);
}

/* The operator who suspended the Job counts as its holder, whoever else holds
 * it; a Job that an upstream client suspended has no known holder.
 */
static const char *
find_holder(const struct job *job)
{
    const struct string_map *notes = &job->meta.annotations;
    const char *by = string_map_find(notes, ANNOTATION_HELD_BY);

    if (job->spec.suspend && by != NULL)
        return by;
    by = string_map_find(notes, ANNOTATION_HOLD);
    return by != NULL ? by : job_find_freezer(job);
}

static enum job_reason
describe_hold(const struct job_reason_facts *f, struct strbuf *words)
{
    bool is_admin = job_is_held_by_operator(f->job);
    const char *by = find_holder(f->job);

    if (!job_is_held_on_request(f->job))
        return describe_cause(f, f->job->status.cause, words);

    if (f->is_whole && text_is_set(by))
        strbuf_printf(words, "held by %s %.60s", is_admin ? "operator" : "user", by);
    else
        strbuf_add_text(words, is_admin ? "held by an operator" : "held by its user");
    return is_admin ? JOB_REASON_HELD_ADMIN : JOB_REASON_HELD_USER;
}

static enum job_reason
describe_begin(const struct job_reason_facts *f, struct strbuf *words)
{
    CLEANUP_STRBUF struct strbuf from = STRBUF_INIT;

    add_from(f, f->job->spec.begin_at_us, &from);
    strbuf_printf(words, "not to begin before %s",
                  from.length > strlen(", from about ") ? from.text + strlen(", from about ")
                                                        : "its time");
    return JOB_REASON_BEGIN_TIME;
}

/* A site may let the job wait although its dependencies can never be met. */
static enum job_reason
describe_dependency(const struct job_reason_facts *f, struct strbuf *words)
{
    const struct pod_cause *cause = f->job->status.cause;

    if (cause != NULL && text_is(cause->code, names[JOB_REASON_DEPENDENCY_NEVER]))
        return describe_cause(f, cause, words);
    strbuf_add_text(words, "waits for ");
    job_dependencies_format(f->job->spec.dependencies, 60, words);
    return JOB_REASON_DEPENDENCY;
}

/* Whether a run was ended by others, after which the job waits again. */
static bool
is_disruption(enum job_reason reason)
{
    return reason == JOB_REASON_PREEMPTED || reason == JOB_REASON_EVICTED
           || reason == JOB_REASON_NODE_DOWN || reason == JOB_REASON_PROLOG
           || reason == JOB_REASON_SYSTEM_FAILURE;
}

/* Why the last run ended, if the job was not the cause. */
static enum job_reason
describe_disruption(const struct job_reason_facts *f, struct strbuf *words)
{
    const struct job_run *run = f->job != NULL ? f->job->status.last_run : NULL;
    size_t before = words->length;
    struct job_end end;
    enum job_reason reason;

    if (run == NULL)
        return JOB_REASON_NONE;
    end = job_end_of_run(run);
    reason = job_end_describe(f, &end, words);
    if (is_disruption(reason))
        return reason;
    strbuf_truncate(words, before);
    return JOB_REASON_NONE;
}

static bool
is_placed(const struct pod *pod)
{
    return text_is_set(pod->spec.node_name);
}

/* For a pod that a former release of the scheduler, which wrote no causes,
 * could not place.
 */
static enum job_reason
describe_condition(const struct pod *pod, struct strbuf *words)
{
    const struct pod_condition *c = pod_find_condition(pod, "PodScheduled");

    if (c == NULL || !text_is(c->status, "False"))
        return JOB_REASON_NONE;
    if (text_is(c->reason, REASON_SCHEDULING_GATED)) {
        strbuf_add_text(words, "waits for its scheduling gates");
        return JOB_REASON_GATED;
    }
    strbuf_add_text(words, "no node can take it yet");
    return JOB_REASON_RESOURCES;
}

static enum job_reason
describe_wait(const struct job_reason_facts *f, struct strbuf *words)
{
    enum job_reason disruption, reason = JOB_REASON_NONE;
    const struct pod_cause *cause = NULL;
    size_t before;

    disruption = describe_disruption(f, words);
    before = words->length;
    if (f->pod != NULL && !job_end_has_pod(f->pod))
        cause = f->pod->status.cause;
    else if (f->job != NULL)
        cause = f->job->status.cause;
    if (before > 0)
        strbuf_add_text(words, "; ");
    if (cause != NULL)
        reason = describe_cause(f, cause, words);
    else if (f->pod != NULL && !job_end_has_pod(f->pod))
        reason = describe_condition(f->pod, words);
    if (reason != JOB_REASON_NONE)
        return reason;
    strbuf_truncate(words, before);
    return disruption;
}

/* ---- The one cause ---- */

/* The others of its gang wait for it. */
static bool
is_waited_for(const struct pod *pod)
{
    return pod_awaits_start(pod) && !pod_is_prepared(pod);
}

static int
rank_of(const struct pod *pod)
{
    if (pod_is_finished(pod))
        return text_is(pod->status.phase, "Failed") ? 1 : 0;
    if (pod->meta.deleted_at_us != 0)
        return 2;
    if (!is_placed(pod))
        return 3;
    if (!text_is(pod->status.phase, "Running"))
        return is_waited_for(pod) ? 5 : 4;
    if (pod_is_ending(pod))
        return 6;
    return pod_is_frozen(pod) ? 7 : 8;
}

const struct pod *
job_reason_prefer(const struct pod *a, const struct pod *b)
{
    if (a == NULL || rank_of(b) > rank_of(a))
        return b;
    return rank_of(b) == rank_of(a) && b->meta.created_at_us > a->meta.created_at_us ? b : a;
}

/* The pod keeps its memory and cores while it is suspended. */
static enum job_reason
describe_frozen(const struct job_reason_facts *f, struct strbuf *words)
{
    const char *by = string_map_find(&f->pod->meta.annotations, ANNOTATION_FREEZE);

    if (!pod_is_frozen(f->pod))
        return JOB_REASON_NONE;
    if (by == NULL && pod_find_yield(f->pod) != NULL) {
        strbuf_printf(words, "suspended for %.100s", pod_find_yield(f->pod));
        return JOB_REASON_SUSPENDED;
    }
    strbuf_printf(words, "suspended by operator%s%.60s", by != NULL ? " " : "",
                  by != NULL ? by : "");
    return JOB_REASON_SUSPENDED;
}

static enum job_reason
describe_running(const struct job_reason_facts *f, struct strbuf *words)
{
    if (f->pod->status.ending == NULL || f->pod->meta.deleted_at_us != 0)
        return describe_frozen(f, words);
    strbuf_add_text(words, POD_OVER_LIMIT);
    return JOB_REASON_TIME_LIMIT;
}

static enum job_reason
describe_placed(const struct job_reason_facts *f, struct strbuf *words)
{
    struct container_state state = {0};
    struct job_end end;

    if (job_end_has_pod(f->pod)) {
        if (text_is(f->pod->status.phase, "Succeeded"))
            return JOB_REASON_NONE;
        end = job_end_of_pod(f->pod);
        return job_end_describe(f, &end, words);
    }
    if (text_is(f->pod->status.phase, "Unknown")) {
        strbuf_printf(words, "node %s is silent", f->pod->spec.node_name);
        return JOB_REASON_NODE_DOWN;
    }
    if (text_is(f->pod->status.phase, "Running"))
        return describe_running(f, words);
    if (is_waited_for(f->pod) && f->pod->meta.deleted_at_us == 0) {
        strbuf_printf(words, "waits for node %s to be prepared", f->pod->spec.node_name);
        return JOB_REASON_START;
    }
    if (pod_main_state(f->pod, &state) && state.waiting && text_is_set(state.message)) {
        job_end_add_message(f, state.message, "its node waits for it", words);
        return JOB_REASON_START;
    }
    return JOB_REASON_NONE;
}

enum job_reason
job_reason_find(const struct job_reason_facts *f, struct strbuf *words)
{
    const struct job *job = f->job;
    const struct job_condition *failed = NULL;

    if (job != NULL) {
        failed = job_find_condition(job, "Failed");
        if (failed == NULL)
            failed = job_find_condition(job, "FailureTarget");
        if (failed != NULL)
            return describe_failure(f, failed, words);
        if (job_find_condition(job, "Complete") != NULL)
            return JOB_REASON_NONE;
        if (job_find_order(job) != NULL)
            return describe_failure(f, job_find_order(job), words);
        if (job_is_cancelled(job)) {
            strbuf_printf(words, "cancelled by %.100s",
                          string_map_find(&job->meta.annotations, ANNOTATION_CANCEL));
            return JOB_REASON_CANCELLED;
        }
    }
    if (f->pod != NULL && is_placed(f->pod) && (job == NULL || !job_end_has_pod(f->pod)))
        return describe_placed(f, words);
    if (job != NULL && job_is_held(job))
        return describe_hold(f, words);
    if (job != NULL && job_waits_for_others(job) && f->pod == NULL)
        return describe_dependency(f, words);
    if (job != NULL && job->spec.begin_at_us > f->now_us)
        return describe_begin(f, words);
    return describe_wait(f, words);
}

void
job_reason_describe_end(const struct job *job, struct strbuf *words)
{
    CLEANUP_STRBUF struct strbuf why = STRBUF_INIT;
    const struct job_run *run = job->status.last_run;
    const enum job_state state = job_find_state(job);
    const struct job_condition *failed = job_find_condition(job, "Failed");

    strbuf_add_text(words, job_state_words(state)->name);
    if (state == JOB_STATE_COMPLETED)
        return;
    /* How one task has ended does not explain an array, except with fail-fast. */
    if (state == JOB_STATE_FAILED && job_is_array(job) && !job->spec.array->fail_fast
        && job->spec.completions != NULL && *job->spec.completions > 1 && failed != NULL
        && failed->message != NULL)
        strbuf_add_text(&why, failed->message);
    else
        job_reason_find(&(struct job_reason_facts){.job = job, .is_whole = true}, &why);
    if (run != NULL && run->node_name != NULL && run->node_name[0] != '\0')
        strbuf_printf(words, " on %s", run->node_name);
    if (why.length > 0)
        strbuf_printf(words, ", %s", why.text);
}
