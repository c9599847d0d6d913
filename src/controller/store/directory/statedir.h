/* SPDX-License-Identifier: Apache-2.0 */
/* statedir.h - the state directory, and that it has one owner
 *
 * The lock is the kernel's (flock on the file "lock"), so it is gone with the
 * process; what the file says, pid and host, is for people.
 *
 * Thread:  any; one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct error;
struct statedir;

/* Life. Makes the directory (0700) when it is missing. -EBUSY names who holds
 * it. -ENOTSUP: on a network file system, whose locks and syncs cannot be
 * trusted.
 */
void statedir_close(struct statedir *d);
int
statedir_open(const char *path, struct statedir **ret_dir, struct error *err);

/* The name of a file system (statfs f_type) that is refused, or NULL. */
const char *statedir_refused_filesystem(uint64_t type);
