/* SPDX-License-Identifier: Apache-2.0 */
/* cron_plan.h - what a CronJob needs now: a Job to create, Jobs to delete, a
 * new status, and when to plan again
 *
 * Thread:  any; the arena's.
 * Source:  k8s.io/kubernetes/pkg/controller/cronjob of 1.32.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct json;
struct object;
struct time_zone;

/* If more scheduled times than this were missed, the CronJob gets an event that
 * there were too many.
 */
#define CRON_MISSED_MAX 100u

struct cron_situation {
    const struct object *cron_job;
    const struct object *const *jobs; /* all Jobs that the CronJob controls */
    size_t n_jobs;
    int64_t now_s;
    int64_t last_s;       /* last time that a Job was created for; 0: not
                           * known */
    int64_t not_before_s; /* scheduled times up to this one do not count */
    const struct time_zone *zone;
};

struct cron_plan {
    struct json *status;         /* the new status; NULL: it stays as it is */
    const struct object **ended; /* ended Jobs that the status lists as
                                  * active */
    size_t n_ended;
    const struct object **remove;
    size_t n_remove;
    int64_t due_s;       /* create the Job of that time; 0: none */
    bool is_too_late;    /* the Job is not created: its starting deadline
                          * passed */
    bool is_waiting;     /* the Job is not created: another one runs (Forbid) */
    unsigned missed;     /* scheduled times; at most CRON_MISSED_MAX + 1 */
    int64_t wake_s;      /* plan again then; 0: never */
    const char *mistake; /* error in the schedule, or NULL */
};

void cron_plan_make(const struct cron_situation *situation, struct arena *arena,
                    struct cron_plan *ret_plan);

/* The Job for the scheduled time `at_s`. */
struct json *cron_plan_job(const struct object *cron_job, const struct time_zone *zone,
                           int64_t at_s, struct arena *arena);
