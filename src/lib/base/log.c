/* SPDX-License-Identifier: Apache-2.0 */
/* A record is one line whatever a name contains, or a user could write lines of his own into
 * an administrator's log. The room of a message is taken from the path of its source file, so
 * that nobody has to name it and a moved file keeps the log right.
 */
#include "lib/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static _Atomic int current_level = LOG_LEVEL_INFO;
static _Thread_local bool is_mute;

static const struct {
    const char *name;
    int journal;
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", 3},
    [LOG_LEVEL_WARNING] = {"warning", 4},
    [LOG_LEVEL_INFO] = {"info", 6},
    [LOG_LEVEL_DEBUG] = {"debug", 7},
};

void
log_set_level(enum log_level level)
{
    atomic_store(&current_level, level);
}

enum log_level
log_level(void)
{
    return atomic_load_explicit(&current_level, memory_order_relaxed);
}

bool
log_mute(bool is_muted)
{
    bool was_muted = is_mute;

    is_mute = is_muted;
    return was_muted;
}

/* The second folder of the path is the room, with any folders inside it:
 * "controller/store/engine/schema.c" is of the room "store". A file directly in
 * a program's folder has the program's name.
 */
static void
room_of(const char *file, char *room, size_t size)
{
    size_t program = strcspn(file, "/");
    const char *start = file;
    size_t length = program;

    if (file[program] == '\0') {
        snprintf(room, size, "kiln");
        return;
    }
    if (strchr(file + program + 1, '/') != NULL) {
        start = file + program + 1;
        length = strcspn(start, "/");
    }
    snprintf(room, size, "%.*s", (int)length, start);
}

/* JOURNAL_STREAM names the stream that systemd opened; standard error may have
 * been redirected since.
 */
static bool
is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long device, inode;
    struct stat st;

    return stream != NULL && sscanf(stream, "%lu:%lu", &device, &inode) == 2
           && fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

static size_t
write_prefix(char *line, size_t size, enum log_level level, const char *room)
{
    struct timespec now;
    struct tm tm;
    char date[32];
    int used;

    if (is_journal()) {
        used = snprintf(line, size, "<%d>%s: ", levels[level].journal, room);
        return (size_t)used;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
    used = snprintf(line, size, "%s.%03ldZ %-7s %s: ", date, now.tv_nsec / 1000000,
                    levels[level].name, room);
    return (size_t)used;
}

void
log_write(enum log_level level, const char *file, const char *format, ...)
{
    char line[2048];
    char room[32];
    size_t used;
    int length;
    va_list args;
    int saved = errno;

    if (level > log_level() || is_mute)
        return;
    room_of(file, room, sizeof(room));
    used = write_prefix(line, sizeof(line) - 1, level, room);
    va_start(args, format);
    length = vsnprintf(line + used, sizeof(line) - 1 - used, format, args);
    va_end(args);
    if (length > 0)
        used += (size_t)length;
    if (used > sizeof(line) - 2)
        used = sizeof(line) - 2;
    /* One record is one line, even if a name from a peer contains control
     * characters.
     */
    for (size_t i = 0; i < used; i++)
        if ((unsigned char)line[i] < 0x20)
            line[i] = ' ';
    line[used++] = '\n';
    while (write(STDERR_FILENO, line, used) < 0 && errno == EINTR)
        ;
    errno = saved;
}

void
log_abort_in_tests(void)
{
    if (getenv("KILN_ABORT_ON_FAULT") != NULL)
        abort();
}
