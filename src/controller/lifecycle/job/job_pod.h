/* SPDX-License-Identifier: Apache-2.0 */
/* job_pod.h - the pod that a Job's template makes
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

/* The body of the create, in the arena. Of: parts of the Job's tree are shared with
 * the body, which is not to be changed.
 */
struct json *job_pod_make(struct arena *arena,
                          const struct object *job,
                          const struct job_plan_pod *plan);
struct json *job_pod_make_of(struct arena *arena,
                             const struct object *job,
                             const struct json *job_tree,
                             const struct job_plan_pod *plan);

/* "sweep-7", "sweep-7-r2", and back: false when the name is not of the job. */
char *job_pod_name(struct arena *arena,
                   const char *job,
                   int64_t index,
                   int64_t attempt);
bool job_pod_name_parse(const char *job,
                        const char *pod,
                        int64_t *ret_index,
                        int64_t *ret_attempt);

/* An annotation that is a number; 0: it has none. */
int64_t job_pod_number(const struct pod *pod, const char *annotation);
