/* SPDX-License-Identifier: Apache-2.0 */
/* mail_due.h - which mail about a Job is to be sent now
 *
 * A mail that was sent has a mark in the Job (ANNOTATION_MAILED), so that a controller
 * that starts again neither repeats nor forgets it. Events are read from the state
 * of the Job, not from changes, for changes may be missed.
 *
 * Thread: any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct job;

/* Mail about events that are older than this is not sent any more. */
#define MAIL_AGE_MOST_US (INT64_C(6) * 3600 * 1000000)

/* The run of a job that has a time limit; all 0: none. */
struct mail_run {
    int64_t began_us;
    int64_t limit_us;
    int64_t frozen_us;
};

struct mail_due {
    char mark[40];    /* "END" */
    const char *what; /* "Ended" */
    bool is_end;      /* else about an event before, though the job may have ended since */
};

/* Whether the run counts for any mail that the Job asks for. To find it, all pods of
 * the Job are looked at, which an array has many of.
 */
bool mail_due_needs_run(const struct job *job);

/* False: none is due; *ret_after_us is when one may be, without a change of the
 * Job (0: never).
 */
bool mail_due_find(const struct job *job, const struct mail_run *run, int64_t now_us,
                   struct mail_due *ret, int64_t *ret_after_us);

/* The value of the annotation with this mark in addition. */
const char *mail_due_add_mark(const struct job *job, const char *mark, struct arena *arena);
