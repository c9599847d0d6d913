/* SPDX-License-Identifier: Apache-2.0 */
/* job_dependency.h - the other jobs that a job waits for before it may start
 *
 * The text has Slurm's form, "afterok:1041:1042_3,after:1043+10": commas
 * require all of the dependencies, "?" any one of them. Tasks of an array are
 * named by their ids, never by indexes, and several tasks count as if they were
 * one job. The Job stores this in spec.dependencies, where admission adds the
 * uid of each job, so that a later job with the same name or number is never
 * meant.
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

/* A limit, because each dependency is checked when any job ends. */
#define JOB_DEPENDENCIES_MOST 128u

/* The maximum length of one dependency's task list, in bytes. */
#define JOB_DEPENDENCY_TASKS_MAX 1000

enum job_dependency_type {
    DEPENDENCY_NONE,
    DEPENDENCY_AFTER,    /* started, or ended without a start */
    DEPENDENCY_ANY,      /* ended */
    DEPENDENCY_CORR,     /* completed; of arrays, per element */
    DEPENDENCY_NOT_OK,   /* ended and not completed */
    DEPENDENCY_OK,       /* completed */
    DEPENDENCY_SINGLETON /* older jobs of the same user and name ended */
};

enum job_dependency_verdict {
    DEPENDENCY_WAITS,
    DEPENDENCY_IS_MET,
    DEPENDENCY_IS_NEVER_MET,
};

/* Parses a text into spec.dependencies, in the arena; NULL for an empty text.
 * -EINVAL, -E2BIG, -EOPNOTSUPP.
 */
int job_dependency_parse(const char *text, struct arena *arena, struct json **ret_dependencies,
                         struct error *err);

/* The same for a stage of a pipeline, where names of stages take the place of
 * numbers: "stage" has the name, instead of "job". A name without a type means
 * afterok.
 */
int job_dependency_parse_stages(const char *text, struct arena *arena,
                                struct json **ret_dependencies, struct error *err);

/* Replaces a list of tasks by its shortest form, in the arena. -EINVAL: the
 * list is malformed or empty.
 */
int job_dependency_tidy_tasks(struct arena *arena, const char **tasks, struct error *err);

/* Format one job ("1041", "1042_3", "1042_[3-9]"), one dependency
 * ("afterok:1041", "after:1041+10"), or all of them in the form of the option:
 * at most most_bytes, and then "and 12 more".
 */
void job_dependency_format_job(const struct job_dependency *dependency, struct strbuf *out);
void job_dependency_format(const struct job_dependency *dependency, struct strbuf *out);
void job_dependencies_format(const struct job_dependencies *dependencies, unsigned most_bytes,
                             struct strbuf *out);

enum job_dependency_type job_dependency_type_of(const char *word);
bool job_dependencies_any(const struct job_dependencies *dependencies);

/* The verdict on a dependency on a job, or tasks of it, that ended in that
 * state; not for a singleton.
 */
enum job_dependency_verdict job_dependency_judge_end(enum job_dependency_type type,
                                                     enum job_state state);

/* The state in which the job with that uid, or those tasks of it, ended,
 * according to the waiting Job's own record; NONE: not recorded.
 */
enum job_state job_dependency_noted(const struct job *job, const struct job_dependency *dependency);

/* The recorded start of that job, real time; 0: not recorded. */
int64_t job_dependency_noted_start_us(const struct job *job,
                                      const struct job_dependency *dependency);

/* Whether the job still waits for its dependencies. Once the job has had a pod,
 * its dependencies count as met for good.
 */
bool job_waits_for_others(const struct job *job);
