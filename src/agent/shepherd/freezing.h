/* SPDX-License-Identifier: Apache-2.0 */
/* freezing.h - stops all processes of a job, and continues them
 *
 * Thread: the shepherd's only one.
 */
#pragma once

#include <stdbool.h>

struct cgroup;

/* Freezes by the cgroup's freezer; without one by SIGSTOP to each process,
 * repeated until none runs. SIGCONT then also continues processes that the job
 * itself has stopped. True once all processes stand still.
 */
bool freezing_freeze(const struct cgroup *cgroup);
void freezing_thaw(const struct cgroup *cgroup);
