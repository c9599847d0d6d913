/* SPDX-License-Identifier: Apache-2.0 */
/* job_log.h - a log of jobs in the Standard Workload Format
 *
 * Eighteen columns a line; lines that begin with ';' are comments. Processors
 * are column 8, else 5; the time limit is column 9, else the run time; a job
 * runs min(run time, limit) seconds. Jobs without run time or processors are
 * dropped, as are those wider than the machine.
 *
 * Owns:    its jobs.
 * Thread:  one at a time.
 * See:     Feitelson, Parallel Workloads Archive, "The standard workload
 *          format".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct error;

struct log_job {
    int64_t id;       /* as in the log */
    int64_t submit_s; /* the first second of the log is 0 */
    int64_t run_s;
    int64_t limit_s;
    int64_t user; /* -1: unknown */
    unsigned procs;
    int64_t start_s; /* -1: it has not started */
};

/* In order of submission, then of their ids. */
struct job_log {
    struct log_job *jobs;
    size_t count, capacity;
    size_t n_dropped;
};

/* Life. Read: a path that ends in ".gz" goes through gzip. -EINVAL with the
 * line of the first mistake.
 */
void job_log_fini(struct job_log *log);
int job_log_read(struct job_log *log,
                 const char *path,
                 unsigned max_procs,
                 struct error *err);

/* Change. Sort: after jobs were added. */
void job_log_add(struct job_log *log, const struct log_job *job);
void job_log_sort(struct job_log *log);

/* Write: the log itself, for so many processors; or the schedule that came to
 * be: a header, then id,submit,start,end,procs.
 */
int job_log_write(const struct job_log *log,
                  const char *path,
                  unsigned max_procs,
                  struct error *err);
int job_log_write_schedule(const struct job_log *log,
                           const char *path,
                           struct error *err);
