/* SPDX-License-Identifier: Apache-2.0 */
/* step_pmix.h - kiln-pmix, by which the tasks of a step on this node speak PMIx
 *
 * With --mpi=pmix it is started before the tasks, which begin when it is ready. It runs as
 * the user. A task that ends after it has begun to speak PMIx and before it has
 * finalized, or that never begins while others do, leaves these waiting for ever, so all
 * tasks are ended; likewise when kiln-pmix itself ends before them.
 *
 * Its files, and those that Open MPI shares memory by, are in a directory that only the
 * user can read and that is removed with the step. A kiln-step that is killed cannot do that;
 * the next one of the user does.
 *
 * Thread:  the program's only one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct step;
struct step_environment;
struct step_exit;
struct step_frame;
struct step_task;

/* Before the user's words are read: the program, as a descriptor; -1: it is not installed. */
int step_pmix_find(void);

/* Starts it if the step wants it, with that program, which it closes. */
int step_pmix_open(struct step *s, int program, struct error *err);

/* Whether the tasks have to wait for it. */
bool step_pmix_is_starting(const struct step *s);

/* Variables of the tasks; the rank is the environment's business. */
void step_pmix_add_variables(const struct step *s, struct step_environment *e);

/* A frame of krun. -EBADMSG. */
int step_pmix_receive(struct step *s, const struct step_frame *f);

/* A task has ended, with that code; a child that is no task has. */
void step_pmix_end_task(struct step *s, const struct step_task *t, uint32_t code);
void step_pmix_reaped(struct step *s, pid_t pid);

/* Asks it to end. Returns how long to wait for that, in ms; 0: no longer. */
int step_pmix_close(struct step *s, int64_t now_ms);

/* When no process is left. */
void step_pmix_clean(struct step *s);
