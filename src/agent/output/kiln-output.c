/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-output - read a job's output file as the user it belongs to
 *
 * The agent starts it for one reader. It becomes the user for good before it
 * opens the path, so that it reads nothing that the user may not read. For a
 * pod that is gone, it uses the user and the path that the agent has noted. It
 * ends at the end of the file; when it follows, it ends at the end of the file
 * after its standard input is closed, because then the job is over. One line on
 * standard error describes an error.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/output/line_times.h"
#include "agent/records/output_record.h"
#include "lib/base/fd.h"

#define PIECE       65536
#define LOOK_MS     200
#define GIVE_UP_S   30 /* user database that does not answer */
#define TAIL_BLOCKS 65536

struct output_request {
    uid_t uid;
    gid_t gid;
    bool follow;
    int64_t tail;  /* lines; -1: all */
    int64_t limit; /* bytes; -1: all */
    bool timestamps;
    int64_t since_us; /* real time; 0: all */
    const char *path;
    struct line_times times;
};

static void __attribute__((noreturn, format(printf, 2, 3)))
fail(int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    exit(status);
}

/* An exit status tells the agent the HTTP status, less 400 to fit; 99 is 400
 * itself.
 */
#define BAD       99
#define NOT_FOUND (404 - 400)
#define FORBIDDEN (403 - 400)
#define FAILED    100

static void
become_user(const struct output_request *w)
{
    const struct passwd *p;

    if (geteuid() != 0)
        return; /* rootless: the agent is the user */
    alarm(GIVE_UP_S);
    p = getpwuid(w->uid);
    if ((p != NULL ? initgroups(p->pw_name, w->gid) : setgroups(0, NULL)) < 0
        || setresgid(w->gid, w->gid, w->gid) < 0 || setresuid(w->uid, w->uid, w->uid) < 0)
        fail(FAILED, "becoming uid %u: %s", w->uid, strerror(errno));
    if (w->uid != 0 && setuid(0) == 0)
        fail(FAILED, "uid %u can become root again", w->uid);
    alarm(0);
}

static int
open_output(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        fail(errno == ENOENT ? NOT_FOUND : FORBIDDEN, "the output file '%s': %s", path,
             strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        fail(NOT_FOUND, "'%s' is not a regular file: its output is not kept", path);
    return fd;
}

/* The offset of the last `lines` lines, found from the end in blocks. */
static off_t
find_tail(int fd, int64_t lines)
{
    static char block[TAIL_BLOCKS];
    off_t at = lseek(fd, 0, SEEK_END);
    bool last = true; /* a final newline ends the last line, and begins none */

    if (lines == 0)
        return at;
    while (at > 0) {
        size_t n = at < (off_t)sizeof(block) ? (size_t)at : sizeof(block);
        ssize_t got = pread(fd, block, n, at - (off_t)n);

        if (got != (ssize_t)n)
            return 0;
        for (size_t i = n; i-- > 0; last = false)
            if (block[i] == '\n' && !last && lines-- == 1)
                return at - (off_t)n + (off_t)i + 1;
        at -= (off_t)n;
    }
    return 0;
}

/* False when the limit is reached. */
static bool
copy_rest(int fd, int64_t *limit)
{
    static char piece[PIECE];

    for (;;) {
        size_t n = sizeof(piece);
        ssize_t got;

        if (*limit >= 0 && *limit < (int64_t)n)
            n = (size_t)*limit;
        if (n == 0)
            return false;
        got = read(fd, piece, n);
        if (got < 0)
            fail(FAILED, "reading: %s", strerror(errno));
        if (got == 0)
            return true;
        if (fd_write_all(STDOUT_FILENO, piece, (size_t)got) < 0)
            exit(0); /* the reader has gone */
        if (*limit >= 0)
            *limit -= got;
    }
}

/* Waits a little for more output; false when standard input was closed. */
static bool
wait_for_more(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    char byte;

    if (poll(&in, 1, LOOK_MS) <= 0)
        return true;
    return read(STDIN_FILENO, &byte, 1) > 0;
}

/* The offset where the line begins that contains `at`, or ends just before it.
 */
static off_t
find_line(int fd, off_t at)
{
    static char block[TAIL_BLOCKS];

    while (at > 0) {
        size_t n = at < (off_t)sizeof(block) ? (size_t)at : sizeof(block);
        ssize_t got = pread(fd, block, n, at - (off_t)n);

        if (got != (ssize_t)n)
            return 0;
        for (size_t i = n; i-- > 0;)
            if (block[i] == '\n')
                return at - (off_t)n + (off_t)i + 1;
        at -= (off_t)n;
    }
    return 0;
}

static void
go_to_begin(struct output_request *w, int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    off_t at = w->tail >= 0 ? find_tail(fd, w->tail) : 0;

    if (w->since_us > 0) {
        off_t since = line_times_offset(&w->times, w->since_us, size);

        /* A line that began before this offset but ends after it belongs to the
         * period, too.
         */
        since = since > size ? 0 : find_line(fd, since);
        at = since > at ? since : at;
    }
    (void)lseek(fd, at, SEEK_SET);
}

/* A line that is read but not written yet. */
struct output_line {
    char text[PIECE];
    size_t length;
    off_t end; /* in the file */
};

/* False when the limit is reached. Ends the program when the reader has gone.
 */
static bool
put(const char *text, size_t length, int64_t *limit)
{
    if (*limit >= 0 && *limit < (int64_t)length)
        length = (size_t)*limit;
    if (length > 0 && fd_write_all(STDOUT_FILENO, text, length) < 0)
        exit(0);
    if (*limit >= 0)
        *limit -= (int64_t)length;
    return *limit != 0;
}

static bool
put_line(struct output_request *w, struct output_line *line, bool is_live, int64_t *limit)
{
    char time[LINE_TIMES_TEXT_SIZE];
    size_t length = line->length;

    if (length == 0)
        return true;
    line->length = 0;
    return put(time, (size_t)line_times_format(line_times_get(&w->times, line->end, is_live), time),
               limit)
           && put(line->text, length, limit);
}

/* Writes all complete lines; a line longer than a piece is cut. False when the
 * limit is reached.
 */
static bool
copy_lines(struct output_request *w, int fd, struct output_line *line, bool live, int64_t *limit)
{
    static char piece[PIECE];
    ssize_t got;

    while ((got = read(fd, piece, sizeof(piece))) > 0)
        for (ssize_t i = 0; i < got; i++) {
            line->text[line->length++] = piece[i];
            line->end++;
            if ((piece[i] == '\n' || line->length == sizeof(line->text))
                && !put_line(w, line, live, limit))
                return false;
        }
    if (got < 0)
        fail(FAILED, "reading: %s", strerror(errno));
    return true;
}

static void
show_lines(struct output_request *w, int fd)
{
    static struct output_line line;
    int64_t limit = w->limit;
    bool goes_on = w->follow;

    line.end = lseek(fd, 0, SEEK_CUR);
    while (copy_lines(w, fd, &line, goes_on, &limit) && goes_on)
        goes_on = wait_for_more();
    if (limit != 0 && copy_lines(w, fd, &line, false, &limit))
        put_line(w, &line, false, &limit);
}

static void
show_bytes(const struct output_request *w, int fd)
{
    int64_t limit = w->limit;
    bool goes_on = w->follow;

    while (copy_rest(fd, &limit) && goes_on)
        goes_on = wait_for_more();
    if (w->follow && limit != 0)
        copy_rest(fd, &limit); /* output written just before the end */
}

static void
show(struct output_request *w)
{
    int fd = open_output(w->path);

    if ((w->timestamps || w->since_us > 0) && line_times_find(&w->times, fd) < 0)
        fail(BAD,
             "no times were recorded for the output '%s': ask for it without "
             "since and timestamps",
             w->path);
    go_to_begin(w, fd);
    if (w->timestamps)
        show_lines(w, fd);
    else
        show_bytes(w, fd);
}

/* Finds user and path of a pod that is gone in the agent's record, which only
 * root may read.
 */
static void
find_gone(struct output_request *w, const char *state_dir, const char *pod_uid)
{
    char *path = NULL;

    if (output_record_find(state_dir, pod_uid, &w->uid, &w->gid, &path) < 0)
        fail(NOT_FOUND, "the node's agent no longer knows where the task wrote its "
                        "output");
    w->path = path;
}

int
main(int argc, char **argv)
{
    struct output_request w;

    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        puts("usage: kiln-output UID GID FOLLOW TAIL LIMIT TIMESTAMPS SINCE "
             "STARTED STATE PATH|POD\n"
             "\n"
             "Started by kiln-agent; not for use by hand.\n"
             "\n"
             "Options:\n"
             "      --help                show what it is for");
        return 0;
    }
    if (argc != 11) {
        fputs("kiln-output: started by kiln-agent; not for use by hand\n", stderr);
        return 64;
    }
    signal(SIGPIPE, SIG_IGN);
    w.uid = (uid_t)strtoul(argv[1], NULL, 10);
    w.gid = (gid_t)strtoul(argv[2], NULL, 10);
    w.follow = strcmp(argv[3], "1") == 0;
    w.tail = strtoll(argv[4], NULL, 10);
    w.limit = strtoll(argv[5], NULL, 10);
    w.timestamps = strcmp(argv[6], "1") == 0;
    w.since_us = strtoll(argv[7], NULL, 10);
    line_times_begin(&w.times, argv[9], strtoll(argv[8], NULL, 10));
    w.path = argv[10];
    if (strcmp(argv[1], "-") == 0)
        find_gone(&w, argv[9], argv[10]);
    become_user(&w);
    show(&w);
    return 0;
}
