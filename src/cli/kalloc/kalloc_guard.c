/* SPDX-License-Identifier: Apache-2.0 */
/* kalloc may be killed with SIGKILL, and its nodes would be held until the time limit. So
 * another process, in a session of its own, learns by a pipe that kalloc is gone and ends the
 * job. It closes everything else that it has inherited: a pipe of the shell would stay open as
 * long as the guard lives.
 */
#include "cli/kalloc/kalloc_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/krun/krun_hold.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/program/sibling.h"

#define LINE_MOST 8192
#define WAIT_MS   5000 /* for the guard's end; it goes on without kalloc */
#define LOOK_MS   20

/* ---- In the guard ---- */

/* False: kalloc is gone. One byte at a time: what follows is krun_hold's. */
static bool
read_line(int fd, char line[LINE_MOST])
{
    size_t n = 0;

    while (n < LINE_MOST - 1) {
        const ssize_t r = read(fd, line + n, 1);

        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return false;
        if (line[n] == '\n') {
            line[n] = '\0';
            return true;
        }
        n++;
    }
    return false;
}

static void
cancel(const char *id)
{
    const char *const words[] = {"kctl", "cancel", id, NULL};

    if (id[0] != '\0')
        (void)sibling_become("kctl", words);
}

static void
stand_guard(int control)
{
    char line[LINE_MOST], id[32] = "";
    struct error err = {0};

    while (read_line(control, line)) {
        char *pod = strchr(line, '\t');

        if (strcmp(line, "leave") == 0)
            return;
        if (strncmp(line, "job ", 4) == 0) {
            snprintf(id, sizeof(id), "%.30s", line + 4);
        } else if (strncmp(line, "hold ", 5) == 0 && pod != NULL) {
            *pod = '\0';
            if (krun_hold_run(line + 5, pod + 1, control, &err) == 0)
                return;
            break;
        }
    }
    cancel(id);
}

/* Nobody waits for the end of its output. The other descriptors are not its business, either: a
 * pipe of the shell would stay open.
 */
static void
close_others(int control)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = 0; fd <= 2; fd++)
        (void)dup2(null, fd);
    if (control > 3)
        (void)syscall(SYS_close_range, 3u, (unsigned)control - 1u, 0);
    (void)syscall(SYS_close_range, (unsigned)control + 1u, ~0u, 0);
}

static void
run_guard(int control)
{
    static const int ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE,
                                  SIGTSTP, SIGALRM, SIGUSR1, SIGUSR2};

    (void)setsid();
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        (void)signal(ignored[i], SIG_IGN);
    close_others(control);
    (void)!chdir("/");
    stand_guard(control);
    _exit(0);
}

/* ---- In kalloc ---- */

int
kalloc_guard_start(struct kalloc_guard *g, struct error *err)
{
    int ends[2];
    pid_t pid;

    *g = (struct kalloc_guard){.control = -1};
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, -errno, "pipe: %s", strerror(errno));
    pid = fork();
    if (pid == 0) {
        close(ends[1]);
        run_guard(ends[0]);
    }
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        return error_set(err, -errno, "fork: %s", strerror(errno));
    }
    signal(SIGPIPE, SIG_IGN); /* of a guard that was killed */
    g->pid = pid;
    g->control = ends[1];
    return 0;
}

static void
send_text(const struct kalloc_guard *g, const char *text, size_t length)
{
    if (g->control >= 0)
        (void)fd_write_all(g->control, text, length);
}

void
kalloc_guard_set_job(struct kalloc_guard *g, int64_t id)
{
    CLEANUP_FREE char *line = xasprintf("job %" PRId64 "\n", id);

    send_text(g, line, strlen(line));
}

void
kalloc_guard_hold(struct kalloc_guard *g, const char *place, const char *pod_uid)
{
    CLEANUP_FREE char *line = xasprintf("hold %s\t%s\n", place, pod_uid);

    send_text(g, line, strlen(line));
}

static void
wait_for_end(struct kalloc_guard *g)
{
    if (g->control >= 0)
        close(g->control);
    g->control = -1;
    for (int ms = 0; ms < WAIT_MS && g->pid > 0; ms += LOOK_MS) {
        if (waitpid(g->pid, NULL, WNOHANG) != 0)
            g->pid = 0;
        else
            usleep(LOOK_MS * 1000);
    }
}

void
kalloc_guard_release(struct kalloc_guard *g, int status)
{
    const char code = (char)status;

    send_text(g, &code, 1);
    wait_for_end(g);
}

void
kalloc_guard_cancel(struct kalloc_guard *g)
{
    wait_for_end(g);
}

/* It may be telling a job that has ended that it should end. */
void
kalloc_guard_leave(struct kalloc_guard *g)
{
    send_text(g, "leave\n", 6);
    if (g->pid > 0)
        (void)kill(g->pid, SIGKILL);
    wait_for_end(g);
}
