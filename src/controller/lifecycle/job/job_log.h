/* SPDX-License-Identifier: Apache-2.0 */
/* job_log.h - log lines for the start and end of a job's processes, and for the
 * end of the Job
 *
 * One line each, at the level info. The lines follow watch events: changes that
 * happened while no controller ran are not logged.
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

struct object;

/* A pod of a Job, or a Job, has changed; old may be NULL. */
void job_log_pod(const struct object *old_pod, const struct object *new_pod);
void job_log_job(const struct object *old_job, const struct object *new_job);
