/* SPDX-License-Identifier: Apache-2.0 */
/* project_quota.h - limits the size of directories by project quotas
 *
 * XFS, and ext4 with the features quota and project, both mounted with
 * prjquota. An owner can move files out of the project (chattr -p), so the
 * limit prevents only mistakes.
 *
 * Thread: any; each call is a few system calls.
 * Source: quotactl(2), ioctl_xfs_fsgetxattr(2).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

/* Whether the file system of that directory enforces project quotas. */
bool project_quota_is_kept(int fd);

/* Everything that is made in the directory from now on counts for the project,
 * which is limited to that many bytes.
 */
int project_quota_limit(int fd, uint32_t project, int64_t bytes, struct error *err);

/* Removes the project's limit. */
void project_quota_lift(int fd, uint32_t project);

/* The project of the directory; 0: none. */
uint32_t project_quota_of(int fd);
