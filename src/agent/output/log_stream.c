/* SPDX-License-Identifier: Apache-2.0 */
/* The job's user chooses the file that is read here, so a child with that user's rights reads
 * it: opening it as root would show any file of the node. The child may hang in a file server
 * of the user's own, and is then left alone, neither waited for nor trusted. A piece is read
 * only after the last one was accepted, so a slow reader delays only itself.
 */
#include "agent/output/log_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_client.h"
#include "lib/http/target.h"
#include "lib/loop/child.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"

#define PIECE     65536u
#define WORDS_MAX 1024u

/* An exit status of kiln-output is an HTTP status less 400, or this one for 400
 * itself, because 0 means success.
 */
#define BAD_REQUEST 99

struct log_stream {
    struct log_stream_settings s;
    char *id;
    struct child *child;
    int in_fd;  /* child's stdin: closed when the job is over */
    int out_fd; /* child's stdout */
    int err_fd;
    struct fdwatch *out;
    struct http_call *call;
    struct timer *over; /* stopped when the stream is freed before */
    bool has_exited;
    bool is_ending; /* nothing more is sent; only the child's end is missing */
    bool at_end;    /* end of the pipe was read */
    bool last_sent;
    bool has_sent; /* some output */
    int exit_status;
    char words[WORDS_MAX];
};

static void
close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The pod's user decides what file the child reads, and so whether it dies of
 * SIGKILL soon, late or never: it may wait for a file server, or be traced. So
 * nothing here waits for it.
 */
static void
stop_sending(struct log_stream *s)
{
    if (s->call != NULL)
        http_call_cancel(s->call);
    s->call = NULL;
    fdwatch_free(s->out);
    s->out = NULL;
    close_fd(&s->in_fd);
    close_fd(&s->out_fd);
    if (s->child != NULL && !s->has_exited)
        (void)child_kill(s->child, SIGKILL);
}

void
log_stream_free(struct log_stream *s)
{
    if (s == NULL)
        return;
    stop_sending(s);
    timer_free(s->over);
    child_free(s->child);
    close_fd(&s->err_fd);
    free(s->id);
    free(s);
}

static void
finish(void *context)
{
    struct log_stream *s = context;

    if (!s->is_ending)
        stop_sending(s);
    s->is_ending = true;
    if (s->child == NULL || s->has_exited)
        s->s.over(s, s->s.context);
}

void
log_stream_stop(struct log_stream *s)
{
    stop_sending(s);
    s->is_ending = true;
    timer_start(s->over, 0);
}

static void
on_posted(const struct http_response *answer, const struct error *err, void *arg)
{
    struct log_stream *s = arg;

    (void)err;
    s->call = NULL;
    /* The reader or the controller has gone; a reader whose controller has gone
     * asks again.
     */
    if (answer == NULL || answer->status != 200 || s->last_sent)
        timer_start(s->over, 0);
    else
        fdwatch_want(s->out, FDWATCH_READ);
}

static void
send_piece(struct log_stream *s, const char *query, const void *bytes, size_t length)
{
    CLEANUP_FREE char *target =
        xasprintf("/api/v1/nodes/%s/requests/%s%s", s->s.node, s->id, query);
    struct http_client_request question = {
        .method = HTTP_POST,
        .target = target,
        .content_type = "application/octet-stream",
        .body = bytes,
        .length = length,
        .done = on_posted,
        .arg = s,
    };

    s->call = http_client_call(s->s.http, &question);
}

static void
send_failure(struct log_stream *s, int status, const char *words)
{
    CLEANUP_STRBUF struct strbuf query = STRBUF_INIT;

    strbuf_printf(&query, "?end=1&status=%d&message=", status);
    target_escape(&query, words);
    s->last_sent = true;
    send_piece(s, query.text, NULL, 0);
}

/* Ends the stream when the pipe has ended and the child has exited. */
static void
send_end(struct log_stream *s)
{
    if (!s->at_end || !s->has_exited || s->call != NULL || s->last_sent)
        return;
    if (s->exit_status != 0 && !s->has_sent) {
        send_failure(s,
                     s->exit_status == BAD_REQUEST ? 400
                     : s->exit_status < 100        ? 400 + s->exit_status
                                                   : 500,
                     s->words[0] != '\0' ? s->words : "kiln-output failed");
        return;
    }
    s->last_sent = true;
    send_piece(s, "?end=1", NULL, 0);
}

static void
on_output(int fd, unsigned ready, void *arg)
{
    struct log_stream *s = arg;
    static char piece[PIECE];
    ssize_t n = read(fd, piece, sizeof(piece));

    (void)ready;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    fdwatch_want(s->out, 0);
    if (n > 0) {
        s->has_sent = true;
        send_piece(s, "", piece, (size_t)n);
        return;
    }
    s->at_end = true;
    send_end(s);
}

static void
on_child_exit(const struct child_exit *end, void *arg)
{
    struct log_stream *s = arg;
    ssize_t n = read(s->err_fd, s->words, sizeof(s->words) - 1);

    if (n > 0)
        s->words[n] = '\0';
    s->has_exited = true;
    s->exit_status = end->is_known && WIFEXITED(end->status) ? WEXITSTATUS(end->status) : 100;
    if (s->is_ending)
        timer_start(s->over, 0);
    else
        send_end(s);
}

/* `here` is the end that this process keeps; reading from it does not block. */
static int
make_pipe(int *here, int *there, bool is_read_here)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    *here = fds[is_read_here ? 0 : 1];
    *there = fds[is_read_here ? 1 : 0];
    return is_read_here ? fd_set_nonblocking(*here, true) : 0;
}

static int
start_child(struct log_stream *s, const struct log_stream_wish *w, struct error *err)
{
    CLEANUP_FREE char *uid = w->gone != NULL ? xstrdup("-") : xasprintf("%u", w->uid);
    CLEANUP_FREE char *gid = xasprintf("%u", w->gid);
    CLEANUP_FREE char *tail = xasprintf("%" PRId64, w->tail);
    CLEANUP_FREE char *limit = xasprintf("%" PRId64, w->limit);
    CLEANUP_FREE char *path = xstrdup(w->gone != NULL ? w->gone : w->path);
    CLEANUP_FREE char *program = xstrdup(s->s.program);
    CLEANUP_FREE char *since = xasprintf("%" PRId64, w->since_us);
    CLEANUP_FREE char *started = xasprintf("%" PRId64, w->started_us);
    CLEANUP_FREE char *state = xstrdup(w->state_dir);
    CLEANUP_FREE char *cgroup = xstrdup(s->s.cgroup != NULL ? s->s.cgroup : "");
    char follow[] = {w->follow ? '1' : '0', '\0'};
    char timestamps[] = {w->timestamps ? '1' : '0', '\0'};
    char *argv[] = {program, uid,     gid,   follow, tail,   limit, timestamps,
                    since,   started, state, path,   cgroup, NULL};
    CLEANUP_FD int in = -1;
    CLEANUP_FD int out = -1;
    CLEANUP_FD int errors = -1;
    struct child_plan plan = {.path = program, .argv = argv};
    int r = make_pipe(&s->in_fd, &in, false);

    if (r == 0)
        r = make_pipe(&s->out_fd, &out, true);
    if (r == 0)
        r = make_pipe(&s->err_fd, &errors, true);
    if (r < 0)
        return error_set(err, r, "pipe: %s", strerror(-r));
    plan.fds[0] = in;
    plan.fds[1] = out;
    plan.fds[2] = errors;
    r = child_spawn(s->s.loop, &plan, on_child_exit, s, &s->child, err);
    if (r < 0)
        return r;
    s->out = fdwatch_new(s->s.loop, s->out_fd, FDWATCH_READ, on_output, s);
    return 0;
}

struct log_stream *
log_stream_new(const struct log_stream_settings *settings, const struct log_stream_wish *request)
{
    struct log_stream *s = xnew(struct log_stream);
    struct error err = {0};

    s->s = *settings;
    s->id = xstrdup(request->id);
    s->in_fd = s->out_fd = s->err_fd = -1;
    s->over = timer_new(s->s.loop, finish, s);
    if (request->path == NULL && request->gone == NULL)
        send_failure(s, request->status, request->refusal);
    else if (start_child(s, request, &err) < 0)
        send_failure(s, 500, err.text);
    return s;
}

void
log_stream_finish(struct log_stream *s)
{
    close_fd(&s->in_fd);
}
