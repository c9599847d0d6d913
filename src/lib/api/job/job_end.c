/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_end.h"

#include <inttypes.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/quantity.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

static const char *
find_limit(const struct job_reason_facts *f, const char *resource)
{
    const struct pod_spec *spec = f->pod != NULL ? &f->pod->spec : f->job->spec.template_.spec;

    return spec->containers.count > 0
               ? string_map_find(&spec->containers.items[0].resources.limits, resource)
               : NULL;
}

static enum job_reason
describe_out_of_memory(const struct job_reason_facts *f, struct strbuf *words)
{
    const char *limit = find_limit(f, "memory");

    if (limit == NULL)
        strbuf_add_text(words, "its node ran out of memory");
    else {
        strbuf_add_text(words, "over ");
        job_reason_add_bytes(quantity_text_value(limit), words);
    }
    return JOB_REASON_OUT_OF_MEMORY;
}

static enum job_reason
describe_late_end(const struct job_reason_facts *f, struct strbuf *words)
{
    const struct pod_spec *spec = f->pod != NULL ? &f->pod->spec : f->job->spec.template_.spec;

    if (spec->active_deadline_seconds == NULL)
        strbuf_add_text(words, "exceeded its time limit");
    else {
        strbuf_add_text(words, "over ");
        job_reason_add_duration(*spec->active_deadline_seconds, words);
    }
    return JOB_REASON_TIME_LIMIT;
}

static const char *
signal_name(int64_t number)
{
    const char *name = number > 0 && number < 128 ? sigabbrev_np((int)number) : NULL;

    return name != NULL ? name : "";
}

/* The text for a failure never says "exit code 0". */
static enum job_reason
describe_exit(const struct job_end *end, struct strbuf *words)
{
    const char *name = signal_name(end->signal > 0 ? end->signal : end->exit_code - 128);

    if (end->signal > 0) {
        strbuf_printf(words, "killed by signal %" PRId64, end->signal);
        if (name[0] != '\0')
            strbuf_printf(words, " (SIG%s)", name);
        return JOB_REASON_SIGNAL;
    }
    if (end->exit_code == 0) {
        strbuf_add_text(words, "it failed");
        return JOB_REASON_OTHER;
    }
    strbuf_printf(words, "exit code %" PRId64, end->exit_code);
    if (name[0] != '\0')
        strbuf_printf(words, " (128 and SIG%s)", name);
    return JOB_REASON_EXIT_CODE;
}

void
job_end_add_message(const struct job_reason_facts *f, const char *message, const char *otherwise,
                    struct strbuf *words)
{
    if (f->is_whole && text_is_set(message))
        strbuf_add(words, message, strcspn(message, ";\n"));
    else
        strbuf_add_text(words, otherwise);
}

static const char *
node_or_its(const char *node)
{
    return text_is_set(node) ? node : "its node";
}

enum job_reason
job_end_describe(const struct job_reason_facts *f, const struct job_end *end, struct strbuf *words)
{
    const char *reason = end->reason;
    const char *of = text_is_set(end->node) ? "node " : "";

    if (text_is(reason, REASON_OOM_KILLED))
        return describe_out_of_memory(f, words);
    if (text_is(reason, REASON_DEADLINE_EXCEEDED))
        return describe_late_end(f, words);
    if (text_is(reason, REASON_NODE_LOST) || text_is(reason, REASON_NODE_REBOOTED)
        || text_is(reason, REASON_NODE_SHUTDOWN)) {
        strbuf_printf(words, "%s%s was %s", of, node_or_its(end->node),
                      text_is(reason, REASON_NODE_LOST)       ? "lost"
                      : text_is(reason, REASON_NODE_REBOOTED) ? "restarted"
                                                              : "shut down");
        return JOB_REASON_NODE_DOWN;
    }
    if (text_is(reason, REASON_PROLOG_FAILED)) {
        strbuf_printf(words, "the prolog of %s%s failed", of, node_or_its(end->node));
        return JOB_REASON_PROLOG;
    }
    if (text_is(reason, job_reason_name(JOB_REASON_PREEMPTED))) {
        job_end_add_message(f, end->message, "preempted by another job", words);
        return JOB_REASON_PREEMPTED;
    }
    if (text_is(reason, job_reason_name(JOB_REASON_EVICTED))) {
        job_end_add_message(f, end->message, "evicted from its node", words);
        return JOB_REASON_EVICTED;
    }
    if (text_is(reason, REASON_START_ERROR)) {
        job_end_add_message(f, end->message, "it could not be started", words);
        return JOB_REASON_LAUNCH_FAILURE;
    }
    if (text_is(reason, REASON_POD_DELETED)) {
        strbuf_add_text(words, "its pod was deleted");
        return JOB_REASON_POD_DELETED;
    }
    if (text_is(reason, REASON_MEMBER_ENDED)) {
        job_end_add_message(f, end->message, "the pod of another node ended first", words);
        return JOB_REASON_OTHER;
    }
    if (text_is(reason, REASON_CALLED_OFF)) {
        strbuf_add_text(words, "ended on request before it had started");
        return JOB_REASON_POD_DELETED;
    }
    if (text_is(reason, REASON_TERMINATED) && end->exit_code == 0 && end->signal == 0) {
        strbuf_add_text(words, "ended on request, with exit code 0");
        return JOB_REASON_POD_DELETED;
    }
    if (text_is(reason, REASON_SHEPHERD_LOST) || text_is(reason, REASON_NODE_BROKEN)
        || text_is(reason, REASON_ALLOCATION_OVERLAP)
        || text_is(reason, REASON_ALLOCATION_NOT_HERE)) {
        job_end_add_message(f, end->message, reason, words);
        return JOB_REASON_SYSTEM_FAILURE;
    }
    if (!text_is_set(reason) || text_is(reason, REASON_ERROR) || text_is(reason, REASON_COMPLETED)
        || text_is(reason, REASON_TERMINATED))
        return describe_exit(end, words);
    strbuf_add_text(words, reason);
    return JOB_REASON_OTHER;
}

struct job_end
job_end_of_run(const struct job_run *run)
{
    return (struct job_end){run->node_name, run->reason, run->message, run->exit_code, run->signal};
}

struct job_end
job_end_of_pod(const struct pod *pod)
{
    const struct pod_cause *cause = pod->status.cause;
    struct container_state state = {0};
    struct job_end end = {.node = pod->spec.node_name};

    (void)pod_main_state(pod, &state);
    end.reason = text_is_set(pod->status.reason) ? pod->status.reason : state.reason;
    end.message = pod->status.message;
    end.exit_code = state.exit_code;
    end.signal = state.signal;
    if (cause != NULL && pod_was_disrupted(pod)) {
        end.reason = cause->code;
        end.message = cause->message;
    }
    return end;
}

bool
job_end_has_pod(const struct pod *pod)
{
    return pod_is_finished(pod) || (pod->meta.deleted_at_us != 0 && pod_was_disrupted(pod));
}

/* Of a job with several pods, that pod is one of many, and the job controller
 * has recorded the run that counts.
 */
static bool
is_one_of_many(const struct job *job)
{
    return job != NULL && job->status.last_run != NULL
           && (job->spec.completions == NULL || *job->spec.completions > 1);
}

bool
job_end_find(const struct job_reason_facts *f, struct job_end *ret_end)
{
    if (f->pod != NULL && !is_one_of_many(f->job) && job_end_has_pod(f->pod))
        *ret_end = job_end_of_pod(f->pod);
    else if (f->job != NULL && f->job->status.last_run != NULL)
        *ret_end = job_end_of_run(f->job->status.last_run);
    else
        return false;
    return true;
}

/* The last run of several need not be the one that failed. */
bool
job_end_is_success(const struct job_end *end)
{
    return end->exit_code == 0 && end->signal == 0 && text_is(end->reason, REASON_COMPLETED);
}
