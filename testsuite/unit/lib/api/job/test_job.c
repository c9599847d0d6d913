/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job.h"

#include <check.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

static const struct object *
parse(const char *meta, const char *spec, const char *status)
{
    const struct object *job = NULL;
    struct error err = {0};
    CLEANUP_FREE char *text = xasprintf("{\"metadata\":{\"name\":\"j\"%s},"
                                        "\"spec\":{\"template\":{}%s},\"status\":{%s}}",
                                        meta, spec, status);

    ck_assert_msg(object_parse(&job_kind, text, strlen(text), &job, &err) == 0, "%s: %s", text,
                  err.text);
    return job;
}

#define CONDITION(type, reason)                                   \
    "\"conditions\":[{\"type\":\"" type "\",\"status\":\"True\"," \
    "\"reason\":\"" reason "\"}]"
#define LAST_RUN(reason) ",\"lastRun\":{\"reason\":\"" reason "\"}"
#define HOLD             ",\"annotations\":{\"kiln.hpc/hold\":\"alice\"}"
#define BACKOFF          CONDITION("Failed", "BackoffLimitExceeded")

/* Includes objects that a former release has stored, without a state. */
START_TEST(every_reader_sees_the_same_state)
{
    static const struct {
        const char *meta, *spec, *status;
        enum job_state state;
        int exit_code;
    } cases[] = {
        {"", "", "", JOB_STATE_PENDING, 0},
        {"", "", "\"state\":\"Pending\"", JOB_STATE_PENDING, 0},
        {"", "", "\"state\":\"Requeued\"", JOB_STATE_REQUEUED, 0},
        {"", "", "\"state\":\"Starting\"", JOB_STATE_STARTING, 0},
        {"", "", "\"state\":\"Frozen\"", JOB_STATE_FROZEN, 0},
        {"", "", "\"state\":\"Unknown\"", JOB_STATE_UNKNOWN, 0},
        {"", "", "\"state\":\"OfLater\",\"ready\":1", JOB_STATE_RUNNING, 0},
        {"", "", "\"ready\":1", JOB_STATE_RUNNING, 0},
        {"", "", "\"terminating\":1", JOB_STATE_ENDING, 0},
        {"", ",\"suspend\":true", "", JOB_STATE_HELD, 0},
        {"", ",\"suspend\":true", "\"state\":\"Pending\"", JOB_STATE_HELD, 0},
        {"", ",\"suspend\":true", "\"state\":\"Running\"", JOB_STATE_RUNNING, 0},
        {"", "", "\"state\":\"Held\"", JOB_STATE_PENDING, 0},
        {HOLD, "", "", JOB_STATE_HELD, 0},
        {HOLD, "", "\"state\":\"Requeued\"", JOB_STATE_HELD, 0},
        {HOLD, "", "\"state\":\"Starting\"", JOB_STATE_STARTING, 0},
        {HOLD, "", CONDITION("Complete", ""), JOB_STATE_COMPLETED, 0},
        {"", "", "\"state\":\"Running\"," CONDITION("FailureTarget", "Cancelled"), JOB_STATE_ENDING,
         0},
        {",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"", "", "\"state\":\"Running\"",
         JOB_STATE_ENDING, 0},
        {"", "", CONDITION("Complete", ""), JOB_STATE_COMPLETED, 0},
        {"", "", "\"exitCode\":3," CONDITION("Complete", ""), JOB_STATE_COMPLETED, 0},
        {"", "", "\"exitCode\":3," BACKOFF, JOB_STATE_FAILED, 3},
        {"", "", "\"exitCode\":256," BACKOFF, JOB_STATE_FAILED, 1},
        {"", "", BACKOFF, JOB_STATE_FAILED, 1},
        {"", "", "\"exitCode\":0," BACKOFF LAST_RUN("OOMKilled"), JOB_STATE_OUT_OF_MEMORY, 137},
        {"", "", "\"exitCode\":143," BACKOFF LAST_RUN("DeadlineExceeded"), JOB_STATE_TIMED_OUT,
         143},
        {"", "", BACKOFF LAST_RUN("NodeLost"), JOB_STATE_NODE_FAILED, 137},
        {"", "", BACKOFF LAST_RUN("Preempted"), JOB_STATE_PREEMPTED, 137},
        {"", "", CONDITION("Failed", "Cancelled") LAST_RUN("OOMKilled"), JOB_STATE_CANCELLED, 137},
        {"", "", CONDITION("Failed", "DeadlineExceeded"), JOB_STATE_DEADLINE, 137},
        {"", "", "\"state\":\"OutOfMemory\"," BACKOFF LAST_RUN("Error"), JOB_STATE_OUT_OF_MEMORY,
         137},
        {"", "", "\"state\":\"Running\"," BACKOFF LAST_RUN("Error"), JOB_STATE_FAILED, 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(object_unrefp)
        const struct object *object = parse(cases[i].meta, cases[i].spec, cases[i].status);
        const struct job *job = job_of(object);

        ck_assert_msg(job_find_state(job) == cases[i].state, "%zu: %s", i,
                      job_state_words(job_find_state(job))->name);
        if (job_is_finished(job))
            ck_assert_msg(job_exit_code(job) == cases[i].exit_code, "%zu: %d", i,
                          job_exit_code(job));
    }
}
END_TEST

SUITE("job", every_reader_sees_the_same_state)
