/* SPDX-License-Identifier: Apache-2.0 */
/* stray_processes.h - processes of a pod without a cgroup whose shepherd was
 * killed
 *
 * A shepherd adopts the processes that its job leaves behind. When the shepherd
 * is killed, these processes are found by KILN_POD_UID in the environment that
 * they began with.
 *
 * Thread: a worker's, because it reads all of /proc.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Kills these processes and returns their number. On a worker. Only processes
 * that this user has started are looked at (0: not known, all). Of one step of the
 * pod, which KILN_STEP_ID tells, or of the whole pod (-1).
 */
unsigned stray_processes_kill(const char *pod_uid, int64_t step, uid_t owner);
