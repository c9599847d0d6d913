/* SPDX-License-Identifier: Apache-2.0 */
/* job_standing.c - whether a Job is held, cancelled or ended, its state, its
 * exit code
 */
#include "lib/api/job/job.h"

#include <string.h>

#include "lib/api/job/job_reason.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/object.h"
#include "lib/api/value/rows.h"
#include "lib/base/decimal.h"

#define EXIT_CODE_KILLED 137 /* 128 + SIGKILL, as in a shell */

const struct job *
job_of(const struct object *object)
{
    return object->view;
}

const struct job_condition *
job_find_condition(const struct job *job, const char *type)
{
    for (unsigned i = 0; i < job->status.conditions.count; i++) {
        const struct job_condition *c = &job->status.conditions.items[i];

        if (strcmp(c->type, type) == 0 && strcmp(c->status, "True") == 0)
            return c;
    }
    return NULL;
}

const struct job_condition *
job_find_order(const struct job *job)
{
    for (unsigned i = 0; i < job->status.conditions.count; i++) {
        const struct job_condition *c = &job->status.conditions.items[i];

        if (strcmp(c->type, "FailureTarget") == 0 && strcmp(c->status, "False") == 0)
            return c;
    }
    return NULL;
}

bool
job_is_finished(const struct job *job)
{
    return job_find_condition(job, "Complete") != NULL || job_find_condition(job, "Failed") != NULL;
}

static const char *
annotation_of(const struct job *job, const char *name)
{
    return string_map_find(&job->meta.annotations, name);
}

const char *
job_find_freezer(const struct job *job)
{
    return annotation_of(job, ANNOTATION_FREEZE);
}

bool
job_is_held_on_request(const struct job *job)
{
    return job->spec.suspend || annotation_of(job, ANNOTATION_HOLD) != NULL
           || job_find_freezer(job) != NULL;
}

bool
job_is_cancelled(const struct job *job)
{
    return annotation_of(job, ANNOTATION_CANCEL) != NULL;
}

bool
job_has_failed_fast(const struct job *job)
{
    const struct job_condition *c = job_find_condition(job, "Failed");

    if (c == NULL)
        c = job_find_condition(job, "FailureTarget");
    return c != NULL && c->reason != NULL && strcmp(c->reason, REASON_FAILED_INDEXES) == 0
           && job->spec.array != NULL && job->spec.array->fail_fast;
}

bool
job_is_held_for_requeues(const struct job *job)
{
    const struct pod_cause *cause = job->status.cause;

    return cause != NULL && cause->code != NULL
           && strcmp(cause->code, job_reason_name(JOB_REASON_HELD_REQUEUES)) == 0;
}

bool
job_is_held(const struct job *job)
{
    return job_is_held_on_request(job) || job_is_held_for_requeues(job);
}

bool
job_is_held_by_operator(const struct job *job)
{
    const char *by = annotation_of(job, ANNOTATION_HOLD);
    const char *owner = annotation_of(job, ANNOTATION_USER);

    if ((job->spec.suspend && annotation_of(job, ANNOTATION_HELD_BY) != NULL)
        || job_find_freezer(job) != NULL)
        return true;
    return by != NULL && (owner == NULL || strcmp(by, owner) != 0);
}

static enum job_state
find_ending(const struct job *job, const struct job_condition *failed)
{
    const struct job_run *run = job->status.last_run;

    return job_state_of_failure(failed->reason, run != NULL ? run->reason : NULL);
}

/* The state of a Job without known pods. */
static enum job_state
find_plain_state(const struct job *job)
{
    if (job->status.ready > 0)
        return JOB_STATE_RUNNING;
    if (job->status.terminating > 0)
        return JOB_STATE_ENDING;
    return JOB_STATE_PENDING;
}

enum job_state
job_find_state(const struct job *job)
{
    const struct job_condition *failed = job_find_condition(job, "Failed");
    enum job_state state = job_state_of_name(job->status.state);

    if (job_is_finished(job) && job_state_is_ended(state))
        return state;
    if (failed != NULL)
        return find_ending(job, failed);
    if (job_is_finished(job))
        return JOB_STATE_COMPLETED;
    if (job->meta.deleted_at_us != 0 || job_find_condition(job, "FailureTarget") != NULL
        || job_find_order(job) != NULL || job_find_condition(job, "SuccessCriteriaMet") != NULL)
        return JOB_STATE_ENDING;
    if (state == JOB_STATE_NONE || job_state_is_ended(state)
        || (state == JOB_STATE_HELD && !job_is_held(job)))
        state = find_plain_state(job);
    if (job_state_words(state)->class == JOB_STATE_WAITS && job_is_held(job))
        return JOB_STATE_HELD;
    return state;
}

int
job_exit_code(const struct job *job)
{
    enum job_state state = job_find_state(job);
    const int64_t *own = job->status.exit_code;

    if (state == JOB_STATE_COMPLETED)
        return 0;
    if (own != NULL && (*own & 0xff) != 0)
        return (int)(*own & 0xff);
    return state == JOB_STATE_FAILED ? 1 : EXIT_CODE_KILLED;
}

const char *
job_find_user(const struct job *job)
{
    const char *user = string_map_find(&job->meta.annotations, ANNOTATION_USER);

    return user != NULL ? user : "";
}

int64_t
job_eligible_at_us(const struct job *job)
{
    const char *text = string_map_find(&job->meta.annotations, ANNOTATION_ELIGIBLE_AT);
    int64_t since_us;

    if (text == NULL || time_parse(text, &since_us) < 0)
        since_us = job->meta.created_at_us;
    if (job->status.dependencies != NULL && job->status.dependencies->met_at_us > since_us)
        since_us = job->status.dependencies->met_at_us;
    return job->spec.begin_at_us > since_us ? job->spec.begin_at_us : since_us;
}

int64_t
job_ended_at_us(const struct job *job)
{
    const struct job_condition *end = job_find_condition(job, "Complete");

    if (end == NULL)
        end = job_find_condition(job, "Failed");
    return end != NULL ? end->last_transition_at_us : 0;
}
