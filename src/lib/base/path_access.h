/* SPDX-License-Identifier: Apache-2.0 */
/* path_access.h - which directory keeps a user from a path
 *
 * Thread: any. Blocking: it asks the file system.
 */
#pragma once

#include <sys/types.h>

/* The first directory above an absolute path that the user may not enter, as
 * a clause for an error: "uid 65534 may not enter '/root' (mode 0700, owned by
 * uid 0)". Owned by the caller; NULL when no directory is in the way, or when
 * that cannot be known. For the caller's own uid the kernel is asked; for
 * another user the mode alone counts (no access lists, no further groups).
 */
char *path_obstacle_dup(const char *path, uid_t uid, gid_t gid);
