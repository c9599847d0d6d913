/* SPDX-License-Identifier: Apache-2.0 */
/* step_user.h - becomes the user, in the cgroup of the step
 *
 * Thread: the program's only one.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct cgroup;
struct error;

/* From an order of the agent (agent/shepherd/files/order.h). Of descriptors above 2, only the kept
 * one stays open (-1: none). Returns the first process of the job, too, and the step's cgroup;
 * NULL: it has none.
 */
int step_user_become(const char *text, size_t length, int kept_fd, pid_t *ret_job,
                     struct cgroup **ret_cgroup, struct error *err);
