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
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/output/line_times.h"
#include "agent/records/output_record.h"
#include "agent/shepherd/user_account.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"

#define PIECE       65536
#define LOOK_MS     200
#define GIVE_UP_S   30 /* user database that does not answer */
#define TAIL_BLOCKS 65536
#define SEARCH_MOST (INT64_C(1) << 30) /* bytes of data in which lines are searched */

/* An exit status tells the agent the HTTP status, less 400 to fit; 99 is 400
 * itself.
 */
#define BAD       99
#define NOT_FOUND (404 - 400)
#define FORBIDDEN (403 - 400)
#define FAILED    100

#define LOWEST_PRIORITY 19

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

static void
on_late(UNUSED int signal_number)
{
    static const char words[] = "the user database of the node does not answer";

    if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0)
        _exit(FAILED);
    _exit(FAILED);
}

/* The user as the node knows him now: one who has left the group that the job
 * had is read for without that group.
 */
static struct user_account *
find_user(const struct output_request *w)
{
    struct user_account *p = NULL;
    struct error err = {0};
    int r = user_account_find(w->uid, w->gid, &p, &err);

    if (r == -EPERM)
        r = user_account_find(w->uid, (gid_t)-1, &p, &err);
    if (r < 0)
        fail(FORBIDDEN, "%s", err.text);
    return p;
}

static void
become_user(const struct output_request *w)
{
    struct process_user who;
    int r;

    if (geteuid() != 0 && geteuid() != w->uid)
        fail(FORBIDDEN, "this node serves only outputs of uid %u", geteuid());
    signal(SIGALRM, on_late);
    alarm(GIVE_UP_S);
    CLEANUP(user_account_freep) struct user_account *p = find_user(w);
    alarm(0);
    process_user_prepare(&who, p);
    r = process_user_become(&who);
    process_user_fini(&who);
    if (r < 0)
        fail(FAILED, "becoming uid %u: %s", w->uid, strerror(-r));
}

/* Before it becomes the user. Without such a cgroup, its low priority must do. */
static void
enter_cgroup(const char *text)
{
    CLEANUP(cgroup_freep) struct cgroup *c = NULL;

    (void)setpriority(PRIO_PROCESS, 0, LOWEST_PRIORITY);
    if (text != NULL && text[0] != '\0' && cgroup_parse(text, &c, NULL) == 0)
        (void)cgroup_add(c, 0, NULL);
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

/* The end of the data before `at`, which a hole may precede: a file of many
 * terabytes can be made of nothing but a hole, and has no line in it. The steps
 * double while there is no data, and halve where there is some.
 */
static off_t
skip_hole(int fd, off_t at)
{
    off_t step = TAIL_BLOCKS;

    while (at > 0) {
        off_t from = at > step ? at - step : 0;
        off_t data = lseek(fd, from, SEEK_DATA);

        if (data < 0 && errno != ENXIO)
            return at; /* a file system without holes */
        if (data < 0 || data >= at) {
            at = from;
            step *= 2;
        } else if (step == TAIL_BLOCKS)
            return at;
        else
            step /= 2;
    }
    return 0;
}

/* The offset behind the newline that is the n-th before `at`. The search ends
 * at a hole of SEARCH_MOST bytes, and after so many bytes of data: the offset is
 * then that of a later line, or in the middle of the only one.
 */
static off_t
find_newline(int fd, off_t at, int64_t n)
{
    static char block[TAIL_BLOCKS];
    int64_t left = SEARCH_MOST;
    off_t found = -1, behind = at;

    while (at > 0) {
        const char *newline;
        size_t length, end;

        at = skip_hole(fd, at);
        if (behind - at >= SEARCH_MOST)
            return behind;
        if (at == 0)
            break;
        if (left <= 0)
            return found >= 0 ? found : at;
        length = end = at < (off_t)sizeof(block) ? (size_t)at : sizeof(block);
        if (pread(fd, block, length, at - (off_t)length) != (ssize_t)length)
            return 0;
        while ((newline = memrchr(block, '\n', end)) != NULL) {
            end = (size_t)(newline - block);
            found = at - (off_t)length + (off_t)end + 1;
            if (--n == 0)
                return found;
        }
        behind = at -= (off_t)length;
        left -= (int64_t)length;
    }
    return 0;
}

/* The offset of the last `lines` lines. A final newline ends the last line, and
 * begins none.
 */
static off_t
find_tail(int fd, int64_t lines)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char last = '\0';

    if (lines == 0 || size <= 0)
        return size;
    if (pread(fd, &last, 1, size - 1) == 1 && last == '\n')
        size--;
    return find_newline(fd, size, lines);
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
        since = since > size ? 0 : find_newline(fd, since, 1);
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
             "STARTED STATE PATH|POD [CGROUP]\n"
             "\n"
             "Started by kiln-agent; not for use by hand.\n"
             "\n"
             "Options:\n"
             "      --help                show what it is for");
        return 0;
    }
    if (argc != 11 && argc != 12) { /* an agent that still runs may be older */
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
    if (w.timestamps || w.since_us > 0)
        line_times_open(&w.times);
    enter_cgroup(argc == 12 ? argv[11] : NULL);
    become_user(&w);
    show(&w);
    return 0;
}
