/* SPDX-License-Identifier: Apache-2.0 */
/* hook.h - a program of the site that runs before or after a job
 *
 * It runs as the shepherd's own user (root), in a session of its own, with
 * standard input from /dev/null and only the given environment. The shepherd
 * waits for it, and keeps the end of its output for the message of a failure.
 *
 * Thread: the shepherd's only one.
 */
#pragma once

#include <stdint.h>

struct error;
struct supervisor;

/* Returns 0 when the program exits with 0; -EIO for another status or a signal;
 * -ETIMEDOUT when it was killed, with its session, after the limit; another
 * -errno where it cannot be run. `what` is "prolog" or "epilog". A signal that
 * cancels the job meanwhile is forwarded to the program's session; `calls`
 * NULL: no signal is.
 */
int hook_run(const char *what, const char *program, const char *const *environment,
             int64_t limit_ms, struct supervisor *calls, struct error *err);
