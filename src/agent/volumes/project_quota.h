/* SPDX-License-Identifier: Apache-2.0 */
/* project_quota.h - directories that cannot grow beyond a size: project quotas
 *
 * XFS, and ext4 with the features quota and project, both mounted with
 * prjquota. An owner can move files out of his project (chattr -p), so this
 * is for honest mistakes.
 *
 * Thread: any; each call is a few system calls.
 * Source: quotactl(2), ioctl_xfs_fsgetxattr(2).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

/* Whether the file system of that directory keeps project quotas, enforced. */
bool project_quota_is_kept(int fd);

/* Everything that is made in the directory from now on counts for the project,
 * which may have that many bytes.
 */
int
project_quota_limit(int fd, uint32_t project, int64_t bytes, struct error *err);

/* The project has no limit any more. */
void project_quota_lift(int fd, uint32_t project);

/* That of the directory; 0: none. */
uint32_t project_quota_of(int fd);
