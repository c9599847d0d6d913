/* SPDX-License-Identifier: Apache-2.0 */
/* job_report.h - the changes of a Job's status, as a merge patch
 *
 * Each call adds the fields that differ from the Job's present status; all
 * conditions are written if one of them changes.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/job/job_state.h"

struct arena;
struct dependency_answer;
struct job;
struct job_pod_counts;
struct job_verdict;
struct json;

/* The event to record when the status is written; reason NULL: none. */
struct job_event {
    bool is_warning;
    const char *reason;
    const char *message;
};

struct job_report {
    struct arena *arena;
    const struct job *job;
    int64_t now_us;
    struct json *status;     /* the patch; without members: no change */
    struct json *conditions; /* NULL: none has changed */
    bool is_urgent;          /* more than counts has changed */
    struct job_event event;
};

/* The event for a new Job, by the status that the API server gave it. Its texts
 * are in the arena or static.
 */
struct job_event job_report_new(struct arena *arena, const struct job *job);

struct job_report job_report(struct arena *arena, const struct job *job, int64_t now_us);

/* Sets the counts of the pods, and the last run. */
void job_report_counts(struct job_report *r, const struct job_pod_counts *counts);

/* Sets the start time to `began_us`, or to now if that is 0; does nothing if the status has
 * one.
 */
void job_report_start(struct job_report *r, int64_t began_us);

/* Records an order to end, before the pods that it ends are over (FailureTarget, False). */
void job_report_order(struct job_report *report, const struct job_verdict *verdict);

/* Sets the condition of the verdict. */
void job_report_verdict(struct job_report *r, const struct job_verdict *v);

/* Sets the final condition, when no pod is left. */
void job_report_end(struct job_report *r, const struct job_verdict *v);

/* For an ended array: its tasks that never started. */
void job_report_unstarted(struct job_report *r, const struct job_pod_counts *counts);

/* Adds the state. A new Job that only waits gets no write for its state alone.
 * Yields_to: the job for which its pods are frozen, or NULL.
 */
void job_report_state(struct job_report *r, enum job_state state, const char *yields_to);

/* Why its pods cannot be created, from the API's message; NULL: they can. */
void job_report_refusal(struct job_report *r, const char *refusal);

/* The ends of jobs that it waits for, and when its dependencies were met; 0: it
 * still waits. The answer may be NULL.
 */
void job_report_dependencies(struct job_report *r, const struct dependency_answer *answer,
                             int64_t met_at_us);

void job_report_suspended(struct job_report *r, bool is_suspended);
/* The job is held because it was interrupted more often than `maximum`. */
void job_report_excess(struct job_report *r, int64_t interrupted, int64_t maximum);
void job_report_requeued(struct job_report *r, int64_t before);
