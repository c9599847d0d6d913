/* SPDX-License-Identifier: Apache-2.0 */
/* job_dependency.h - what a job waits for before it may begin: other jobs
 *
 * Written as Slurm's users write it, "afterok:1041:1042_3,after:1043+10": all of
 * them with commas, any one of them with "?". Tasks of an array are named by
 * their ids, never by indexes, and several are waited for as if they were a job
 * of their own. In the Job it is spec.dependencies, where admission adds the uid of each job that is named, so
 * that one of the same name or number that comes later is never meant.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/job/job_state.h"

struct arena;
struct error;
struct job;
struct job_dependencies;
struct job_dependency;
struct json;
struct strbuf;

/* More would be everybody's cost, for each is looked at when one ends. */
#define JOB_DEPENDENCIES_MOST 128u

/* The longest list of tasks of one of them, in bytes. */
#define JOB_DEPENDENCY_TASKS_MAX 1000

enum job_dependency_type {
    DEPENDENCY_NONE,
    DEPENDENCY_AFTER,    /* has started, or ended without */
    DEPENDENCY_ANY,      /* has ended */
    DEPENDENCY_CORR,     /* has completed; of arrays, element by element */
    DEPENDENCY_NOT_OK,   /* has ended, and not completed */
    DEPENDENCY_OK,       /* has completed */
    DEPENDENCY_SINGLETON /* the older jobs of its user and name have ended */
};

enum job_dependency_verdict {
    DEPENDENCY_WAITS,
    DEPENDENCY_IS_MET,
    DEPENDENCY_IS_NEVER_MET,
};

/* The spec.dependencies of a text, in the arena; NULL for one that is empty.
 * -EINVAL, -E2BIG, -EOPNOTSUPP.
 */
int job_dependency_parse(const char *text,
                         struct arena *arena,
                         struct json **ret_dependencies,
                         struct error *err);

/* The same of a stage of a pipeline, where names of stages stand for numbers:
 * "stage" has the name, in place of "job". A name alone is waited for by
 * afterok.
 */
int job_dependency_parse_stages(const char *text,
                                struct arena *arena,
                                struct json **ret_dependencies,
                                struct error *err);

/* A list of tasks in its shortest form, in the arena. -EINVAL: it is none, or
 * empty.
 */
int job_dependency_tidy_tasks(struct arena *arena,
                              const char **tasks,
                              struct error *err);

/* "1041", "1042_3", "1042_[3-9]"; "afterok:1041", "after:1041+10"; and all of
 * them, as they are written: at most so many bytes, and then "and 12 more".
 */
void job_dependency_format_job(const struct job_dependency *dependency,
                               struct strbuf *out);
void job_dependency_format(const struct job_dependency *dependency,
                           struct strbuf *out);
void job_dependencies_format(const struct job_dependencies *dependencies,
                             unsigned most_bytes,
                             struct strbuf *out);

enum job_dependency_type job_dependency_type_of(const char *word);
bool job_dependencies_any(const struct job_dependencies *dependencies);

/* Of a job, or tasks of it, that have ended in that state; not of a singleton. */
enum job_dependency_verdict
job_dependency_judge_end(enum job_dependency_type type, enum job_state state);

/* The state in which the job with that uid, or those tasks of it, has ended, as the Job that waits for
 * it has it noted; NONE: nothing is noted.
 */
enum job_state job_dependency_noted(const struct job *job,
                                    const struct job_dependency *dependency);

/* And when it started, real time; 0: nothing is noted. */
int64_t job_dependency_noted_start_us(const struct job *job,
                                      const struct job_dependency *dependency);

/* Whether nothing has been met yet for which it waits. Of one that has had a
 * pod all was met once, and that is for good.
 */
bool job_waits_for_others(const struct job *job);
