/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/mail/mail_due.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/job_mail.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"

#define MARKS_MOST 600u /* bytes; the oldest go first */

#define PARTS        (JOB_MAIL_TIME_LIMIT_50 | JOB_MAIL_TIME_LIMIT_80 | JOB_MAIL_TIME_LIMIT_90)
#define POD_COMES_US INT64_C(5000000)

static const char *
annotation(const struct job *job, const char *name)
{
    return string_map_find(&job->meta.annotations, name);
}

static bool
is_marked(const struct job *job, const char *mark)
{
    const char *marks = annotation(job, ANNOTATION_MAILED);
    const size_t length = strlen(mark);

    for (const char *at = marks; at != NULL && *at != '\0';) {
        const size_t n = strcspn(at, ",");

        if (n == length && strncmp(at, mark, n) == 0)
            return true;
        at += n + (at[n] != '\0');
    }
    return false;
}

static bool PRINTF(4, 5)
    is_new(const struct job *job, struct mail_due *ret, const char *what, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(ret->mark, sizeof(ret->mark), format, args);
    va_end(args);
    ret->what = what;
    return !is_marked(job, ret->mark);
}

static int64_t
end_of(const struct job *job)
{
    int64_t end = job->status.completion_at_us;

    for (unsigned i = 0; i < job->status.conditions.count; i++)
        if (job->status.conditions.items[i].last_transition_at_us > end)
            end = job->status.conditions.items[i].last_transition_at_us;
    return end;
}

static bool
has_begun(const struct job *job, enum job_state state)
{
    const struct job_run *run = job->status.last_run;

    return state == JOB_STATE_RUNNING || state == JOB_STATE_FROZEN || state == JOB_STATE_UNKNOWN
           || state == JOB_STATE_ENDING || (run != NULL && run->started_at_us != 0);
}

/* Whether the job is one whose attempts are its pods. */
static bool
has_one_pod(const struct job *job)
{
    return job->spec.array == NULL
           && (job->spec.completions == NULL || *job->spec.completions == 1);
}

static bool
is_requeued(const struct job *job, enum job_state state, struct mail_due *ret)
{
    if (has_one_pod(job) && job->status.attempts > 1)
        return is_new(job, ret, "Requeued", "REQUEUE_%" PRId64, job->status.attempts);
    return state == JOB_STATE_REQUEUED
           && is_new(job, ret, "Requeued", "REQUEUE_r%" PRId64, job->status.requeued);
}

/* ---- Parts of the time limit ---- */

static bool
find_part(const struct job *job, unsigned events, const struct mail_run *run, int64_t now_us,
          struct mail_due *ret, int64_t *ret_after_us)
{
    static const struct {
        unsigned event;
        int percent;
        const char *what;
    } parts[] = {
        {JOB_MAIL_TIME_LIMIT_90, 90, "Reached 90% of time limit"},
        {JOB_MAIL_TIME_LIMIT_80, 80, "Reached 80% of time limit"},
        {JOB_MAIL_TIME_LIMIT_50, 50, "Reached 50% of time limit"},
    };

    if (!(events & PARTS) || !has_begun(job, job_find_state(job)))
        return false;
    if (run->began_us == 0)
        *ret_after_us = POD_COMES_US; /* the Job is known to run before its pod is */
    if (run->limit_us <= 0 || run->began_us == 0)
        return false;
    /* Of several that are overdue only the last is sent, and it hides the others. */
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        const int64_t at_us =
            run->began_us + run->frozen_us + run->limit_us / 100 * parts[i].percent;

        if (!(events & parts[i].event))
            continue;
        if (at_us <= now_us)
            return is_new(job, ret, parts[i].what, "TIME_LIMIT_%d_%" PRId64, parts[i].percent,
                          job->status.attempts);
        *ret_after_us = at_us - now_us;
    }
    return false;
}

/* ---- The end ---- */

/* The word of the end, if the user wants to know of one like this. */
static const char *
word_of_end(const struct job *job, enum job_state state, unsigned events)
{
    const struct job_condition *failed = job_find_condition(job, "Failed");
    const bool has_failed = state != JOB_STATE_COMPLETED && state != JOB_STATE_CANCELLED;

    if (failed != NULL && failed->reason != NULL
        && strcmp(failed->reason, REASON_DEPENDENCY_NEVER_SATISFIED) == 0)
        return events & (JOB_MAIL_INVALID_DEPEND | JOB_MAIL_END) ? "Invalid dependency" : NULL;
    if (state == JOB_STATE_TIMED_OUT && (events & (JOB_MAIL_TIME_LIMIT | JOB_MAIL_FAIL)))
        return "Reached time limit";
    if (has_failed && (events & JOB_MAIL_FAIL))
        return "Failed";
    return events & JOB_MAIL_END ? "Ended" : NULL;
}

/* A job that is held because its dependency can never be met has not ended. */
static bool
waits_in_vain(const struct job *job)
{
    const struct pod_cause *cause = job->status.cause;

    return cause != NULL && cause->code != NULL
           && strcmp(cause->code, REASON_DEPENDENCY_NEVER_SATISFIED) == 0;
}

bool
mail_due_needs_run(const struct job *job)
{
    const char *types = annotation(job, ANNOTATION_MAIL_TYPE);
    unsigned events = 0;

    return types != NULL && job_mail_parse(types, &events, NULL) == 0 && (events & PARTS) != 0;
}

bool
mail_due_find(const struct job *job, const struct mail_run *run, int64_t now_us,
              struct mail_due *ret, int64_t *ret_after_us)
{
    const char *types = annotation(job, ANNOTATION_MAIL_TYPE);
    const enum job_state state = job_find_state(job);
    const bool has_ended = job_state_is_ended(state);
    unsigned events = 0;

    *ret_after_us = 0;
    ret->is_end = false;
    if (types == NULL || job_mail_parse(types, &events, NULL) < 0 || events == 0
        || (has_ended && end_of(job) < now_us - MAIL_AGE_MOST_US))
        return false;
    if ((events & JOB_MAIL_BEGIN) && has_begun(job, state) && is_new(job, ret, "Began", "BEGIN"))
        return true;
    if ((events & JOB_MAIL_REQUEUE) && is_requeued(job, state, ret))
        return true;
    if ((events & JOB_MAIL_INVALID_DEPEND) && !has_ended && waits_in_vain(job)
        && is_new(job, ret, "Invalid dependency", "INVALID_DEPEND"))
        return true;
    if (!has_ended)
        return find_part(job, events, run, now_us, ret, ret_after_us);
    ret->is_end = true;
    return word_of_end(job, state, events) != NULL
           && is_new(job, ret, word_of_end(job, state, events), "END_%" PRId64,
                     job->status.attempts);
}

const char *
mail_due_add_mark(const struct job *job, const char *mark, struct arena *arena)
{
    const char *marks = annotation(job, ANNOTATION_MAILED);

    while (marks != NULL && strlen(marks) > MARKS_MOST) {
        marks = strchr(marks, ',');
        marks = marks != NULL ? marks + 1 : NULL;
    }
    return marks != NULL && marks[0] != '\0' ? arena_printf(arena, "%s,%s", marks, mark)
                                             : arena_strdup(arena, mark);
}
