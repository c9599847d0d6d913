/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/directory/disk_reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"

#define OF_FILE_SYSTEM 8 /* at most this part of the file system: an eighth */

struct disk_reserve {
    char *directory;
    char *file;
    int64_t bytes;
};

static bool
ask_file_system(const struct disk_reserve *s, struct statvfs *ret_fs)
{
    if (statvfs(s->directory, ret_fs) == 0)
        return true;
    log_debug("reading the free space of the file system of '%s' failed: %m", s->directory);
    return false;
}

struct disk_reserve *
disk_reserve_open(const char *directory, int64_t bytes)
{
    struct disk_reserve *s = xnew(struct disk_reserve);
    struct statvfs fs;
    int64_t part;

    s->directory = xstrdup(directory);
    s->file = xasprintf("%s/reserve", directory);
    s->bytes = bytes;
    if (ask_file_system(s, &fs)) {
        part = (int64_t)fs.f_blocks * (int64_t)fs.f_frsize / OF_FILE_SYSTEM;
        if (part < bytes)
            s->bytes = part;
    }
    return s;
}

void
disk_reserve_close(struct disk_reserve *s)
{
    if (s == NULL)
        return;
    free(s->directory);
    free(s->file);
    free(s);
}

int64_t
disk_reserve_bytes(const struct disk_reserve *s)
{
    return s->bytes;
}

int64_t
disk_reserve_available(const struct disk_reserve *s)
{
    struct statvfs fs;

    return ask_file_system(s, &fs) ? (int64_t)fs.f_bavail * (int64_t)fs.f_frsize : 0;
}

/* Checks the blocks, not only the length: a file with holes reserves no space.
 */
static bool
is_held(const struct disk_reserve *s)
{
    struct stat file;

    return stat(s->file, &file) == 0 && file.st_size >= s->bytes
           && file.st_blocks * 512 >= s->bytes / 2;
}

static bool
allocate(const struct disk_reserve *s)
{
    CLEANUP_FD int fd = open(s->file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int r;

    if (fd < 0)
        return false;
    r = posix_fallocate(fd, 0, s->bytes);
    if (r != 0)
        log_debug("reserving '%s' failed: %s", s->file, strerror(r));
    return r == 0 && fsync(fd) == 0;
}

bool
disk_reserve_hold(struct disk_reserve *s)
{
    if (s->bytes <= 0)
        return disk_reserve_available(s) > 0;
    if (is_held(s))
        return disk_reserve_available(s) > 0;
    if (disk_reserve_available(s) < 2 * s->bytes)
        return false;
    if (allocate(s))
        return true;
    (void)unlink(s->file);
    return false;
}

bool
disk_reserve_release(struct disk_reserve *s)
{
    return unlink(s->file) == 0;
}
