/* SPDX-License-Identifier: Apache-2.0 */
/* statedir.h - the state directory, and the lock that gives it one owner
 *
 * The lock is the kernel's (flock on the file "lock"), so it ends with the
 * process; the file's text, pid and host, is for people.
 *
 * Thread:  any; one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct error;
struct statedir;

/* Life. Open creates the directory (0700) if it is missing. -EBUSY names the
 * holder of the lock. -ENOTSUP: on a network file system, whose locks and syncs
 * cannot be trusted.
 */
void statedir_close(struct statedir *d);
int statedir_open(const char *path, struct statedir **ret_dir, struct error *err);

/* A file that root has made for a state directory (a key, a restored store) belongs to the
 * directory's owner, the controller's user; otherwise the controller could not
 * start. Does nothing for other users.
 */
int statedir_give_away(const char *directory, const char *path, struct error *err);

/* The name of a file system type (statfs f_type) that is refused, or NULL. */
const char *statedir_refused_filesystem(uint64_t type);
