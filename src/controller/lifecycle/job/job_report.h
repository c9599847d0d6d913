/* SPDX-License-Identifier: Apache-2.0 */
/* job_report.h - the changes of a Job's status, as a merge patch
 *
 * Each call adds what differs from the status that the Job has; conditions
 * are written as a whole once one of them changes.
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

/* The event to record when the status is written; without a reason: none. */
struct job_event {
    bool is_warning;
    const char *reason;
    const char *message;
};

struct job_report {
    struct arena *arena;
    const struct job *job;
    int64_t now_us;
    struct json *status;     /* the patch; with no members: no change */
    struct json *conditions; /* NULL: none has changed */
    bool is_urgent;          /* more than counts has changed */
    struct job_event event;
};

/* The event of a Job that has come just now with the status that the API gave it;
 * its texts are in the arena, or last.
 */
struct job_event job_report_new(struct arena *arena, const struct job *job);

struct job_report
job_report(struct arena *arena, const struct job *job, int64_t now_us);

/* The counts of the pods, and how the last one has run. Start: since
 * `began_us`, or, where that is 0, now; nothing when the status says it
 * already.
 */
void job_report_counts(struct job_report *r,
                       const struct job_pod_counts *counts);
void job_report_start(struct job_report *r, int64_t began_us);

/* The verdict; then, when no pod is left, the end. */
void job_report_verdict(struct job_report *r, const struct job_verdict *v);
void job_report_end(struct job_report *r, const struct job_verdict *v);

/* With the end of an array: its tasks that never started. */
void job_report_unstarted(struct job_report *r, const struct job_pod_counts *t);

/* The state, which is not worth a write of its own as long as a Job that is new
 * only waits. Yields to: for whom its pods stand still, if they do, or NULL.
 */
void job_report_state(struct job_report *r,
                      enum job_state state,
                      const char *yields_to);

/* Why its pods cannot be made, by the API's words; NULL: they can. */
void job_report_refusal(struct job_report *r, const char *refusal);

/* The news of the jobs that it waits for: when nothing was left of that, 0:
 * it still waits. The answer may be NULL.
 */
void job_report_dependencies(struct job_report *r,
                             const struct dependency_answer *answer,
                             int64_t met_at_us);

void job_report_suspended(struct job_report *r, bool is_suspended);
/* It is held: it was interrupted so often, and may start anew less often. */
void
job_report_excess(struct job_report *r, int64_t interrupted, int64_t maximum);
void job_report_requeued(struct job_report *r, int64_t before);
