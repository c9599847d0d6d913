/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

void
fd_closep(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

int
fd_write_all(int fd, const void *bytes, size_t length)
{
    const char *p = bytes;

    while (length > 0) {
        ssize_t n = write(fd, p, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        p += n;
        length -= (size_t)n;
    }
    return 0;
}

int
fd_append_all(int fd, const void *bytes, size_t length)
{
    const off_t end = lseek(fd, 0, SEEK_END);
    int r = end < 0 ? -errno : fd_write_all(fd, bytes, length);

    if (r < 0 && end >= 0)
        (void)!ftruncate(fd, end);
    return r;
}

int
fd_read_all(int fd, size_t limit, struct strbuf *out)
{
    size_t got = 0;

    for (;;) {
        ssize_t n;

        strbuf_reserve(out, 4096);
        n = read(fd, out->text + out->length, out->capacity - out->length - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0;
        got += (size_t)n;
        if (got > limit)
            return -EFBIG;
        out->length += (size_t)n;
        out->text[out->length] = '\0';
    }
}

int
fd_set_nonblocking(int fd, bool nonblocking)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0)
        return -errno;
    flags = nonblocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
    return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

int
file_read(const char *path, size_t limit, struct strbuf *out, struct error *err)
{
    CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : fd_read_all(fd, limit, out);

    if (r == -EFBIG)
        return error_set(err, r, "'%s' is larger than %zu bytes", path, limit);
    if (r < 0)
        return error_set(err, r, "reading '%s': %s", path, strerror(-r));
    return 0;
}

static int
sync_parent(const char *path)
{
    CLEANUP_FREE char *parent = xstrdup(path);
    char *slash = strrchr(parent, '/');
    const char *name = slash == NULL ? "." : slash == parent ? "/" : parent;

    if (slash != NULL && slash != parent)
        *slash = '\0';
    CLEANUP_FD int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0)
        return -errno;
    return 0;
}

static int
write_synced(const char *path, mode_t mode, const void *bytes, size_t length)
{
    CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    int r;

    if (fd < 0)
        return -errno;
    if (fchmod(fd, mode) < 0)
        return -errno;
    r = fd_write_all(fd, bytes, length);
    if (r < 0)
        return r;
    return fsync(fd) < 0 ? -errno : 0;
}

/* The file is synced before it gets its name, and its folder after that, so a crash leaves
 * the old file or the whole new one. Threads that write one path do not meet in one
 * temporary file.
 */
int
file_write_atomic(const char *path, mode_t mode, const void *bytes, size_t length,
                  struct error *err)
{
    CLEANUP_FREE char *temporary = xasprintf("%s.new.%ld", path, (long)gettid());
    int r;

    unlink(temporary);
    r = write_synced(temporary, mode, bytes, length);
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    if (r == 0)
        r = sync_parent(path);
    if (r < 0) {
        unlink(temporary);
        return error_set(err, r, "writing '%s': %s", path, strerror(-r));
    }
    return 0;
}

int
path_sync(const char *path, struct error *err)
{
    CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return error_set(err, -errno, "cannot sync '%s': %s", path, strerror(errno));
    return 0;
}

static int
make_one(const char *path, mode_t mode)
{
    struct stat st;

    if (mkdir(path, mode) == 0)
        return 0;
    if (errno != EEXIST)
        return -errno;
    if (stat(path, &st) < 0)
        return -errno;
    return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int
dir_make(const char *path, mode_t mode, struct error *err)
{
    CLEANUP_FREE char *part = xstrdup(path);
    size_t length = strlen(path);

    if (mkdir(path, mode) == 0)
        return 0;
    for (size_t at = 1; at <= length || length == 0; at++) {
        int r;

        if (at < length && part[at] != '/')
            continue;
        part[at < length ? at : length] = '\0';
        r = make_one(part, mode);
        if (r < 0)
            return error_set(err, r, "making directory '%s': %s", part, strerror(-r));
        if (at < length)
            part[at] = '/';
    }
    return 0;
}
