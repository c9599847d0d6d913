/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/directory/statedir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

struct statedir {
    int lock;
};

/* From statfs(2), or, where that lacks them, from the file systems' own
 * sources.
 */
static const struct {
    uint64_t type;
    const char *name;
} refused[] = {
    {0x6969, "NFS"},        {0x517b, "SMB"},      {0xff534d42, "CIFS"},   {0xfe534d42, "SMB2"},
    {0x5346414f, "AFS"},    {0x6b414653, "AFS"},  {0x73757245, "Coda"},   {0x00c36400, "Ceph"},
    {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"}, {0x19830326, "BeeGFS"}, {0x01021997, "9p"},
    {0x7461636f, "OCFS2"},  {0x01161970, "GFS2"},
};

const char *
statedir_refused_filesystem(uint64_t type)
{
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        if (refused[i].type == type)
            return refused[i].name;
    return NULL;
}

static int
check_filesystem(const char *path, struct error *err)
{
    struct statfs fs;
    const char *name;

    if (statfs(path, &fs) < 0)
        return error_set(err, -errno, "cannot access '%s': %s", path, strerror(errno));
    name = statedir_refused_filesystem((uint32_t)fs.f_type);
    if (name != NULL)
        return error_set(err, -ENOTSUP,
                         "state directory '%s' is on a network file system "
                         "(%s): choose a directory on a local disk",
                         path, name);
    return 0;
}

static int
busy(const char *path, int fd, struct error *err)
{
    CLEANUP_STRBUF struct strbuf holder = STRBUF_INIT;

    (void)fd_read_all(fd, 512, &holder);
    while (holder.length > 0 && holder.text[holder.length - 1] == '\n')
        strbuf_truncate(&holder, holder.length - 1);
    return error_set(err, -EBUSY,
                     "state directory '%s' is in use by %s: stop that "
                     "process, or choose another directory",
                     path, holder.length > 0 ? holder.text : "another process");
}

static int
sign(int fd)
{
    char host[256] = "";
    CLEANUP_FREE char *text = NULL;

    (void)gethostname(host, sizeof(host) - 1);
    text = xasprintf("process %ld on host '%s'\n", (long)getpid(), host);
    if (ftruncate(fd, 0) < 0)
        return -errno;
    return fd_write_all(fd, text, strlen(text));
}

int
statedir_give_away(const char *directory, const char *path, struct error *err)
{
    struct stat st;

    if (geteuid() != 0)
        return 0;
    if (stat(directory, &st) < 0 || lchown(path, st.st_uid, st.st_gid) < 0)
        return error_set(err, -errno, "cannot give '%s' to the owner of '%s': %s", path, directory,
                         strerror(errno));
    return 0;
}

/* A command of root (--restore, --check-store) leaves a lock file that the
 * controller's user can open.
 */
static int
give_to_owner(const char *directory, int fd)
{
    struct stat st;

    if (geteuid() != 0)
        return 0;
    return stat(directory, &st) < 0 || fchown(fd, st.st_uid, st.st_gid) < 0 ? -errno : 0;
}

static int
take_lock(const char *path, int *ret_fd, struct error *err)
{
    CLEANUP_FREE char *file = xasprintf("%s/lock", path);
    CLEANUP_FD int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int r;

    if (fd < 0)
        return error_set(err, -errno, "cannot open '%s': %s", file, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK
                   ? busy(path, fd, err)
                   : error_set(err, -errno, "cannot lock '%s': %s", file, strerror(errno));
    r = give_to_owner(path, fd);
    if (r == 0)
        r = sign(fd);
    if (r < 0)
        return error_set(err, r, "cannot write '%s': %s", file, strerror(-r));
    *ret_fd = fd;
    fd = -1;
    return 0;
}

int
statedir_open(const char *path, struct statedir **ret_dir, struct error *err)
{
    int fd = -1;
    int r = dir_make(path, 0700, err);

    if (r == 0)
        r = check_filesystem(path, err);
    if (r == 0)
        r = take_lock(path, &fd, err);
    if (r < 0)
        return r;
    *ret_dir = xnew(struct statedir);
    (*ret_dir)->lock = fd;
    return 0;
}

void
statedir_close(struct statedir *d)
{
    if (d == NULL)
        return;
    close(d->lock);
    free(d);
}
