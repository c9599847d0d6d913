/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/output/line_times.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define WHOLE_US    INT64_C(2000000) /* shorter jobs need no output index */
#define STEP_MS     20
#define BEGINS_MS   500 /* wait for a new index */
#define COVERS_MS   300 /* wait for a line's entry */
#define THINNING_MS 200

void
line_times_begin(struct line_times *t, const char *directory, int64_t started_us)
{
    *t = (struct line_times){
        .directory_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC),
        .fd = -1,
        .output_fd = -1,
        .started_us = started_us,
    };
}

static void
pause_for(int ms)
{
    const struct timespec time = {.tv_nsec = ms * 1000000L};

    nanosleep(&time, NULL);
}

static int64_t
modified_us(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000 + st->st_mtim.tv_nsec / 1000;
}

/* Loads the index, if it belongs to this output: a job may have continued in
 * another file.
 */
static int
load(struct line_times *t)
{
    struct stat st;
    int r = -EAGAIN;

    if (t->fd < 0)
        return -ENOENT;
    for (int ms = 0; r == -EAGAIN && ms < THINNING_MS; ms += STEP_MS) {
        r = output_index_read(t->fd, &t->copy);
        if (r == -EAGAIN)
            pause_for(STEP_MS);
    }
    if (r == 0 && fstat(t->output_fd, &st) < 0)
        r = -errno;
    if (r == 0 && (st.st_dev != t->copy.head.device || st.st_ino != t->copy.head.inode))
        r = -ENODATA;
    return r;
}

static bool
is_young(const struct line_times *t)
{
    return t->started_us != 0 && clock_real_us(&clock_system) - t->started_us < WHOLE_US;
}

void
line_times_open(struct line_times *t)
{
    for (int ms = 0; t->fd < 0; ms += STEP_MS) {
        t->fd = openat(t->directory_fd, OUTPUT_INDEX_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (t->fd >= 0 || errno != ENOENT || !is_young(t) || ms >= BEGINS_MS)
            return;
        pause_for(STEP_MS);
    }
}

int
line_times_find(struct line_times *t, int output_fd)
{
    struct stat st;
    int r;

    t->output_fd = output_fd;
    r = load(t);
    if (r == 0)
        return 0;
    if (t->started_us == 0 || fstat(output_fd, &st) < 0
        || modified_us(&st) - t->started_us >= WHOLE_US)
        return -ENODATA;
    t->all_us = modified_us(&st);
    return 0;
}

int64_t
line_times_get(struct line_times *t, off_t end, bool waits)
{
    size_t at = output_index_find_size(&t->copy, end);

    if (t->all_us != 0)
        return t->all_us;
    for (int ms = 0; at == t->copy.count && ms <= COVERS_MS; ms += STEP_MS) {
        if (ms > 0)
            pause_for(STEP_MS);
        if (load(t) == 0)
            at = output_index_find_size(&t->copy, end);
        if (!waits)
            break;
    }
    return at < t->copy.count ? t->copy.entries[at].at_us : clock_real_us(&clock_system);
}

off_t
line_times_offset(const struct line_times *t, int64_t since_us, off_t size)
{
    size_t at = output_index_find_time(&t->copy, since_us);

    if (t->all_us != 0)
        return t->all_us >= since_us ? 0 : size;
    return at > 0 ? t->copy.entries[at - 1].size : 0;
}

int
line_times_format(int64_t at_us, char out[LINE_TIMES_TEXT_SIZE])
{
    time_t seconds = at_us / 1000000;
    struct tm parts;
    int n;

    gmtime_r(&seconds, &parts);
    n = (int)strftime(out, LINE_TIMES_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);
    return n
           + snprintf(out + n, LINE_TIMES_TEXT_SIZE - (size_t)n, ".%06ld000Z ",
                      (long)(at_us % 1000000));
}
