/* SPDX-License-Identifier: Apache-2.0 */
/* object_owner.h - whose an object is: the user that its processes run as, or
 * that it was made for
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct object;

/* Of pods, jobs, CronJobs, claims, and of the ConfigMaps, Leases and Events that users
 * made. False: of no user.
 */
bool object_owner(const struct object *object, uid_t *ret_uid);

/* Whether both are one user's. An object of no user belongs to the system,
 * which only administrators and the controller write for: it is taken for the
 * other's as well.
 */
bool object_owner_is_same(const struct object *a, const struct object *b);
