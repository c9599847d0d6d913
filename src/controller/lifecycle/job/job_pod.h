/* SPDX-License-Identifier: Apache-2.0 */
/* job_pod.h - makes a pod from a Job's template
 *
 * Thread:  any; pure functions.
 * See: doc/decisions.md 8 and 11 for its name, owner and labels.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct job_plan_pod;
struct json;
struct object;
struct pod;

/* The body of the create call, in the arena. Make_of: the body shares parts of
 * the Job's tree, so it must not be changed.
 */
struct json *job_pod_make(struct arena *arena, const struct object *job,
                          const struct job_plan_pod *plan);
struct json *job_pod_make_of(struct arena *arena, const struct object *job,
                             const struct json *job_tree, const struct job_plan_pod *plan);

/* The ownerReferences of what the controller makes for a Job. */
struct json *job_pod_owner(struct arena *arena, const struct object *job);

/* The PodGroup: one for each attempt, if attempts are whole; else that of the Job. */
const char *job_pod_group(struct arena *arena, const struct object *job, int64_t attempt);

/* The pod's name, "sweep-7" or "sweep-7-r2", and back. Parse: false if the name
 * is not one of the job's pods.
 */
char *job_pod_name(struct arena *arena, const char *job, int64_t index, int64_t attempt);
bool job_pod_name_parse(const char *job, const char *pod, int64_t *ret_index, int64_t *ret_attempt);

/* The value of an annotation that is a number; 0 if the pod lacks it. */
int64_t job_pod_number(const struct pod *pod, const char *annotation);
