/* SPDX-License-Identifier: Apache-2.0 */
/* failure_policy.h - what the failure of a pod means for its Job: pure
 * functions
 *
 * The first rule of spec.podFailurePolicy that matches decides, by the exit
 * code of the pod's process or by the conditions of the pod. A process that was
 * killed by signal N has the exit code 128 + N.
 *
 * Thread:  any; pure functions.
 * See: upstream's podFailurePolicy of 1.32.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct job;
struct pod;

enum failure_action {
    FAILURE_COUNTS,     /* towards backoffLimit; also if no rule matches */
    FAILURE_IS_IGNORED, /* another attempt; the failure does not count */
    FAILURE_ENDS_INDEX,
    FAILURE_ENDS_JOB,
};

struct failure_ruling {
    enum failure_action action;
    int rule; /* -1: none matches */
};

struct failure_ruling failure_policy_judge(const struct job *job, const struct pod *pod);

/* Of a pod that is gone, of which only the exit code is known. */
bool failure_policy_ignores_code(const struct job *job, int64_t code);

/* The message why the Job has failed, in upstream's words; in the arena. */
const char *failure_policy_explain(const struct job *job, const struct pod *pod, int rule,
                                   struct arena *arena);
