/* SPDX-License-Identifier: Apache-2.0 */
/* call_timeout.h - ends this process when a library call does not come back
 *
 * For look-ups in the site's directory of users, which nothing else can
 * interrupt. The caller writes out beforehand what is to be left behind,
 * because the library may hold any lock when the time is up: the handler only
 * writes, syncs, renames and exits.
 *
 * Thread: one per process at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct call_timeout {
    const char *directory;
    const char *temporary; /* in the directory, as is the final path */
    const char *final;
    const char *bytes;
    size_t length;
};

/* Borrowed until cut. */
int call_timeout_start(const struct call_timeout *d, int64_t ms);
void call_timeout_stop(void);
