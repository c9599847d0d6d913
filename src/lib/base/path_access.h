/* SPDX-License-Identifier: Apache-2.0 */
/* path_access.h - finds the directory that denies a user access to a path
 *
 * Thread: any. Blocking: it reads the file system.
 */
#pragma once

#include <sys/types.h>

/* The first directory above an absolute path that the user may not enter, as a
 * clause for an error: "uid 65534 may not enter '/root' (mode 0700, owned by
 * uid 0)". The caller owns the text; NULL when no directory denies access, or
 * when this cannot be known. For the caller's own uid the kernel is asked; for
 * another user only the mode counts (no access lists, no supplementary groups).
 */
char *path_obstacle_dup(const char *path, uid_t uid, gid_t gid);
