/* SPDX-License-Identifier: Apache-2.0 */
/* A site's program may hang, print without an end, or leave children behind that hold its
 * output open. So it has a session that is killed as a whole, only its last line is kept, and
 * its output is given up when its time is over, whoever holds it.
 */
#include "lib/loop/timed_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/loop/child.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"

#define LINE_MOST 200 /* bytes that are kept of a line */
#define READ_MOST 65536

struct timed_program {
    struct child *child;
    pid_t pid;
    int fd; /* of its output; -1: closed */
    struct fdwatch *watch;
    struct timer *timer;
    int64_t limit_ms;
    bool is_late;
    int exit_status; /* -1: it has not exited by itself */
    timed_program_done_fn *done;
    void *context;
    size_t length; /* of `line` */
    bool is_complete;
    char line[LINE_MOST]; /* the last one that is not empty, or its beginning */
};

/* Control characters and what is not ASCII could not be shown or stored. */
static char
printable(char c)
{
    return c == '\t' ? ' ' : c < ' ' || c > '~' ? '?' : c;
}

static void
take_output(struct timed_program *p, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\n' || text[i] == '\r') {
            p->is_complete = true;
            continue;
        }
        if (p->is_complete)
            p->length = 0;
        p->is_complete = false;
        if (p->length < sizeof(p->line))
            p->line[p->length++] = printable(text[i]);
    }
}

static void
close_output(struct timed_program *p)
{
    fdwatch_free(p->watch);
    p->watch = NULL;
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

/* One read for each call, so that a program that prints much does not keep the
 * loop. Returns false when nothing is left.
 */
static bool
read_some(struct timed_program *p)
{
    char text[4096];
    ssize_t n = read(p->fd, text, sizeof(text));

    if (n > 0)
        take_output(p, text, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close_output(p);
    return n > 0;
}

static void
on_output(UNUSED int fd, UNUSED unsigned ready, void *arg)
{
    (void)read_some(arg);
}

static void
add_failure(const struct timed_program *p, const struct child_exit *exit, struct strbuf *out)
{
    if (p->is_late)
        strbuf_printf(out, "it did not end within %lld s", (long long)((p->limit_ms + 999) / 1000));
    else if (!exit->is_known)
        strbuf_add_text(out, "it is not known how it ended");
    else if (WIFSIGNALED(exit->status))
        strbuf_printf(out, "it was ended by signal %d", WTERMSIG(exit->status));
    else if (WEXITSTATUS(exit->status) != 0)
        strbuf_printf(out, "exit status %d", WEXITSTATUS(exit->status));
    if (out->length > 0 && p->length > 0) {
        CLEANUP_FREE char *how = xstrdup(out->text);

        strbuf_truncate(out, 0);
        strbuf_printf(out, "%.*s (%s)", (int)p->length, p->line, how);
    }
}

static void
on_exit_of_child(const struct child_exit *exit, void *arg)
{
    struct timed_program *p = arg;
    CLEANUP_STRBUF struct strbuf failure = STRBUF_INIT;

    child_free(p->child);
    p->child = NULL;
    timer_stop(p->timer);
    /* Processes that it left behind may hold the pipe open and print for ever. */
    for (unsigned i = 0; i < READ_MOST / 4096 && p->fd >= 0 && read_some(p); i++)
        ;
    close_output(p);
    if (exit->is_known && WIFEXITED(exit->status) && !p->is_late)
        p->exit_status = WEXITSTATUS(exit->status);
    add_failure(p, exit, &failure);
    p->done(failure.length > 0 ? failure.text : NULL, p->context);
}

static void
on_late(void *arg)
{
    struct timed_program *p = arg;

    p->is_late = true;
    (void)kill(-p->pid, SIGKILL); /* it is not reaped yet, so the id is its own */
    (void)child_kill(p->child, SIGKILL);
}

int
timed_program_start(struct loop *loop, const struct timed_program_plan *plan,
                    timed_program_done_fn *done, void *context, struct timed_program **ret_program,
                    struct error *err)
{
    struct timed_program *p;
    int ends[2], r;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    p = xnew(struct timed_program);
    p->fd = ends[0];
    p->limit_ms = plan->limit_ms;
    p->exit_status = -1;
    p->done = done;
    p->context = context;
    r = child_spawn(loop,
                    &(struct child_plan){
                        .path = plan->path,
                        .argv = plan->argv,
                        .directory = "/",
                        .fds = {plan->input > 0 ? plan->input : -1, ends[1], ends[1]},
                        .starts_new_session = true,
                    },
                    on_exit_of_child, p, &p->child, err);
    close(ends[1]);
    if (r < 0) {
        close_output(p);
        free(p);
        return r;
    }
    p->pid = child_pid(p->child);
    p->watch = fdwatch_new(loop, p->fd, FDWATCH_READ, on_output, p);
    p->timer = timer_new(loop, on_late, p);
    timer_start(p->timer, plan->limit_ms);
    *ret_program = p;
    return 0;
}

int
timed_program_exit_status(const struct timed_program *p)
{
    return p->exit_status;
}

void
timed_program_free(struct timed_program *p)
{
    if (p == NULL)
        return;
    if (p->child != NULL) {
        (void)kill(-p->pid, SIGKILL);
        (void)child_kill(p->child, SIGKILL);
        (void)waitpid(p->pid, NULL, WNOHANG); /* else it stays a zombie until we end */
    }
    child_free(p->child);
    close_output(p);
    timer_free(p->timer);
    free(p);
}
