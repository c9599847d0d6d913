/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/shepherd/child_end.h"
#include "agent/shepherd/supervisor.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"

#define WORDS_BYTES 256
#define DEATH_MS    5000 /* a killed hook may wait for a file server, and is left then */

/* A running hook. */
struct hook {
    pid_t pid;
    int pidfd;
    int output;
    struct supervisor *calls; /* or NULL */
};

/* The end of the hook's output. */
struct words {
    char text[WORDS_BYTES + 1];
    size_t length;
};

static void
add_words(struct words *w, const char *bytes, size_t n)
{
    size_t surplus;

    if (n > WORDS_BYTES) {
        bytes += n - WORDS_BYTES;
        n = WORDS_BYTES;
    }
    surplus = w->length + n > WORDS_BYTES ? w->length + n - WORDS_BYTES : 0;
    memmove(w->text, w->text + surplus, w->length - surplus);
    w->length -= surplus;
    memcpy(w->text + w->length, bytes, n);
    w->length += n;
    w->text[w->length] = '\0';
}

/* The last line that is not empty. */
static const char *
last_line(struct words *w)
{
    char *line;

    while (w->length > 0 && w->text[w->length - 1] == '\n')
        w->text[--w->length] = '\0';
    line = strrchr(w->text, '\n');
    return line != NULL ? line + 1 : w->text;
}

/* False at the end of the output. */
static bool
read_output(int fd, struct words *w)
{
    char piece[1024];
    ssize_t n = read(fd, piece, sizeof(piece));

    if (n > 0)
        add_words(w, piece, (size_t)n);
    return n > 0;
}

/* Makes the hook eligible for the OOM killer, unlike the shepherd. */
static void
reset_oom_score(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    if (write(fd, "0", 1) < 0) {
        /* the hook remains shielded */
    }
    close(fd);
}

static _Noreturn void
exec_program(const char *program, const char *const *environment, int output)
{
    char *const arguments[] = {(char *)(uintptr_t)program, NULL};
    int nothing = open("/dev/null", O_RDONLY);
    sigset_t none;

    setsid();
    reset_oom_score();
    for (int signo = 1; signo <= SIGRTMAX; signo++)
        signal(signo, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    umask(022);
    if (dup2(nothing, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0
        && dup2(output, STDERR_FILENO) >= 0 && chdir("/") == 0)
        execve(program, arguments, (char *const *)(uintptr_t)environment);
    dprintf(output, "%s\n", strerror(errno));
    _exit(127);
}

/* Signals the hook's session; only the process itself before it has made a
 * session.
 */
static void
signal_session(pid_t pid, int signo)
{
    if (kill(-pid, signo) < 0)
        kill(pid, signo);
}

static void
forward_signals(pid_t pid, struct supervisor *calls)
{
    int before = calls->cancelled_by;
    int signo = supervisor_check_cancelled(calls);

    if (signo != before)
        signal_session(pid, signo);
}

/* Waits until the hook ends or the time is over; true if it has ended. Does not
 * wait for output of the hook's children.
 */
static bool
wait_for_exit(const struct hook *h, int64_t limit_ms, struct words *w)
{
    struct pollfd fds[] = {
        {.fd = h->pidfd, .events = POLLIN},
        {.fd = h->output, .events = POLLIN},
        {.fd = h->calls != NULL ? h->calls->signal_fd : -1, .events = POLLIN},
    };
    int64_t until = clock_monotonic_us(&clock_system) + limit_ms * 1000;

    for (;;) {
        int64_t left = (until - clock_monotonic_us(&clock_system)) / 1000;

        if (left <= 0)
            return false;
        if (poll(fds, 3, (int)(left > 60000 ? 60000 : left)) < 0)
            continue;
        if (fds[1].revents != 0 && !read_output(h->output, w))
            fds[1].fd = -1;
        if (fds[2].revents != 0)
            forward_signals(h->pid, h->calls);
        if (fds[0].revents == 0)
            continue;
        (void)fd_set_nonblocking(h->output, true);
        while (fds[1].fd >= 0 && read_output(h->output, w))
            ;
        return true;
    }
}

static int
check_status(const char *what, const char *program, int status, struct words *w, struct error *err)
{
    const char *line = last_line(w);
    const char *colon = *line != '\0' ? ": " : "";

    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFSIGNALED(status))
        return error_set(err, -EIO, "the %s '%s' was killed by signal %d%s%s", what, program,
                         WTERMSIG(status), colon, line);
    return error_set(err, -EIO, "the %s '%s' ended with exit code %d%s%s", what, program,
                     WEXITSTATUS(status), colon, line);
}

int
hook_run(const char *what, const char *program, const char *const *environment, int64_t limit_ms,
         struct supervisor *calls, struct error *err)
{
    struct words words = {0};
    struct hook h = {.calls = calls};
    int status = 0;
    int ends[2];
    bool has_ended, is_dead;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, -errno, "%s: pipe: %s", what, strerror(errno));
    CLEANUP_FD int output = ends[0];
    h.output = output;
    h.pid = fork();
    if (h.pid == 0)
        exec_program(program, environment, ends[1]);
    close(ends[1]);
    if (h.pid < 0)
        return error_set(err, -errno, "%s: fork: %s", what, strerror(errno));
    CLEANUP_FD int pidfd = (int)syscall(SYS_pidfd_open, h.pid, 0);
    h.pidfd = pidfd;
    has_ended = wait_for_exit(&h, limit_ms, &words);
    if (!has_ended)
        signal_session(h.pid, SIGKILL);
    is_dead = child_end_wait(pidfd, DEATH_MS) && child_end_take(h.pid, &status) >= 0;
    if (has_ended && is_dead)
        return check_status(what, program, status, &words, err);
    return error_set(err, -ETIMEDOUT, "the %s '%s' took longer than %lld s and %s", what, program,
                     (long long)(limit_ms / 1000), is_dead ? "was killed" : "cannot be killed");
}
