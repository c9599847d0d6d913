/* SPDX-License-Identifier: Apache-2.0 */
/* job_verdict.h - whether a Job has ended, and how: pure functions
 *
 * A verdict that is in the status (SuccessCriteriaMet, FailureTarget) is not
 * changed by later events; the Job has ended (Complete, Failed) when none of
 * its pods is left running.
 *
 * Thread:  any; pure functions.
 * See: upstream's completions, backoffLimit, backoffLimitPerIndex,
 * maxFailedIndexes, podFailurePolicy, successPolicy and activeDeadlineSeconds
 * of 1.32, and ANNOTATION_CANCEL.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct job;
struct job_pod_counts;

enum job_outcome { JOB_GOES_ON, JOB_COMPLETE, JOB_FAILED };

struct job_verdict {
    enum job_outcome outcome;
    const char *reason;  /* borrowed from the Job, or static */
    const char *message; /* likewise, or from the counts, or in the arena */
    bool is_order;       /* to end the pods: written when they have ended, if it ended them */
};

struct job_verdict job_judge(const struct job *job, const struct job_pod_counts *counts,
                             int64_t now_us, struct arena *arena);

/* Whether the Job's status already says how it ends. */
bool job_has_verdict(const struct job *job);

/* The last time, by spec.deadline, at which the Job can still go on: the
 * deadline, or, while nothing has started, the deadline less the time limit. 0:
 * the Job has no deadline.
 */
int64_t job_latest_start_us(const struct job *job, const struct job_pod_counts *counts);

/* How many of the Job's pods must succeed, and how many may run at a time. */
bool job_is_indexed(const struct job *job);
bool job_is_work_queue(const struct job *job);
int64_t job_completions(const struct job *job);
int64_t job_parallelism(const struct job *job);

/* How many elements of an array were cancelled, including those that never had
 * a pod.
 */
int64_t job_verdict_count_cancelled(const struct job *job, const struct job_pod_counts *counts);
