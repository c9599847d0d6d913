/* SPDX-License-Identifier: Apache-2.0 */
/* step_surroundings.h - the variables of a task that are those of its node
 *
 * The environment of a krun on another node says what the job has there: its TMPDIR, its
 * GPUs, the socket of its agent. The first process of the job on this node has what
 * is right here.
 *
 * Thread: the program's only one.
 */
#pragma once

#include <sys/types.h>

struct arena;
struct step_environment;
struct step_request;

/* `job` is that process. If its environment cannot be read, nothing changes. */
void step_surroundings_add(struct arena *arena, pid_t job, const struct step_request *q,
                           struct step_environment *e);
