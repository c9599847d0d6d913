/* SPDX-License-Identifier: Apache-2.0 */
/* spool.h - files of the job that root has to make: script and TMPDIR
 *
 * Thread: the shepherd's only one.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct error;

/* Copies `bytes` bytes from the descriptor into a new file that belongs to the
 * user; only the user may read and run it. Replaces a file of an interrupted
 * attempt.
 */
int spool_script(const char *path, int source_fd, int64_t bytes, uid_t uid, gid_t gid,
                 struct error *err);

/* Makes a directory that only the user may access; -EEXIST when it exists. */
int spool_directory(const char *path, uid_t uid, gid_t gid, struct error *err);

/* Whether an existing directory belongs to the user: -EPERM when it does not.
 */
int spool_check_owner(const char *path, uid_t uid, struct error *err);
