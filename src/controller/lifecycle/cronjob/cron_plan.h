/* SPDX-License-Identifier: Apache-2.0 */
/* cron_plan.h - what a CronJob needs now: a Job to be made, Jobs to be removed,
 * another status, and when to look again
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

/* More times that were missed are told as too many. */
#define CRON_MISSED_MAX 100u

struct cron_situation {
    const struct object *cron_job;
    const struct object *const *jobs; /* all that it controls */
    size_t n_jobs;
    int64_t now_s;
    int64_t last_s;       /* a time that a Job was made for; 0: not known */
    int64_t not_before_s; /* times up to this are none of the schedule's */
    const struct time_zone *zone;
};

struct cron_plan {
    struct json *status;         /* what it is to be; NULL: as it is */
    const struct object **ended; /* listed as active, and have ended */
    size_t n_ended;
    const struct object **remove;
    size_t n_remove;
    int64_t due_s;       /* the Job of that time is to be made; 0: none */
    bool is_too_late;    /* it is not, for want of time */
    bool is_waiting;     /* it is not, while another goes on (Forbid) */
    unsigned missed;     /* times, CRON_MISSED_MAX + 1 at most */
    int64_t wake_s;      /* look again then; 0: never */
    const char *mistake; /* in the schedule; or NULL */
};

void cron_plan_make(const struct cron_situation *situation,
                    struct arena *arena,
                    struct cron_plan *ret_plan);

/* The Job of that time. */
struct json *cron_plan_job(const struct object *cron_job,
                           const struct time_zone *zone,
                           int64_t at_s,
                           struct arena *arena);
