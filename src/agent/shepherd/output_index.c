/* SPDX-License-Identifier: Apache-2.0 */
/* Users expect times of output lines, as Kubernetes has them, but a pipe through the agent
 * would cost CPU for each byte and end with its reader. So output is a plain file, and beside
 * it stands how long it was at which time (decision 65), with fewer entries the longer a job
 * runs. The file may be on a server that the user runs, and whoever asks that server may wait
 * for ever; only what this machine knows is asked.
 */
#include "agent/shepherd/output_index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define MOUNTS_MOST (16u << 20)

static const char magic[8] = {'k', 'i', 'l', 'n', 't', 'm', 's', '1'};

static off_t
place_of(size_t entry)
{
    return (off_t)(sizeof(struct output_index_head) + entry * sizeof(struct output_index_entry));
}

static void
close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- Writing ---- */

/* An output that cannot be watched has no index; a reader then gets -ENODATA.
 */
/* The output as this machine knows it: whoever asks its file server may wait for
 * it, possibly for ever, and the job with its time limit is not supervised
 * meanwhile. Writes of this machine are known at once.
 */
static bool
read_size(int fd, struct statx *st)
{
    return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO | STATX_SIZE,
                 st)
           == 0;
}

/* Whether the file is in a file system that a user serves (FUSE): even to watch
 * it may ask that user.
 */
static bool
is_users(const struct statx *st)
{
    CLEANUP_STRBUF struct strbuf mounts = STRBUF_INIT;
    CLEANUP_FREE char *device = xasprintf(" %u:%u ", st->stx_dev_major, st->stx_dev_minor);
    char *save = NULL;

    if (file_read("/proc/self/mountinfo", MOUNTS_MOST, &mounts, NULL) < 0)
        return true;
    for (char *line = strtok_r(mounts.text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save))
        if (strstr(line, device) != NULL && strstr(line, " - fuse") != NULL
            && strstr(line, "user_id=0,") == NULL)
            return true;
    return false;
}

void
output_index_begin(struct output_index *o, const char *state_dir, pid_t job)
{
    char path[64];
    struct statx st;

    *o = (struct output_index){
        .directory = state_dir,
        .watch_fd = -1,
        .fd = -1,
        .pause_us = OUTPUT_INDEX_MS * 1000,
        .next_us = clock_monotonic_us(&clock_system) + OUTPUT_INDEX_MS * 1000,
    };
    snprintf(path, sizeof(path), "/proc/%ld/fd/1", (long)job);
    o->output_fd = open(path, O_PATH | O_CLOEXEC);
    if (o->output_fd >= 0 && (!read_size(o->output_fd, &st) || !S_ISREG(st.stx_mode)))
        close_fd(&o->output_fd);
}

static bool
is_resting(const struct output_index *o, int64_t now_us)
{
    return o->watch_fd < 0 || now_us < o->next_us;
}

int
output_index_watch(const struct output_index *o, int64_t now_us, int *ret_wait_ms)
{
    *ret_wait_ms = -1;
    if (o->output_fd < 0)
        return -1;
    if (!is_resting(o, now_us))
        return o->watch_fd;
    *ret_wait_ms = now_us < o->next_us ? (int)((o->next_us - now_us) / 1000) + 1 : 0;
    return -1;
}

/* Opens the index file, and a watch on the output, for a job that has run for a
 * while.
 */
static void
open_file(struct output_index *o)
{
    struct output_index_head head = {.generation = 0};
    CLEANUP_FREE char *path = xasprintf("%s/" OUTPUT_INDEX_NAME, o->directory);
    char output[64];
    struct statx st;

    memcpy(head.magic, magic, sizeof(magic));
    snprintf(output, sizeof(output), "/proc/self/fd/%d", o->output_fd);
    o->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    o->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (o->watch_fd < 0 || o->fd < 0 || !read_size(o->output_fd, &st) || is_users(&st)
        || inotify_add_watch(o->watch_fd, output, IN_MODIFY) < 0)
        goto give_up;
    head.device = makedev(st.stx_dev_major, st.stx_dev_minor);
    head.inode = st.stx_ino;
    if (write(o->fd, &head, sizeof(head)) == (ssize_t)sizeof(head))
        return;
give_up:
    if (o->fd >= 0)
        unlink(path);
    close_fd(&o->fd);
    close_fd(&o->watch_fd);
    close_fd(&o->output_fd);
}

static void
set_generation(struct output_index *o)
{
    o->generation++;
    (void)!pwrite(o->fd, &o->generation, sizeof(o->generation),
                  offsetof(struct output_index_head, generation));
}

/* Removes every second entry and keeps the last. */
static void
thin_out(struct output_index *o)
{
    const size_t bytes = o->count * sizeof(struct output_index_entry);
    struct output_index_entry *entries = malloc(bytes);
    uint32_t kept = 0;

    if (entries == NULL)
        return;
    set_generation(o);
    if (pread(o->fd, entries, bytes, place_of(0)) == (ssize_t)bytes) {
        for (uint32_t i = 1; i < o->count; i += 2)
            entries[kept++] = entries[i];
        (void)!pwrite(o->fd, entries, kept * sizeof(*entries), place_of(0));
        (void)!ftruncate(o->fd, place_of(kept));
        o->count = kept;
        o->pause_us *= 2;
    }
    set_generation(o);
    free(entries);
}

static void
add_entry(struct output_index *o, int64_t size)
{
    const struct output_index_entry entry = {
        .at_us = clock_real_us(&clock_system),
        .size = size,
    };

    if (size < o->size) { /* truncated and written again */
        set_generation(o);
        (void)!ftruncate(o->fd, place_of(0));
        o->count = 0;
        set_generation(o);
    } else if (o->count == OUTPUT_INDEX_MAX)
        thin_out(o);
    if (o->count < OUTPUT_INDEX_MAX
        && pwrite(o->fd, &entry, sizeof(entry), place_of(o->count)) == (ssize_t)sizeof(entry))
        o->count++;
    o->size = size;
}

static void
take_note(struct output_index *o)
{
    struct statx st;

    if (o->fd >= 0 && read_size(o->output_fd, &st) && (int64_t)st.stx_size != o->size)
        add_entry(o, (int64_t)st.stx_size);
}

void
output_index_note(struct output_index *o, int64_t now_us)
{
    char events[4096];
    bool has_news = o->watch_fd < 0;

    if (o->output_fd < 0 || now_us < o->next_us)
        return;
    if (o->watch_fd < 0)
        open_file(o);
    while (o->watch_fd >= 0 && read(o->watch_fd, events, sizeof(events)) > 0)
        has_news = true;
    take_note(o);
    if (has_news)
        o->next_us = now_us + o->pause_us;
}

void
output_index_end(struct output_index *o)
{
    if (o->output_fd >= 0)
        take_note(o);
}

/* ---- Reading ---- */

static int
read_head(int fd, struct output_index_head *head)
{
    ssize_t n = pread(fd, head, sizeof(*head), 0);

    if (n < 0)
        return -errno;
    if (n != (ssize_t)sizeof(*head) || memcmp(head->magic, magic, sizeof(magic)) != 0)
        return -EBADMSG;
    return head->generation % 2 != 0 ? -EAGAIN : 0;
}

int
output_index_read(int fd, struct output_index_copy *copy)
{
    const size_t most = OUTPUT_INDEX_MAX * sizeof(struct output_index_entry);
    struct output_index_head after;
    ssize_t n;
    int r = read_head(fd, &copy->head);

    if (r < 0)
        return r;
    if (copy->entries == NULL)
        copy->entries = xmalloc(most);
    n = pread(fd, copy->entries, most, place_of(0));
    if (n < 0)
        return -errno;
    copy->count = (size_t)n / sizeof(struct output_index_entry);
    r = read_head(fd, &after);
    return r == 0 && after.generation != copy->head.generation ? -EAGAIN : r;
}

size_t
output_index_find_size(const struct output_index_copy *copy, int64_t size)
{
    size_t low = 0, high = copy->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (copy->entries[middle].size < size)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t
output_index_find_time(const struct output_index_copy *copy, int64_t at_us)
{
    size_t low = 0, high = copy->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (copy->entries[middle].at_us < at_us)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
