/* SPDX-License-Identifier: Apache-2.0 */
/* status_change.h - a patch of a pod's or a Job's status by an agent or a part of
 * the controller, for which no more than the status is parsed
 *
 * These are most of what happens to a job after it was submitted. It comes to what
 * update.h comes to: whatever else is in the patch or the object, and whatever is
 * to be refused, is left to that.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct object;
struct request;

/* True: the reply is made, and the request ends with its commit. False: nothing has
 * happened.
 */
bool status_change(struct request *q, const struct object *old_object);
