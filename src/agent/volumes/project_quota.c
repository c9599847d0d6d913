/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/volumes/project_quota.h"

#include <errno.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/error.h"

#define BLOCK_BYTES 1024 /* the unit of limits */

#ifndef SYS_quotactl_fd /* Linux 5.14; all architectures use this number */
#define SYS_quotactl_fd 443
#endif

static int
call(int fd, unsigned command, uint32_t id, void *data)
{
    long r = syscall(SYS_quotactl_fd, fd, command, id, data);

    return r < 0 ? -errno : 0;
}

bool
project_quota_is_kept(int fd)
{
    struct fs_quota_statv state = {.qs_version = FS_QSTATV_VERSION1};
    struct fsxattr attributes;

    return ioctl(fd, FS_IOC_FSGETXATTR, &attributes) == 0
           && call(fd, QCMD(Q_XGETQSTATV, PRJQUOTA), 0, &state) == 0
           && (state.qs_flags & FS_QUOTA_PDQ_ENFD) != 0;
}

static int
set_limit(int fd, uint32_t project, int64_t bytes)
{
    struct if_dqblk limit = {
        .dqb_bhardlimit = (uint64_t)((bytes + BLOCK_BYTES - 1) / BLOCK_BYTES),
        .dqb_valid = QIF_BLIMITS,
    };

    return call(fd, QCMD(Q_SETQUOTA, PRJQUOTA), project, &limit);
}

int
project_quota_limit(int fd, uint32_t project, int64_t bytes, struct error *err)
{
    struct fsxattr attributes;
    int r = set_limit(fd, project, bytes);

    if (r < 0)
        return error_set(err, r, "setting a project quota: %s", strerror(-r));
    if (ioctl(fd, FS_IOC_FSGETXATTR, &attributes) < 0)
        return error_set(err, -errno, "reading the project of a directory: %s", strerror(errno));
    attributes.fsx_projid = project;
    attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
    if (ioctl(fd, FS_IOC_FSSETXATTR, &attributes) < 0)
        return error_set(err, -errno, "assigning a project to a directory: %s", strerror(errno));
    return 0;
}

void
project_quota_lift(int fd, uint32_t project)
{
    (void)set_limit(fd, project, 0);
}

uint32_t
project_quota_of(int fd)
{
    struct fsxattr attributes;

    return ioctl(fd, FS_IOC_FSGETXATTR, &attributes) == 0 ? attributes.fsx_projid : 0;
}
