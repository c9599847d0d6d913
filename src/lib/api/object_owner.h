/* SPDX-License-Identifier: Apache-2.0 */
/* object_owner.h - the user who owns an object: the user that its processes run
 * as, or for whom it was created
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct object;

/* The owner of a pod, Job, CronJob or claim, or of a ConfigMap, Lease, Event or PodGroup
 * that a user created. False: the object belongs to no user.
 */
bool object_owner(const struct object *object, uid_t *ret_uid);

/* Whether both objects may belong to the same user. An object without a user
 * belongs to the system; only administrators and the controller write it, so it
 * counts as the same owner.
 */
bool object_owner_is_same(const struct object *a, const struct object *b);
