/* SPDX-License-Identifier: Apache-2.0 */
/* job_state.h - the states of a Job, in the terms of batch systems
 *
 * One word for each state, the same for people and programs: Job.status.state,
 * tables, `ksub --wait`, selectors. Slurm's codes are listed too, for people
 * and scripts that know these.
 *
 * Thread:  any; pure functions.
 * See: kiln-states(7) for what each state means and when a Job has it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Keep the order when adding a state: the final states come last. */
enum job_state {
    JOB_STATE_NONE, /* unknown: other controller, or not yet written */
    JOB_STATE_PENDING,
    JOB_STATE_HELD,
    JOB_STATE_REQUEUED,
    JOB_STATE_STARTING,
    JOB_STATE_RUNNING,
    JOB_STATE_FROZEN,  /* suspended while running; keeps its node */
    JOB_STATE_UNKNOWN, /* its node does not report */
    JOB_STATE_ENDING,
    JOB_STATE_COMPLETED, /* the first final state */
    JOB_STATE_FAILED,
    JOB_STATE_TIMED_OUT, /* over its time limit */
    JOB_STATE_OUT_OF_MEMORY,
    JOB_STATE_NODE_FAILED,
    JOB_STATE_PREEMPTED,
    JOB_STATE_CANCELLED,
    JOB_STATE_DEADLINE, /* over its deadline, pending time included */
    JOB_STATE_COUNT
};

/* The kind of a state, for colours and for sorting. */
enum job_state_class {
    JOB_STATE_WAITS,
    JOB_STATE_RUNS,
    JOB_STATE_GOOD_END,
    JOB_STATE_BAD_END,
    JOB_STATE_STOPPED, /* ended by a decision, not by its own fault */
};

struct job_state_words {
    const char *name;      /* Slurm's short code, "TO" */
    const char *code;      /* Slurm's long code, "TIMEOUT" */
    const char *long_code; /* Slurm's long one, "TIMEOUT" */
    enum job_state_class class;
};

/* The names of a state; never NULL. */
const struct job_state_words *job_state_words(enum job_state state);

/* In a set of states each state has the bit 1 << state. */
#define JOB_STATE_BIT(state) (UINT32_C(1) << (state))
#define JOB_STATES_ENDED     (JOB_STATE_BIT(JOB_STATE_COUNT) - JOB_STATE_BIT(JOB_STATE_COMPLETED))
#define JOB_STATES_ACTIVE    (JOB_STATE_BIT(JOB_STATE_COMPLETED) - JOB_STATE_BIT(JOB_STATE_PENDING))

static inline bool
job_state_is_ended(enum job_state state)
{
    return state >= JOB_STATE_COMPLETED;
}

/* The state of exactly that name, as in status.state; NONE for NULL and for a
 * name of a later release.
 */
enum job_state job_state_of_name(const char *name);

/* The states that a person means by a word, in any case: a name ("timedout") or
 * one of Slurm's codes, which may stand for several states ("PD": all waiting
 * states). 0: the word is unknown.
 */
uint32_t job_states_of_word(const char *word);

/* The final state of a Job whose condition Failed has that reason; if the
 * reason does not tell, the state follows from the reason of the last run
 * (status.lastRun). Either may be NULL.
 */
enum job_state job_state_of_failure(const char *condition_reason, const char *run_reason);
