/* SPDX-License-Identifier: Apache-2.0 */
/* spool.c - root makes files for a user: each is new (O_EXCL, no
 * links), closed to everybody until it is whole, and given to the user last
 */
#include "agent/shepherd/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/base/fd.h"

static int
copy(int to, int from, int64_t bytes)
{
    off_t at = 0;

    while (at < bytes) {
        ssize_t n = sendfile(to, from, &at, (size_t)(bytes - at));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -ENODATA;
    }
    return 0;
}

static int
give(int fd, uid_t uid, gid_t gid, mode_t mode)
{
    if (geteuid() == 0 && fchown(fd, uid, gid) < 0)
        return -errno;
    return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int
can_run_from(int fd, const char *path, struct error *err)
{
    struct statvfs fs;

    if (fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_NOEXEC) != 0)
        return error_set(err, -EACCES,
                         "'%s' is on a file system mounted noexec; put the "
                         "agent's state directory on another one",
                         path);
    return 0;
}

int
spool_script(const char *path, int source_fd, int64_t bytes, uid_t uid, gid_t gid,
             struct error *err)
{
    CLEANUP_FD int fd = -1;
    int r;

    unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0)
        return error_set(err, -errno, "making '%s': %s", path, strerror(errno));
    r = can_run_from(fd, path, err);
    if (r < 0)
        return r;
    r = copy(fd, source_fd, bytes);
    if (r == 0)
        r = give(fd, uid, gid, 0500);
    if (r < 0)
        return error_set(err, r, "writing the script to '%s': %s", path, strerror(-r));
    return 0;
}

int
spool_directory(const char *path, uid_t uid, gid_t gid, struct error *err)
{
    CLEANUP_FD int fd = -1;
    int r = 0;

    if (mkdir(path, 0700) < 0)
        r = -errno;
    if (r == 0) {
        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        r = fd < 0 ? -errno : give(fd, uid, gid, 0700);
    }
    if (r < 0)
        return error_set(err, r, "making directory '%s': %s", path, strerror(-r));
    return 0;
}

int
spool_check_owner(const char *path, uid_t uid, struct error *err)
{
    CLEANUP_FD int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return error_set(err, -errno, "'%s': %s", path, strerror(errno));
    if (st.st_uid != uid)
        return error_set(err, -EPERM,
                         "'%s' would be TMPDIR, but belongs to uid %u and not "
                         "to the job's user (uid %u)",
                         path, (unsigned)st.st_uid, (unsigned)uid);
    return 0;
}
