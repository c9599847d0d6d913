/* SPDX-License-Identifier: Apache-2.0 */
/* element_change.h - the patches that cancel, hold, release or requeue elements
 * of a job array
 *
 * Elements that the array does not have are ignored, like jobs of a range that
 * are gone. A change is refused when the array has none of the given elements.
 *
 * Thread:  the loop's.
 */
#pragma once

struct job_change_call;
struct json;

/* As job_change.make, for the elements in `call->tasks`. */
struct json *element_change_cancel(struct job_change_call *call);
struct json *element_change_hold(struct job_change_call *call);
struct json *element_change_release(struct job_change_call *call);
struct json *element_change_requeue(struct job_change_call *call);
struct json *element_change_requeue_and_hold(struct job_change_call *call);
