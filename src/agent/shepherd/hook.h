/* SPDX-License-Identifier: Apache-2.0 */
/* hook.h - a program of the site that runs before a job or after it
 *
 * As the shepherd's own user (root), in a session of its own, with standard
 * input from /dev/null and nothing in its environment but what is given. It is
 * waited for; what it prints is kept for the words of a failure.
 *
 * Thread: the shepherd's only one.
 */
#pragma once

#include <stdint.h>

struct error;
struct supervisor;

/* 0 when it exits with 0. -EIO for another status or a signal, -ETIMEDOUT when
 * it was killed, with its session, after the limit; -errno where it cannot be
 * run. `what` is "prolog" or "epilog". A signal that calls the job off
 * meanwhile is sent on to its session; NULL: no signal does.
 */
int hook_run(const char *what,
             const char *program,
             const char *const *environment,
             int64_t limit_ms,
             struct supervisor *calls,
             struct error *err);
