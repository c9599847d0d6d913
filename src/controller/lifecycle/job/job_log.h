/* SPDX-License-Identifier: Apache-2.0 */
/* job_log.h - the daemon's log says when a job's process starts and ends, and
 * how the Job ended
 *
 * One line each, at the level info. Changes are the watch's: what happened
 * while no controller ran is not told.
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

struct object;

/* A pod of a Job, or the Job, was the first and is the second; old: may be
 * NULL.
 */
void job_log_pod(const struct object *old_pod, const struct object *new_pod);
void job_log_job(const struct object *old_job, const struct object *new_job);
