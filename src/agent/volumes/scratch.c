/* SPDX-License-Identifier: Apache-2.0 */
/* A volume appears and disappears by a rename, so a name of the API is either a whole volume
 * or none, whenever the agent is killed; whatever begins with a dot is finished or removed at
 * the next start. Names come from the API and must not lead out of the directory. The quota is
 * set before the owner, who may write from that moment on.
 */
#include "agent/volumes/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/volumes/project_quota.h"
#include "agent/volumes/removal.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"

#define VOLUME_PREFIX "pvc-"
#define NEW_PREFIX    ".new-"
#define GONE_PREFIX   ".gone-"
#define INSIDE        "volume" /* name in a directory that is being emptied */

/* Project ids from this one on are ours ("KIL"). */
#define FIRST_PROJECT UINT32_C(0x4b494c00)

struct scratch {
    char *dir;
    int fd;
    int64_t capacity;
    bool has_quota;
    bool is_root;
    atomic_uint next_project;
};

/* --- life ----------------------------------------------------------------- */

void
scratch_close(struct scratch *s)
{
    if (s == NULL)
        return;
    if (s->fd >= 0)
        close(s->fd);
    free(s->dir);
    free(s);
}

static int
check_directory(const struct scratch *s, struct error *err)
{
    struct stat st;

    if (fstat(s->fd, &st) < 0)
        return error_set(err, -errno, "'%s': %s", s->dir, strerror(errno));
    if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
        return error_set(err, -EPERM,
                         "users other than the agent's can write to '%s'; "
                         "make it owned by the agent's user, with mode 0711",
                         s->dir);
    return 0;
}

/* Uses the capacity of the file system, if the directory has one of its own. */
static int
use_file_system(struct scratch *s, struct error *err)
{
    CLEANUP_FREE char *above = xasprintf("%s/..", s->dir);
    struct statvfs fs;
    struct stat here, there;

    if (fstat(s->fd, &here) < 0 || stat(above, &there) < 0 || fstatvfs(s->fd, &fs) < 0)
        return error_set(err, -errno, "'%s': %s", s->dir, strerror(errno));
    if (here.st_dev == there.st_dev)
        return error_set(err, -EINVAL,
                         "'%s' is not a separate file system: set "
                         "scratchCapacity to the part of it that volumes may "
                         "use",
                         s->dir);
    s->capacity = (int64_t)((fs.f_blocks - (fs.f_bfree - fs.f_bavail)) * fs.f_frsize);
    return 0;
}

static bool
has_prefix(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static DIR *
list(const struct scratch *s)
{
    int fd = openat(s->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (dir == NULL && fd >= 0)
        close(fd);
    return dir;
}

static int
open_volume(const struct scratch *s, const char *name)
{
    return openat(s->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Finds the first project id that no volume has. */
static void
count_projects(struct scratch *s)
{
    uint32_t next = FIRST_PROJECT;
    DIR *dir = list(s);

    if (dir != NULL) {
        for (struct dirent *e; (e = readdir(dir)) != NULL;) {
            CLEANUP_FD int fd =
                has_prefix(e->d_name, VOLUME_PREFIX) ? open_volume(s, e->d_name) : -1;
            uint32_t project = fd >= 0 ? project_quota_of(fd) : 0;

            if (project >= next)
                next = project + 1;
        }
        closedir(dir);
    }
    atomic_store(&s->next_project, next);
}

int
scratch_open(const char *dir, int64_t capacity_bytes, struct scratch **ret_scratch,
             struct error *err)
{
    CLEANUP(scratch_closep) struct scratch *s = xnew(struct scratch);
    int r;

    s->dir = xstrdup(dir);
    s->capacity = capacity_bytes;
    s->is_root = geteuid() == 0;
    s->fd = -1;
    r = dir_make(dir, 0711, err);
    if (r < 0)
        return r;
    s->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->fd < 0)
        return error_set(err, -errno, "'%s': %s", dir, strerror(errno));
    r = check_directory(s, err);
    if (r == 0 && capacity_bytes == 0)
        r = use_file_system(s, err);
    if (r < 0)
        return r;
    s->has_quota = s->is_root && project_quota_is_kept(s->fd);
    count_projects(s);
    *ret_scratch = s;
    s = NULL;
    return 0;
}

/* --- look ----------------------------------------------------------------- */

const char *
scratch_dir(const struct scratch *s)
{
    return s->dir;
}

int64_t
scratch_capacity(const struct scratch *s)
{
    return s->capacity;
}

bool
scratch_has_quota(const struct scratch *s)
{
    return s->has_quota;
}

/* --- making --------------------------------------------------------------- */

/* Names come from the API, so they must not point outside the directory. */
static int
check_name(const char *name, struct error *err)
{
    if (has_prefix(name, VOLUME_PREFIX) && strchr(name, '/') == NULL && strlen(name) < 240)
        return 0;
    return error_set(err, -EINVAL, "'%s' is not a valid name for a volume of a node", name);
}

static int
check_room(const struct scratch *s, int64_t bytes, struct error *err)
{
    struct statvfs fs;
    int64_t room;

    if (fstatvfs(s->fd, &fs) < 0)
        return error_set(err, -errno, "'%s': %s", s->dir, strerror(errno));
    room = (int64_t)(fs.f_bavail * fs.f_frsize);
    if (room >= bytes)
        return 0;
    return error_set(err, -ENOSPC, "'%s' has %lld MiB left, but %lld MiB are requested", s->dir,
                     (long long)(room >> 20), (long long)(bytes >> 20));
}

/* Sets the quota before the owner, because the owner can write from then on. */
static int
set_up_volume(struct scratch *s, int fd, const struct scratch_volume *v, struct error *err)
{
    uint32_t project = s->has_quota ? project_quota_of(fd) : 0;

    if (s->has_quota) {
        if (project < FIRST_PROJECT)
            project = atomic_fetch_add(&s->next_project, 1);
        if (project_quota_limit(fd, project, v->bytes, err) < 0)
            return -EIO;
    }
    if (s->is_root && fchown(fd, v->uid, v->gid) < 0)
        return error_set(err, -errno, "giving volume '%s' to uid %u: %s", v->name, (unsigned)v->uid,
                         strerror(errno));
    return 0;
}

static int
make_volume(struct scratch *s, const struct scratch_volume *v, struct error *err)
{
    CLEANUP_FREE char *name = xasprintf(NEW_PREFIX "%s", v->name);
    CLEANUP_FD int fd = -1;
    int r = check_room(s, v->bytes, err);

    if (r < 0)
        return r;
    if (mkdirat(s->fd, name, 0700) < 0 && errno != EEXIST)
        return error_set(err, -errno, "making '%s/%s': %s", s->dir, v->name, strerror(errno));
    fd = open_volume(s, name);
    if (fd < 0)
        return error_set(err, -errno, "'%s/%s': %s", s->dir, name, strerror(errno));
    r = set_up_volume(s, fd, v, err);
    if (r < 0)
        return r;
    if (renameat2(s->fd, name, s->fd, v->name, RENAME_NOREPLACE) < 0 || fsync(s->fd) < 0)
        return error_set(err, -errno, "making '%s/%s': %s", s->dir, v->name, strerror(errno));
    return 0;
}

int
scratch_make(struct scratch *s, const struct scratch_volume *v, struct error *err)
{
    CLEANUP_FD int fd = -1;
    int r = check_name(v->name, err);

    if (r < 0)
        return r;
    fd = open_volume(s, v->name);
    return fd >= 0 ? 0 : make_volume(s, v, err);
}

/* --- removing ------------------------------------------------------------- */

/* Renames the volume into a directory of our own, where its owner cannot reach
 * it, before it is emptied.
 */
static int
rename_gone(struct scratch *s, const char *name, const char *gone)
{
    CLEANUP_FD int around = -1;
    CLEANUP_FD int volume = open_volume(s, name);
    uint32_t project;

    if (mkdirat(s->fd, gone, 0700) < 0 && errno != EEXIST)
        return -errno;
    around = open_volume(s, gone);
    if (around < 0)
        return -errno;
    if (volume >= 0 && s->has_quota) {
        project = project_quota_of(volume);
        if (project >= FIRST_PROJECT)
            project_quota_lift(volume, project);
    }
    if (renameat(s->fd, name, around, INSIDE) < 0 && errno != ENOENT)
        return -errno;
    return 0;
}

int
scratch_remove(struct scratch *s, const char *name, struct error *err)
{
    CLEANUP_FREE char *gone = xasprintf(GONE_PREFIX "%s", name);
    CLEANUP_FREE char *unfinished = xasprintf(NEW_PREFIX "%s", name);
    int r = check_name(name, err);

    if (r < 0)
        return r;
    r = rename_gone(s, name, gone);
    if (r == 0)
        r = removal_run(s->fd, gone);
    if (r == 0 && unlinkat(s->fd, unfinished, AT_REMOVEDIR) < 0 && errno != ENOENT)
        r = -errno;
    if (r < 0)
        return error_set(err, r, "removing '%s/%s': %s", s->dir, name, strerror(-r));
    return 0;
}

unsigned
scratch_tidy(struct scratch *s)
{
    unsigned count = 0;
    DIR *dir = list(s);

    if (dir == NULL)
        return 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (has_prefix(e->d_name, GONE_PREFIX))
            count += removal_run(s->fd, e->d_name) == 0;
    closedir(dir);
    return count;
}
