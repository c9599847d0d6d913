/* SPDX-License-Identifier: Apache-2.0 */
/* cron_job.h - jobs that are created again and again, by a schedule
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/api/job/job.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object_reference.h"

struct job_template {
    struct job_spec spec; /* its metadata is only in the tree */
};

struct cron_job_spec {
    const char *schedule;
    const char *time_zone; /* NULL: the controller's time zone */
    const int64_t *starting_deadline_s;
    const char *concurrency_policy; /* Allow, Forbid, Replace */
    bool suspend;
    struct job_template job_template;
    const int64_t *successful_jobs_limit;
    const int64_t *failed_jobs_limit;
};

struct cron_job_status {
    LIST_OF(struct object_reference) active;
    int64_t last_schedule_at_us;
    int64_t last_successful_at_us;
};

struct cron_job {
    struct meta meta;
    struct cron_job_spec spec;
    struct cron_job_status status;
};

extern const struct record cron_job_record;

/* On a CronJob's Jobs: the time at which they were due, in the schedule's zone.
 */
#define ANNOTATION_SCHEDULED "batch.kubernetes.io/cronjob-scheduled-timestamp"

const struct cron_job *cron_job_of(const struct object *object);

/* The name of the Job for a time, as in upstream: NAME-MINUTES; and the time of
 * such a name, 0 for any other name.
 */
#define CRON_JOB_NAME_SIZE 320
void cron_job_name_job(const char *name, int64_t at_s, char out[CRON_JOB_NAME_SIZE]);
int64_t cron_job_time_of_name_s(const char *name, const char *job_name);
