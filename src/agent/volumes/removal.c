/* SPDX-License-Identifier: Apache-2.0 */
/* A user's tree may be deeper than the number of descriptors, contain links that lead
 * anywhere, have file systems mounted into it by a server that never answers, and grow while
 * it is removed. So directories are moved up into one place instead of descending (two
 * descriptors for any depth), links are never followed, mounts are detached and not asked, and
 * a directory is taken over from its owner before it is emptied (decision 76).
 */
#include "agent/volumes/removal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"

#define LOOK_EVERY 64 /* entries between readings of the clock */

/* One tree that is being removed. */
struct tree_removal {
    int top;          /* directory that all others are moved into */
    unsigned moved;   /* number of the next name for a moved directory */
    int64_t until_us; /* monotonic clock */
    unsigned looked;
};

static bool
is_late(struct tree_removal *r)
{
    return r->until_us != INT64_MAX && r->looked++ % LOOK_EVERY == 0
           && clock_monotonic_us(&clock_system) >= r->until_us;
}

static bool
is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Whether a file system begins there. The server of one that a user has mounted
 * (FUSE) may never answer, so it is not asked, and nothing there may be opened.
 */
static bool
is_mount(int fd)
{
    struct statx st;

    return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) < 0
           || (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* Detaches for example a FUSE file system whose process has ended, or does not
 * answer. The parent may be AT_FDCWD.
 */
static void
detach(int parent, const char *name)
{
    CLEANUP_FREE char *path =
        parent == AT_FDCWD ? xstrdup(name) : xasprintf("/proc/self/fd/%d/%s", parent, name);

    while (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
        ;
}

void
removal_detach(const char *path)
{
    detach(AT_FDCWD, path);
}

/* The path of a descriptor leads to what it is for, whatever has been mounted
 * over that since.
 */
static int
open_again(int fd)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int
open_directory(int parent, const char *name)
{
    for (unsigned tries = 0; tries < 3; tries++) {
        CLEANUP_FD int place = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (place < 0)
            return -1;
        if (!is_mount(place))
            return open_again(place);
        detach(parent, name);
    }
    errno = EBUSY;
    return -1;
}

/* The owner may have removed the permissions of the directory; a rootless agent
 * is that owner.
 */
static void
allow_entry(int parent, const char *name)
{
    CLEANUP_FD int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    char path[64];

    if (fd < 0 || is_mount(fd))
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (chmod(path, 0700) < 0) {
        /* the next call fails and reports the error */
    }
}

static int
move_up(struct tree_removal *r, int from, const char *name)
{
    char up[32];

    for (unsigned tries = 0; tries < 3;) {
        snprintf(up, sizeof(up), ".up-%u", r->moved++);
        if (renameat(from, name, r->top, up) == 0)
            return 0;
        if (errno == EEXIST || errno == ENOTEMPTY)
            continue;
        if (errno == EBUSY)
            detach(from, name);
        else
            allow_entry(from, name);
        tries++;
    }
    return -errno;
}

/* After this, a process that has the directory open, or as working directory,
 * cannot add entries, because the kernel checks the directory's owner whenever
 * an entry is made. A rootless agent is the owner itself.
 */
static int
own_directory(int fd)
{
    if (geteuid() != 0)
        return 0;
    return fchown(fd, 0, 0) < 0 || fchmod(fd, 0700) < 0 ? -errno : 0;
}

/* Removes files, and moves directories up to the top. */
static int
empty(struct tree_removal *r, int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    int result = 0;

    if (dir == NULL) {
        result = -errno;
        if (copy >= 0)
            close(copy);
        return result;
    }
    rewinddir(dir);
    for (struct dirent *e; result == 0 && (e = readdir(dir)) != NULL;) {
        if (is_late(r))
            result = -EAGAIN;
        if (result < 0 || is_dots(e->d_name) || unlinkat(fd, e->d_name, 0) == 0)
            continue;
        if (errno == EISDIR || errno == EPERM || errno == EBUSY)
            result = move_up(r, fd, e->d_name);
        else if (errno != ENOENT)
            result = -errno;
    }
    closedir(dir);
    return result;
}

static int
remove_directory(struct tree_removal *r, const char *name)
{
    int fd = open_directory(r->top, name);
    int result;

    if (fd < 0 && errno == EACCES) {
        allow_entry(r->top, name);
        fd = open_directory(r->top, name);
    }
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    result = own_directory(fd);
    if (result == 0 || result == -EROFS)
        result = empty(r, fd);
    close(fd);
    if (result < 0 || unlinkat(r->top, name, AT_REMOVEDIR) == 0)
        return result;
    if (errno == EBUSY)
        detach(r->top, name);
    return unlinkat(r->top, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -errno;
}

/* Returns 1 and the name of one directory in the top, or 0 when none is left.
 * Removes files on the way.
 */
static int
next_name(struct tree_removal *removal, char out[256])
{
    int top = removal->top;
    int copy = fcntl(top, F_DUPFD_CLOEXEC, 3);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    int r = 0;

    if (dir == NULL) {
        r = -errno;
        if (copy >= 0)
            close(copy);
        return r;
    }
    rewinddir(dir);
    for (struct dirent *e; r == 0 && (e = readdir(dir)) != NULL;) {
        if (is_late(removal))
            r = -EAGAIN;
        if (r < 0 || is_dots(e->d_name) || unlinkat(top, e->d_name, 0) == 0)
            continue;
        snprintf(out, 256, "%s", e->d_name);
        r = 1;
    }
    closedir(dir);
    return r;
}

static int
run(int parent, const char *name, int64_t until_us)
{
    struct tree_removal r = {
        .top = open_directory(parent, name),
        .until_us = until_us,
    };
    char next[256];
    int result;

    if (r.top < 0)
        return errno == ENOENT ? 0 : -errno;
    (void)own_directory(r.top);
    while ((result = next_name(&r, next)) > 0) {
        result = remove_directory(&r, next);
        if (result < 0)
            break;
    }
    close(r.top);
    if (result == 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        result = -errno;
    return result;
}

int
removal_run(int parent, const char *name)
{
    return run(parent, name, INT64_MAX);
}

int
removal_run_within(int parent, const char *name, int64_t ms)
{
    return run(parent, name, clock_monotonic_us(&clock_system) + ms * 1000);
}
