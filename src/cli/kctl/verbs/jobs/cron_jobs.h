/* SPDX-License-Identifier: Apache-2.0 */
/* cron_jobs.h - kctl jobs --cron, and kctl hold, release and cancel of CronJobs
 *
 * Hold and release set spec.suspend. Cancel deletes the CronJob, without the
 * Jobs that it has created, and returns those that have not ended.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct error;
struct kctl;

enum cron_jobs_verb { CRON_JOBS_HOLD, CRON_JOBS_RELEASE, CRON_JOBS_CANCEL };

/* Removes the CronJobs from the operands: "cronjob/NAME", all operands after a
 * first one that is the type, and a plain name that is that of a CronJob and of
 * no Job. *ret_names has their *ret_count names, in the arena.
 */
int cron_jobs_take(struct kctl *kctl, int *n_operands, char **operands, struct arena *arena,
                   const char ***ret_names, size_t *ret_count, struct error *err);

/* Changes each CronJob and prints the result. All are attempted; the error is
 * that of the first failure. Cancel: *ret_jobs has the names of the *ret_n_jobs
 * Jobs to cancel.
 */
int cron_jobs_change(struct kctl *kctl, const char *const *names, size_t count,
                     enum cron_jobs_verb verb, struct arena *arena, char ***ret_jobs,
                     size_t *ret_n_jobs, struct error *err);

struct cron_jobs_list {
    const char *user;      /* NULL: all users' */
    const char *namespace; /* NULL: all */
    bool no_headings;
};

/* Prints the CronJobs as a table. */
int cron_jobs_print(struct kctl *kctl, const struct cron_jobs_list *list, struct error *err);
