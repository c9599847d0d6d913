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

struct arena;
struct error;
struct step_ending;
struct step_environment;
struct step_events;
struct step_frame;
struct step_grant;
struct step_link;
struct step_pmix;
struct step_request;

/* All is borrowed, and lives as long as the program. Ready: the tasks need not wait any longer,
 * also because it has ended.
 */
struct step_pmix_settings {
    struct arena *arena;
    const struct step_request *request;
    const struct step_grant *grant;
    struct step_events *events;
    struct step_link *link;
    struct step_ending *ending;
    void (*ready)(void *context);
    void *context;
};

/* Before the user's words are read: the program, as a descriptor; -1: it is not installed. */
int step_pmix_find(void);

/* Open starts it if the step wants it, with that program, which it closes. Of a step that does
 * not want it the functions below do nothing.
 */
struct step_pmix *step_pmix_new(const struct step_pmix_settings *settings);
int step_pmix_open(struct step_pmix *p, int program, struct error *err);

/* Whether the tasks have to wait for it. */
bool step_pmix_is_starting(const struct step_pmix *p);

/* Variables of the tasks; the rank is the environment's business. */
void step_pmix_add_variables(const struct step_pmix *p, struct step_environment *e);

/* A frame of krun. -EBADMSG. */
int step_pmix_receive(struct step_pmix *p, const struct step_frame *f);

/* The task with that index on this node has ended, with that code; a child that is no task has. */
void step_pmix_end_task(struct step_pmix *p, unsigned task, uint32_t code);
void step_pmix_reaped(struct step_pmix *p, pid_t pid);

/* All tasks have ended: asks it to end. Returns how long to wait for that, in ms; 0: no longer. */
int step_pmix_close(struct step_pmix *p, int64_t now_ms);

/* When no process is left. */
void step_pmix_clean(struct step_pmix *p);
