/* SPDX-License-Identifier: Apache-2.0 */
/* call_timeout.h - ends this process when a library call does not return
 *
 * For look-ups in the site's user database, which cannot be interrupted in
 * another way. The caller prepares the file's contents beforehand, because the
 * library may hold any lock when the time is up: the handler only writes,
 * syncs, renames and exits.
 *
 * Thread: one per process at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct call_timeout {
    const char *directory;
    const char *temporary; /* a path in the directory, like `final` */
    const char *final;
    const char *bytes;
    size_t length;
};

/* Borrows the struct until call_timeout_stop. */
int call_timeout_start(const struct call_timeout *t, int64_t ms);
void call_timeout_stop(void);
