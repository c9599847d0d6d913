/* SPDX-License-Identifier: Apache-2.0 */
/* The loop must never wait for a disk, and a log must never stop the cluster. So lines go to a
 * thread, which is woken seldom and writes many at once; when it cannot write, lines are
 * dropped and counted, and the number is written later, so that a gap is visible. A line is
 * whole or not there: what a full disk has cut off is truncated again.
 *
 * The store reserves space for the case of a full disk, which is what lets an administrator
 * delete something. A log beside it may use only a little of that.
 */
#include "controller/apiserver/access/audit_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/thread.h"

#define COMPLAIN_EVERY_S 60

struct audit_log {
    char *path; /* NULL: standard error */
    int64_t max_bytes;
    int64_t keep;
    bool is_beside_store; /* on the same file system */

    pthread_t thread;
    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t added; /* to an empty queue; not waited for in gather() */
    pthread_cond_t ends;
    struct strbuf queue;
    uint64_t n_queued; /* lines */
    uint64_t dropped;
    bool is_spared;  /* the store's disk is full */
    size_t n_spared; /* bytes added since then */
    char *trouble;   /* of the latest lines, or NULL */
    int trouble_code;
    bool is_ending;

    /* Only the thread uses these. */
    int fd;
    int64_t size;
    ino_t inode;
    uint64_t n_told; /* the value of `dropped` that the file has */
    time_t complained_at;
};

/* ---- The file ---- */

/* O_NONBLOCK, so that opening a pipe does not block either. */
static int
open_file(struct audit_log *a, struct error *err)
{
    struct stat st;

    a->fd =
        open(a->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (a->fd < 0 || fstat(a->fd, &st) < 0)
        return error_set(err, -errno, "'%s': %s", a->path, strerror(errno));
    a->size = st.st_size;
    a->inode = st.st_ino;
    return 0;
}

static void
close_file(struct audit_log *a)
{
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
}

/* Renames FILE.2 to FILE.3, FILE.1 to FILE.2, FILE to FILE.1; the oldest is
 * lost.
 */
static void
rotate(struct audit_log *a)
{
    close_file(a);
    if (a->keep == 0)
        (void)unlink(a->path);
    for (int64_t i = a->keep; i > 0; i--) {
        CLEANUP_FREE char *to = xasprintf("%s.%" PRId64, a->path, i);
        CLEANUP_FREE char *from =
            i > 1 ? xasprintf("%s.%" PRId64, a->path, i - 1) : xstrdup(a->path);

        (void)rename(from, to);
    }
}

/* Makes sure that there is a file to write to. A file that somebody has moved
 * away is closed, and a new one opened.
 */
static int
check_file(struct audit_log *a, struct error *err)
{
    struct stat st;

    if (a->path == NULL)
        return 0;
    if (a->fd >= 0 && (stat(a->path, &st) < 0 || st.st_ino != a->inode))
        close_file(a);
    if (a->fd >= 0 && a->size >= a->max_bytes)
        rotate(a);
    return a->fd >= 0 ? 0 : open_file(a, err);
}

/* Writes all of the text or nothing: text that a full disk has cut short is
 * truncated, so that every line of the file is complete.
 */
static int
write_text(struct audit_log *a, const struct strbuf *text, struct error *err)
{
    int r = check_file(a, err);

    if (r < 0)
        return r;
    r = fd_write_all(a->path != NULL ? a->fd : STDERR_FILENO, text->text, text->length);
    if (r < 0 && a->path != NULL && ftruncate(a->fd, a->size) < 0)
        close_file(a);
    if (r < 0)
        return error_set(err, r, "writing '%s': %s", a->path != NULL ? a->path : "standard error",
                         strerror(-r));
    a->size += (int64_t)text->length;
    return 0;
}

/* ---- The thread ---- */

static void
complain(struct audit_log *a, const struct error *err)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (a->complained_at != 0 && now.tv_sec < a->complained_at + COMPLAIN_EVERY_S)
        return;
    a->complained_at = now.tv_sec;
    log_warning("cannot write the audit log; its lines are dropped and "
                "counted: %s",
                err->text);
}

/* Adds the number of dropped lines before the next line. */
static void
note_dropped(struct audit_log *a, uint64_t dropped, struct strbuf *text)
{
    strbuf_printf(text, "%s{\"dropped\":%" PRIu64 "}\n", a->path == NULL ? "<4>audit: " : "",
                  dropped - a->n_told);
}

/* Call with the lock held. */
static void
note_trouble(struct audit_log *a, int code, const struct error *err)
{
    free(a->trouble);
    a->trouble = code < 0 ? xstrdup(err->text) : NULL;
    a->trouble_code = code;
}

static void
write_batch(struct audit_log *a, const struct strbuf *batch, uint64_t n_lines, uint64_t dropped)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct error err = {0};
    int r = 0;

    if (dropped > a->n_told)
        note_dropped(a, dropped, &text);
    strbuf_add(&text, batch->text, batch->length);
    if (text.length > 0)
        r = write_text(a, &text, &err);
    if (r == 0)
        a->n_told = dropped;
    else
        complain(a, &err);
    pthread_mutex_lock(&a->lock);
    note_trouble(a, r, &err);
    if (r < 0)
        a->dropped += n_lines;
    pthread_mutex_unlock(&a->lock);
}

/* Call with the lock held. Waits for further lines: writing each on its own
 * would cost its caller a wake-up of this thread.
 */
static void
gather(struct audit_log *a)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += AUDIT_LOG_GATHER_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    while (!a->is_ending && pthread_cond_timedwait(&a->ends, &a->lock, &until) == 0)
        ;
}

static void *
work(void *arg)
{
    struct audit_log *a = arg;
    struct strbuf batch = STRBUF_INIT;
    bool is_ending = false;

    while (!is_ending) {
        struct strbuf swapped;
        uint64_t n_lines, dropped;

        pthread_mutex_lock(&a->lock);
        while (a->queue.length == 0 && !a->is_ending)
            pthread_cond_wait(&a->added, &a->lock);
        gather(a);
        is_ending = a->is_ending;
        swapped = a->queue;
        a->queue = batch;
        batch = swapped;
        n_lines = a->n_queued;
        a->n_queued = 0;
        dropped = a->dropped;
        pthread_mutex_unlock(&a->lock);
        write_batch(a, &batch, n_lines, dropped);
        strbuf_truncate(&batch, 0);
    }
    strbuf_fini(&batch);
    return NULL;
}

/* ---- For all threads ---- */

void
audit_log_spare(struct audit_log *a, bool is_full)
{
    if (!a->is_beside_store)
        return;
    pthread_mutex_lock(&a->lock);
    a->is_spared = is_full;
    if (!is_full)
        a->n_spared = 0;
    pthread_mutex_unlock(&a->lock);
}

/* Call with the lock held. */
static bool
has_room(struct audit_log *a, size_t length)
{
    if (a->queue.length + length > AUDIT_LOG_QUEUE_BYTES)
        return false;
    if (!a->is_spared)
        return true;
    if (a->n_spared > AUDIT_LOG_SPARED_BYTES)
        return false;
    a->n_spared += length + 1;
    if (a->n_spared <= AUDIT_LOG_SPARED_BYTES)
        return true;
    log_warning("'%s' is on the store's disk, which is full: audit log lines "
                "are dropped and counted until there is space",
                a->path);
    return false;
}

void
audit_log_add(struct audit_log *a, const char *line, size_t length)
{
    pthread_mutex_lock(&a->lock);
    if (!has_room(a, length))
        a->dropped++;
    else {
        if (a->path == NULL)
            strbuf_add_text(&a->queue, "<5>audit: ");
        strbuf_add(&a->queue, line, length);
        strbuf_add_text(&a->queue, "\n");
        a->n_queued++;
        pthread_cond_signal(&a->added);
    }
    pthread_mutex_unlock(&a->lock);
}

uint64_t
audit_log_dropped(struct audit_log *a)
{
    uint64_t dropped;

    pthread_mutex_lock(&a->lock);
    dropped = a->dropped;
    pthread_mutex_unlock(&a->lock);
    return dropped;
}

/* A full or failing disk does not prevent the start: writing is tried again. A
 * file system that is read-only at the start is a mistake in the configuration
 * (a unit with ProtectSystem=strict makes most of them so), and remains one.
 */
static bool
is_passing(int r)
{
    return r == -ENOSPC || r == -EDQUOT || r == -EIO;
}

bool
audit_log_find_trouble(struct audit_log *a, struct strbuf *words, bool *ret_is_passing)
{
    bool has_trouble;

    pthread_mutex_lock(&a->lock);
    has_trouble = a->trouble != NULL;
    if (has_trouble)
        strbuf_add_text(words, a->trouble);
    *ret_is_passing = is_passing(a->trouble_code);
    pthread_mutex_unlock(&a->lock);
    return has_trouble;
}

/* ---- Life ---- */

static void
free_unstarted(struct audit_log *a)
{
    close_file(a);
    strbuf_fini(&a->queue);
    pthread_cond_destroy(&a->added);
    pthread_cond_destroy(&a->ends);
    pthread_mutex_destroy(&a->lock);
    free(a->trouble);
    free(a->path);
    free(a);
}

static bool
is_on_same_disk(const char *file, const char *directory)
{
    CLEANUP_FREE char *copy = xstrdup(file);
    struct stat of_file, of_directory;

    return stat(dirname(copy), &of_file) == 0 && stat(directory, &of_directory) == 0
           && of_file.st_dev == of_directory.st_dev;
}

static void
init_monotonic(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

int
audit_log_open(const struct audit_log_settings *settings, struct audit_log **ret_log,
               struct error *err)
{
    struct audit_log *a = xnew(struct audit_log);
    int r = 0;

    a->path = settings->path != NULL ? xstrdup(settings->path) : NULL;
    a->max_bytes = settings->max_bytes;
    a->keep = settings->keep;
    if (a->path != NULL && settings->store != NULL)
        a->is_beside_store = is_on_same_disk(a->path, settings->store);
    a->fd = -1;
    strbuf_init(&a->queue);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->added, NULL);
    init_monotonic(&a->ends);
    if (a->path != NULL)
        r = open_file(a, err);
    if (is_passing(r)) {
        complain(a, err);
        note_trouble(a, r, err);
        r = 0;
    }
    if (r == 0 && thread_start(&a->thread, "audit", work, a) != 0)
        r = error_set(err, -EAGAIN, "cannot start a thread for the audit log");
    if (r < 0) {
        free_unstarted(a);
        return r;
    }
    *ret_log = a;
    return 0;
}

void
audit_log_free(struct audit_log *a)
{
    if (a == NULL)
        return;
    pthread_mutex_lock(&a->lock);
    a->is_ending = true;
    pthread_cond_signal(&a->added);
    pthread_cond_signal(&a->ends);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    free_unstarted(a);
}
