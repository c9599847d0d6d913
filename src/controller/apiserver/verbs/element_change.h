/* SPDX-License-Identifier: Apache-2.0 */
/* element_change.h - what it takes to cancel, hold, release or requeue elements of a
 * job array: a patch of its lists
 *
 * Elements that the array does not have are left out, as jobs of a range that
 * are gone; only of none that it has the change is refused.
 *
 * Thread:  the loop's.
 */
#pragma once

struct job_change_call;
struct json;

/* As job_change.make, of `call->tasks`. */
struct json *element_change_cancel(struct job_change_call *call);
struct json *element_change_hold(struct job_change_call *call);
struct json *element_change_release(struct job_change_call *call);
struct json *element_change_requeue(struct job_change_call *call);
struct json *element_change_requeue_and_hold(struct job_change_call *call);
