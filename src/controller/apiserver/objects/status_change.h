/* SPDX-License-Identifier: Apache-2.0 */
/* status_change.h - a patch of a pod's or a Job's status by an agent or a
 * component of the controller, for which only the status is parsed
 *
 * Most changes of a job after its submission are such patches. The outcome is
 * that of update.h, which handles every patch that has other members, concerns
 * other objects or must be refused.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct object;
struct request;

/* Returns true when the reply is made and the request finishes with its commit;
 * false when nothing has happened.
 */
bool status_change(struct request *q, const struct object *old_object);
