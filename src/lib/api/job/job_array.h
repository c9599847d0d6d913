/* SPDX-License-Identifier: Apache-2.0 */
/* job_array.h - what spec.array says of a Job, and what follows from it
 *
 * The tree of a spec is completed and checked here: completions are as many as
 * there are tasks, the completion mode is Indexed, parallelism is the throttle,
 * or, without one, all elements: how many pods there are is the job
 * controller's window then. Upstream's ceilings do not bind an array.
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

/* The longest list of task ids, in bytes. */
#define JOB_ARRAY_TEXT_MAX 65536

/* The pods that its user is charged for at the most (limits.perUser.pods): how
 * many an array really has follows from how many can start.
 */
#define JOB_ARRAY_PODS 64

bool job_is_array(const struct job *job);

/* Requests so far by which elements were to run again; 0 of no array. */
int64_t job_array_requeues(const struct job *job);

/* Of one that has ended: some never started. */
bool job_has_unstarted_tasks(const struct job *job);
bool job_array_is_asked(const struct json *spec);

/* Brings the lists to their shortest form, and adds what follows from them. A
 * list that cannot be read stays, for the check.
 */
void job_array_set_defaults(struct arena *arena, struct json *spec);

/* Of a spec with an array. Change: also what it was, which had one or not. */
void job_array_check(struct causes *c, const struct json *spec);
void job_array_check_change(struct causes *c,
                            const struct json *spec,
                            const struct json *old);

/* The parallelism that follows; 0 for lists that are wrong. */
int64_t job_array_parallelism(struct arena *arena, const struct json *spec);

/* The largest task id; -1: there is none. */
int64_t job_array_last_task(struct arena *arena, const struct json *spec);
