/* SPDX-License-Identifier: Apache-2.0 */
/* job_log.h - a log of jobs in the Standard Workload Format
 *
 * There are eighteen columns per line; lines that begin with ';' are comments.
 * Processors are column 8, else 5; the time limit is column 9, else the run
 * time; a job runs min(run time, limit) seconds. Jobs without run time or
 * processors, or wider than the machine, are dropped.
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
    int64_t start_s; /* -1: not started */
};

/* In order of submission, then of ids. */
struct job_log {
    struct log_job *jobs;
    size_t count, capacity;
    size_t n_dropped;
};

/* Life. job_log_read reads a path that ends in ".gz" through gzip. -EINVAL with
 * the line of the first error.
 */
void job_log_fini(struct job_log *log);
int job_log_read(struct job_log *log, const char *path, unsigned max_procs, struct error *err);

/* Change. Call job_log_sort after adding jobs. */
void job_log_add(struct job_log *log, const struct log_job *job);
void job_log_sort(struct job_log *log);

/* job_log_write writes the log itself, for that many processors;
 * job_log_write_schedule the resulting schedule: a header, then
 * id,submit,start,end,procs.
 */
int job_log_write(const struct job_log *log, const char *path, unsigned max_procs,
                  struct error *err);
int job_log_write_schedule(const struct job_log *log, const char *path, struct error *err);
