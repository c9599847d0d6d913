/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/bcast_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/arena.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"

#define PIECE (1u << 18)

/* The name of a half of a file, for the signal handler; "": it has none. */
static char half_name[4096];

struct bcast_file
bcast_file_of(const struct stat *source, const char *path, bool preserves, bool replaces)
{
    return (struct bcast_file){
        .path = path,
        .size = (int64_t)source->st_size,
        .mode = source->st_mode & (preserves ? 07777 : 0777),
        .replaces = replaces,
        .keeps_times = preserves,
        .atime_s = source->st_atim.tv_sec,
        .mtime_s = source->st_mtim.tv_sec,
    };
}

static void
drop_half(int signo)
{
    if (half_name[0] != '\0')
        (void)unlink(half_name);
    (void)signal(signo, SIG_DFL);
    (void)raise(signo);
}

/* A file without a name is gone if this process is killed. */
static int
open_half(const char *path, struct arena *arena)
{
    const char *directory = dirname(arena_strdup(arena, path));
    int fd = open(directory, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd >= 0 ? fd : -errno;
    if ((size_t)snprintf(half_name, sizeof(half_name), "%s.sbcast-%ld", path, (long)getpid())
        >= sizeof(half_name)) {
        half_name[0] = '\0';
        return -ENAMETOOLONG;
    }
    (void)signal(SIGTERM, drop_half);
    (void)signal(SIGINT, drop_half);
    (void)signal(SIGHUP, drop_half);
    fd = open(half_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd >= 0 ? fd : -errno;
}

static int
copy(int from, int to, int64_t size, struct arena *arena)
{
    char *piece = arena_alloc(arena, PIECE);
    int64_t copied = 0;
    ssize_t n;

    while ((n = read(from, piece, PIECE)) != 0) {
        int r;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        r = fd_write_all(to, piece, (size_t)n);
        if (r < 0)
            return r;
        copied += n;
    }
    return copied == size ? 0 : -ENODATA;
}

/* Without a name, the file gets one; a link never replaces another file. */
static int
link_half(int to, const char *path)
{
    char self[64];

    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", to);
    return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ? 0 : -errno;
}

static int
give_name(const struct bcast_file *f, int to)
{
    int r = 0;

    if (half_name[0] == '\0') {
        if (!f->replaces)
            return link_half(to, f->path);
        (void)snprintf(half_name, sizeof(half_name), "%s.sbcast-%ld", f->path, (long)getpid());
        r = link_half(to, half_name);
    } else if (!f->replaces)
        return link(half_name, f->path) == 0 ? 0 : -errno;
    if (r == 0 && rename(half_name, f->path) < 0)
        r = -errno;
    if (r == 0)
        half_name[0] = '\0';
    return r;
}

int
bcast_file_receive(const struct bcast_file *f, int from, struct arena *arena)
{
    const struct timespec times[] = {{.tv_sec = f->atime_s}, {.tv_sec = f->mtime_s}};
    CLEANUP_FD int to = -1;
    int r = 0;

    half_name[0] = '\0';
    if (!f->replaces && faccessat(AT_FDCWD, f->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return -EEXIST;
    to = open_half(f->path, arena);
    if (to < 0)
        r = to;
    if (r == 0)
        r = copy(from, to, f->size, arena);
    if (r == 0 && fchmod(to, f->mode) < 0)
        r = -errno;
    if (r == 0 && f->keeps_times && futimens(to, times) < 0)
        r = -errno;
    if (r == 0)
        r = give_name(f, to);
    if (half_name[0] != '\0') {
        (void)unlink(half_name);
        half_name[0] = '\0';
    }
    return r;
}
