/* SPDX-License-Identifier: Apache-2.0 */
/* Anybody may write to /tmp, so a directory of a name that can be guessed can be made by
 * somebody else first. Names are random, and only the job gets the path. To end a job must not
 * wait for the removal of a million files: the directory is renamed away and emptied later,
 * and ever more seldom while a process is still writing to it.
 */
#include "agent/volumes/tmp_dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/volumes/removal.h"
#include "lib/base/alloc.h"
#include "lib/base/backoff.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"

#define GONE          ".gone"
#define PARENT_PREFIX "kiln-"
#define PARENT_BYTES  4u  /* need not be secret, only unused */
#define NAME_BYTES    16u /* 128 bits */
#define TRIES         16
#define REMOVE_MS     1000
#define SWEEP_MS      1000
#define PAUSE_FIRST   1000
#define PAUSE_LAST    60000

struct tmp_dirs {
    struct tmp_dirs_settings s;
    char *tmp_dir;
    char *record; /* file in the state directory with the parent's path */
    pthread_mutex_t lock;
    char *parent;        /* under the lock; NULL: none was made yet */
    struct timer *timer; /* used by the loop, as all below */
    int64_t pause_ms;
    bool is_sweeping;
    bool is_freed;
    unsigned left; /* directories that the last sweep left */
};

static void
random_name(unsigned n_bytes, const char *prefix, char out[64])
{
    unsigned char bytes[NAME_BYTES];
    int at = snprintf(out, 64, "%s", prefix);

    random_bytes(bytes, n_bytes);
    for (unsigned i = 0; i < n_bytes; i++)
        at += snprintf(out + at, 64 - (size_t)at, "%02x", bytes[i]);
}

/* ---- The agent's directory ---- */

/* Whether the directory is still ours, and only we can write to it. */
static bool
is_ours(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid()
           && (st.st_mode & 0777) == 0711;
}

static int
make_parent(struct tmp_dirs *t, struct error *err)
{
    char name[64];

    for (int i = 0; i < TRIES; i++) {
        CLEANUP_FREE char *path = NULL;

        random_name(PARENT_BYTES, PARENT_PREFIX, name);
        path = xasprintf("%s/%s", t->tmp_dir, name);
        if (mkdir(path, 0700) < 0 && errno == EEXIST)
            continue;
        if (!is_ours(path) && chmod(path, 0711) < 0)
            return error_set(err, -errno,
                             "cannot create a directory for TMPDIRs in '%s': "
                             "%s",
                             t->tmp_dir, strerror(errno));
        free(t->parent);
        t->parent = xstrdup(path);
        return file_write_atomic(t->record, 0600, path, strlen(path), err);
    }
    return error_set(err, -EEXIST, "no free name in '%s'", t->tmp_dir);
}

/* The path of the parent, which is made if necessary; the caller frees it. */
static int
dup_parent(struct tmp_dirs *t, char **ret_path, struct error *err)
{
    int r = 0;

    pthread_mutex_lock(&t->lock);
    if (t->parent == NULL || !is_ours(t->parent))
        r = make_parent(t, err);
    if (r == 0)
        *ret_path = xstrdup(t->parent);
    pthread_mutex_unlock(&t->lock);
    return r;
}

/* Reads the recorded parent, and ignores it if it is below another tmpDir than
 * the present one.
 */
static void
read_record(struct tmp_dirs *t)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    size_t length = strlen(t->tmp_dir);

    if (file_read(t->record, 4096, &text, NULL) == 0 && strncmp(text.text, t->tmp_dir, length) == 0
        && strncmp(text.text + length, "/" PARENT_PREFIX, 6) == 0
        && strchr(text.text + length + 1, '/') == NULL && is_ours(text.text))
        t->parent = strbuf_take(&text);
}

/* ---- The directory of one job ---- */

int
tmp_dirs_name(struct tmp_dirs *t, char **ret_path, struct error *err)
{
    CLEANUP_FREE char *parent = NULL;
    char name[64];
    int r = dup_parent(t, &parent, err);

    if (r < 0)
        return r;
    random_name(NAME_BYTES, "", name);
    *ret_path = xasprintf("%s/%s", parent, name);
    return 0;
}

int
tmp_dirs_check(struct tmp_dirs *t, struct error *err)
{
    CLEANUP_FREE char *path = NULL;
    int r = tmp_dirs_name(t, &path, err);

    if (r < 0)
        return r;
    if (mkdir(path, 0700) < 0 || rmdir(path) < 0)
        return error_set(err, -errno, "cannot create a TMPDIR in '%s': %s", t->tmp_dir,
                         strerror(errno));
    return 0;
}

/* Opens "PARENT/.gone", which is made if necessary. */
static int
open_gone(const char *parent)
{
    CLEANUP_FREE char *path = xasprintf("%s/" GONE, parent);

    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The parent is taken from the path, because it may be an earlier agent's. */
int
tmp_dirs_remove(UNUSED struct tmp_dirs *t, const char *path, bool *ret_left, struct error *err)
{
    const char *slash = strrchr(path, '/');
    CLEANUP_FREE char *parent = xstrndup(path, (size_t)(slash - path));
    CLEANUP_FD int gone = -1;
    int r;

    if (rmdir(path) == 0 || errno == ENOENT)
        return 0; /* most are empty already */
    gone = open_gone(parent);
    r = gone < 0 ? gone : 0;
    if (r == 0 && renameat(AT_FDCWD, path, gone, slash + 1) < 0)
        r = -errno;
    if (r == -EBUSY) { /* the job's user has mounted something there */
        removal_detach(path);
        r = renameat(AT_FDCWD, path, gone, slash + 1) < 0 ? -errno : 0;
    }
    if (r == 0)
        r = removal_run_within(gone, slash + 1, REMOVE_MS);
    *ret_left = r < 0 && gone >= 0;
    if (r < 0 && r != -EAGAIN)
        return error_set(err, r, "removing '%s': %s", path, strerror(-r));
    return 0;
}

/* ---- Sweeps of the directories in .gone ---- */

static DIR *
list(const char *path)
{
    return path != NULL ? opendir(path) : NULL;
}

static unsigned
sweep(const char *parent)
{
    CLEANUP_FREE char *path = xasprintf("%s/" GONE, parent);
    DIR *dir = list(path);
    unsigned left = 0;

    if (dir == NULL)
        return 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.')
            left += removal_run_within(dirfd(dir), e->d_name, SWEEP_MS) < 0;
    closedir(dir);
    return left;
}

static void
sweep_work(void *arg)
{
    struct tmp_dirs *t = arg;
    CLEANUP_FREE char *parent = NULL;

    pthread_mutex_lock(&t->lock);
    if (t->parent != NULL)
        parent = xstrdup(t->parent);
    pthread_mutex_unlock(&t->lock);
    t->left = parent != NULL ? sweep(parent) : 0;
}

static void
destroy(struct tmp_dirs *t)
{
    pthread_mutex_destroy(&t->lock);
    free(t->tmp_dir);
    free(t->record);
    free(t->parent);
    free(t);
}

/* A process may still write to a directory, so sweeps become less frequent. */
static void
sweep_done(void *arg)
{
    struct tmp_dirs *t = arg;

    t->is_sweeping = false;
    if (t->is_freed) {
        destroy(t);
        return;
    }
    if (t->left == 0) {
        t->pause_ms = 0;
        return;
    }
    t->pause_ms = backoff_next(t->pause_ms, PAUSE_FIRST, PAUSE_LAST);
    if (t->pause_ms == PAUSE_LAST)
        log_warning("%u TMPDIRs of ended jobs cannot be removed from '%s/" GONE
                    "' yet; does a process still write there?",
                    t->left, t->parent);
    timer_start(t->timer, t->pause_ms);
}

static void
sweep_now(void *arg)
{
    struct tmp_dirs *t = arg;

    if (t->is_sweeping)
        return;
    t->is_sweeping = true;
    workers_submit(t->s.workers, t->s.loop, sweep_work, sweep_done, t);
}

void
tmp_dirs_sweep_soon(struct tmp_dirs *t)
{
    if (t->timer != NULL && !t->is_sweeping && !timer_is_running(t->timer))
        timer_start(t->timer, 0);
}

void
tmp_dirs_collect(struct tmp_dirs *t, bool (*is_used)(const char *path, void *context),
                 void *context)
{
    DIR *dir = list(t->parent);
    CLEANUP_FD int gone = -1;
    bool any = false;

    if (dir == NULL)
        return;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        CLEANUP_FREE char *path = xasprintf("%s/%s", t->parent, e->d_name);

        any = any || strcmp(e->d_name, GONE) == 0;
        if (e->d_name[0] == '.' || is_used(path, context)
            || unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR) == 0)
            continue;
        if (gone < 0)
            gone = open_gone(t->parent);
        any = any || (gone >= 0 && renameat(dirfd(dir), e->d_name, gone, e->d_name) == 0);
    }
    closedir(dir);
    if (any)
        tmp_dirs_sweep_soon(t);
}

/* ---- Life ---- */

struct tmp_dirs *
tmp_dirs_new(const struct tmp_dirs_settings *settings)
{
    struct tmp_dirs *t = xnew(struct tmp_dirs);

    t->s = *settings;
    t->tmp_dir = xstrdup(settings->tmp_dir);
    t->record = xasprintf("%s/tmp-dirs", settings->state_dir);
    pthread_mutex_init(&t->lock, NULL);
    if (t->s.loop != NULL)
        t->timer = timer_new(t->s.loop, sweep_now, t);
    read_record(t);
    return t;
}

void
tmp_dirs_free(struct tmp_dirs *t, bool is_idle)
{
    if (t == NULL)
        return;
    timer_free(t->timer);
    t->timer = NULL;
    if (is_idle && t->parent != NULL) {
        CLEANUP_FREE char *gone = xasprintf("%s/" GONE, t->parent);

        rmdir(gone);
        if (rmdir(t->parent) == 0)
            unlink(t->record);
    }
    t->is_freed = true;
    if (!t->is_sweeping)
        destroy(t);
}
