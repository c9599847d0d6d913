/* SPDX-License-Identifier: Apache-2.0 */
/* log_model.h - logs that nobody has tuned a policy on
 *
 * Made of Lublin's and Feitelson's model of jobs and of the day, with users who
 * repeat their jobs, jobs that crash and limits as people write them; or drawn
 * anew from a real log, user by user or week by week, or with other widths. The
 * same seed makes the same log.
 *
 * Thread:  one at a time.
 * Source:  U. Lublin, D. G. Feitelson, "The workload on parallel
 *          supercomputers", JPDC 63, 2003 (jobs of one type).
 */
#pragma once

#include <stdint.h>

struct job_log;
struct random_source;

/* Each adds to an empty log. Copies: of each user. Weeks: drawn, all of the
 * source's length; factor: of the widths.
 */
void log_model_lublin(struct job_log *log,
                      struct random_source *random,
                      unsigned jobs,
                      unsigned procs);
void log_model_users(struct job_log *log,
                     struct random_source *random,
                     const struct job_log *source,
                     unsigned copies,
                     unsigned procs);
void log_model_weeks(struct job_log *log,
                     struct random_source *random,
                     const struct job_log *source,
                     unsigned weeks);
void log_model_scale(struct job_log *log,
                     const struct job_log *source,
                     double factor,
                     unsigned procs);

/* Sorts it, begins it at 0, and stretches the submissions until the jobs take so
 * much of the processors; 0: leaves them.
 */
void log_model_load(struct job_log *log, double load, unsigned procs);
