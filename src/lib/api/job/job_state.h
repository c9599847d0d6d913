/* SPDX-License-Identifier: Apache-2.0 */
/* job_state.h - the states of a Job, in the field's words
 *
 * One word for each, the same wherever a person or a program reads it:
 * Job.status.state, tables, `ksub --wait`, selectors. Slurm's codes stand
 * beside them, for people and scripts that know these.
 *
 * Thread:  any; pure functions.
 * See: kiln-states(7), for what each means and when a Job has it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Add one among its like: the endings come last. */
enum job_state {
    JOB_STATE_NONE, /* not known: written by another controller, or not yet */
    JOB_STATE_PENDING,
    JOB_STATE_HELD,
    JOB_STATE_REQUEUED,
    JOB_STATE_STARTING,
    JOB_STATE_RUNNING,
    JOB_STATE_FROZEN,  /* stopped while it runs; it keeps its place */
    JOB_STATE_UNKNOWN, /* its node is silent */
    JOB_STATE_ENDING,
    JOB_STATE_COMPLETED, /* the first ending */
    JOB_STATE_FAILED,
    JOB_STATE_TIMED_OUT, /* over its time limit */
    JOB_STATE_OUT_OF_MEMORY,
    JOB_STATE_NODE_FAILED,
    JOB_STATE_PREEMPTED,
    JOB_STATE_CANCELLED,
    JOB_STATE_DEADLINE, /* over its deadline, waiting included */
    JOB_STATE_COUNT
};

/* The kind of a state, for colours and for sorting. */
enum job_state_class {
    JOB_STATE_WAITS,
    JOB_STATE_RUNS,
    JOB_STATE_GOOD_END,
    JOB_STATE_BAD_END,
    JOB_STATE_STOPPED, /* ended by somebody's decision, by no fault of its own */
};

struct job_state_words {
    const char *name;      /* "TimedOut"; "" for JOB_STATE_NONE */
    const char *code;      /* Slurm's short one, "TO" */
    const char *long_code; /* Slurm's long one, "TIMEOUT" */
    enum job_state_class class;
};

/* The words of a state; never NULL. */
const struct job_state_words *job_state_words(enum job_state state);

/* A set of states has bit 1 << state of each. */
#define JOB_STATE_BIT(state) (UINT32_C(1) << (state))
#define JOB_STATES_ENDED \
    (JOB_STATE_BIT(JOB_STATE_COUNT) - JOB_STATE_BIT(JOB_STATE_COMPLETED))
#define JOB_STATES_ACTIVE \
    (JOB_STATE_BIT(JOB_STATE_COMPLETED) - JOB_STATE_BIT(JOB_STATE_PENDING))

static inline bool
job_state_is_ended(enum job_state state)
{
    return state >= JOB_STATE_COMPLETED;
}

/* The state of exactly that name, as it stands in status.state; NONE for NULL
 * and for a word of a later release.
 */
enum job_state job_state_of_name(const char *name);

/* The states that a person means by a word in any case: a name ("timedout"), or
 * one of Slurm's codes, which may be that of several states ("PD": all that
 * wait). 0: it is no such word.
 */
uint32_t job_states_of_word(const char *word);

/* How a Job has ended whose condition Failed has that reason, where that tells;
 * else by the reason of its last run (status.lastRun). Either may be NULL.
 */
enum job_state job_state_of_failure(const char *condition_reason,
                                    const char *run_reason);
