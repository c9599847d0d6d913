/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - the job's own command that saves its state before the job is
 * ended
 *
 * It runs once, and has a part of the grace period. Times are of the monotonic
 * clock.
 *
 * Thread: the shepherd's only one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

struct checkpoint {
    /* Starts the command in a session of its own; returns its pid, or a
     * negative errno. NULL: the job has none.
     */
    pid_t (*start)(void *context, struct error *err);
    bool has_begun; /* or could not be started */
    bool was_cut;   /* killed because its time was over */
    pid_t pid;      /* 0: not running */
    int status;     /* of waitpid, once it has ended */
    int64_t began_us, until_us, ended_us;
    char *failure; /* why it could not be started, or NULL */
};

/* Starts the command with that grace period; false if there is none, if it has
 * run before, or if it cannot be started.
 */
bool checkpoint_begin(struct checkpoint *c, void *context, int64_t grace_us, int64_t now_us);

/* The end of a child: false if it is another's. */
bool checkpoint_note_end(struct checkpoint *c, pid_t pid, int status, int64_t now_us);

/* Kills the command when its time is over, which counts as its end; then true. */
bool checkpoint_cut(struct checkpoint *c, int64_t now_us);
int checkpoint_wait_ms(const struct checkpoint *c, int64_t now_us);
