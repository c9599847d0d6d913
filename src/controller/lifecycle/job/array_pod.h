/* SPDX-License-Identifier: Apache-2.0 */
/* array_pod.h - fields of a pod that differ between the elements of an array:
 * the task's id, variables, and names of files
 *
 * All of them are written into the pod when it is created, so that agents need
 * no knowledge of arrays. The index, from 0, numbers the elements of the Job;
 * users see the task's id.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stdint.h>

struct arena;
struct job;
struct json;

/* Does nothing if the Job is not an array. In names of files %A is the job's
 * id, %a the task's, %j both (1042_7), each padded by zeros ("%4a").
 */
void array_pod_fill(struct arena *arena, const struct job *job, int64_t index, struct json *meta,
                    struct json *spec);
