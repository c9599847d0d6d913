/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_state.h"

#include <string.h>
#include <strings.h>

#include "lib/api/job/job.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/base/macro.h"

/* Slurm has no state for a hold or for a node that does not report: such jobs
 * are PENDING and RUNNING there, too.
 */
static const struct job_state_words states[JOB_STATE_COUNT] = {
    [JOB_STATE_NONE] = {"", "", "", JOB_STATE_WAITS},
    [JOB_STATE_PENDING] = {"Pending", "PD", "PENDING", JOB_STATE_WAITS},
    [JOB_STATE_HELD] = {"Held", "PD", "PENDING", JOB_STATE_WAITS},
    [JOB_STATE_REQUEUED] = {"Requeued", "RQ", "REQUEUED", JOB_STATE_WAITS},
    [JOB_STATE_STARTING] = {"Starting", "CF", "CONFIGURING", JOB_STATE_RUNS},
    [JOB_STATE_RUNNING] = {"Running", "R", "RUNNING", JOB_STATE_RUNS},
    [JOB_STATE_FROZEN] = {"Frozen", "S", "SUSPENDED", JOB_STATE_RUNS},
    [JOB_STATE_UNKNOWN] = {"Unknown", "R", "RUNNING", JOB_STATE_RUNS},
    [JOB_STATE_ENDING] = {"Ending", "CG", "COMPLETING", JOB_STATE_RUNS},
    [JOB_STATE_COMPLETED] = {"Completed", "CD", "COMPLETED", JOB_STATE_GOOD_END},
    [JOB_STATE_FAILED] = {"Failed", "F", "FAILED", JOB_STATE_BAD_END},
    [JOB_STATE_TIMED_OUT] = {"TimedOut", "TO", "TIMEOUT", JOB_STATE_BAD_END},
    [JOB_STATE_OUT_OF_MEMORY] = {"OutOfMemory", "OOM", "OUT_OF_MEMORY", JOB_STATE_BAD_END},
    [JOB_STATE_NODE_FAILED] = {"NodeFailed", "NF", "NODE_FAIL", JOB_STATE_BAD_END},
    [JOB_STATE_PREEMPTED] = {"Preempted", "PR", "PREEMPTED", JOB_STATE_STOPPED},
    [JOB_STATE_CANCELLED] = {"Cancelled", "CA", "CANCELLED", JOB_STATE_STOPPED},
    [JOB_STATE_DEADLINE] = {"Deadline", "DL", "DEADLINE", JOB_STATE_BAD_END},
};

const struct job_state_words *
job_state_words(enum job_state state)
{
    return &states[state < JOB_STATE_COUNT ? state : JOB_STATE_NONE];
}

enum job_state
job_state_of_name(const char *name)
{
    for (unsigned i = JOB_STATE_PENDING; name != NULL && i < JOB_STATE_COUNT; i++)
        if (strcmp(states[i].name, name) == 0)
            return (enum job_state)i;
    return JOB_STATE_NONE;
}

/* PD matches all waiting states, including that of a requeued job. */
static bool
has_code(const struct job_state_words *s, const char *word)
{
    return strcasecmp(s->code, word) == 0 || strcasecmp(s->long_code, word) == 0
           || (s->class == JOB_STATE_WAITS && strcasecmp("PD", word) == 0);
}

uint32_t
job_states_of_word(const char *word)
{
    uint32_t set = 0;

    for (unsigned i = JOB_STATE_PENDING; i < JOB_STATE_COUNT; i++) {
        const struct job_state_words *s = &states[i];

        if (strcasecmp(s->name, word) == 0)
            return JOB_STATE_BIT(i);
        if (has_code(s, word))
            set |= JOB_STATE_BIT(i);
    }
    return set;
}

struct reason {
    const char *word;
    enum job_state state;
};

static enum job_state
find_reason(const struct reason *reasons, size_t count, const char *word)
{
    for (size_t i = 0; word != NULL && i < count; i++)
        if (strcmp(reasons[i].word, word) == 0)
            return reasons[i].state;
    return JOB_STATE_NONE;
}

enum job_state
job_state_of_failure(const char *condition_reason, const char *run_reason)
{
    static const struct reason of_condition[] = {
        {REASON_CANCELLED, JOB_STATE_CANCELLED},
        {REASON_DEADLINE_EXCEEDED, JOB_STATE_DEADLINE},
        {REASON_DEPENDENCY_NEVER_SATISFIED, JOB_STATE_CANCELLED},
    };
    static const struct reason of_run[] = {
        {REASON_DEADLINE_EXCEEDED, JOB_STATE_TIMED_OUT},
        {"Evicted", JOB_STATE_PREEMPTED},
        {REASON_NODE_LOST, JOB_STATE_NODE_FAILED},
        {REASON_NODE_REBOOTED, JOB_STATE_NODE_FAILED},
        {REASON_NODE_SHUTDOWN, JOB_STATE_NODE_FAILED},
        {REASON_OOM_KILLED, JOB_STATE_OUT_OF_MEMORY},
        {REASON_POD_DELETED, JOB_STATE_CANCELLED},
        {"Preempted", JOB_STATE_PREEMPTED},
        {REASON_SHEPHERD_LOST, JOB_STATE_NODE_FAILED},
    };
    enum job_state state = find_reason(of_condition, ARRAY_SIZE(of_condition), condition_reason);

    if (state == JOB_STATE_NONE)
        state = find_reason(of_run, ARRAY_SIZE(of_run), run_reason);
    return state != JOB_STATE_NONE ? state : JOB_STATE_FAILED;
}
