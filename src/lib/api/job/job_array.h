/* SPDX-License-Identifier: Apache-2.0 */
/* job_array.h - the rules and defaults of a Job's spec.array
 *
 * This module completes and checks the tree of a spec. completions is the
 * number of tasks, the completion mode is Indexed, and parallelism is the
 * throttle, or without one the number of all elements; the job controller then
 * limits the number of pods by its window. Upstream's maximums do not apply to
 * arrays.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct causes;
struct job;
struct json;

/* The maximum length of a list of task ids, in bytes. */
#define JOB_ARRAY_TEXT_MAX 65536

/* The maximum number of pods that an array counts for in limits.perUser.pods;
 * the actual number follows from how many can start.
 */
#define JOB_ARRAY_PODS 64

bool job_is_array(const struct job *job);

/* The number of requests so far to run elements again; 0 if not an array. */
int64_t job_array_requeues(const struct job *job);

/* Whether some tasks of an array that has ended never started. */
bool job_has_unstarted_tasks(const struct job *job);
bool job_array_is_asked(const struct json *spec);

/* Brings the lists into their shortest form and sets the defaults that follow
 * from them. A list that cannot be parsed is left for the check.
 */
void job_array_set_defaults(struct arena *arena, struct json *spec);

/* Checks a spec with an array. Change: compares with the old spec, whether or
 * not that had an array.
 */
void job_array_check(struct causes *c, const struct json *spec);
void job_array_check_change(struct causes *c, const struct json *spec, const struct json *old);

/* The parallelism that follows from throttle and tasks; 0 for a malformed list.
 */
int64_t job_array_parallelism(struct arena *arena, const struct json *spec);

/* The largest task id; -1: there is none. */
int64_t job_array_last_task(struct arena *arena, const struct json *spec);

/* Names of files: %A is the job's id, %a the task's, %j both (1042_7), each padded with
 * zeros to the width after the percent sign, if any: "%4a". Other patterns, "%%" among
 * them, are left for the agent.
 */
const char *job_array_path(struct arena *arena, const char *pattern, int64_t job, int64_t task);

/* The pattern of a job without an array: %A is its number, as in ksub. *ret_has_task says whether
 * it names a task (%a), which such a job has not.
 */
const char *job_array_path_of_one(struct arena *arena, const char *pattern, bool *ret_has_task);
