/* SPDX-License-Identifier: Apache-2.0 */
/* array_pod.h - what the pod of an array's element has of its own: its task's
 * id, variables, and names of files
 *
 * All of it is written into the pod when it is made, so that agents need not
 * know of arrays. The index, from 0, is the Job's place for the element; the
 * task's id is what people see.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stdint.h>

struct arena;
struct job;
struct json;

/* Of a Job that is no array nothing is done. In names of files %A is the job's
 * id, %a the task's, %j both (1042_7), each padded by zeros ("%4a").
 */
void array_pod_fill(struct arena *arena,
                    const struct job *job,
                    int64_t index,
                    struct json *meta,
                    struct json *spec);
