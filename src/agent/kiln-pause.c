/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-pause - holds the resources of a pod on which no script runs
 *
 * The script of a job of several nodes runs on the first of them. On the others
 * this program runs as the user, until it is told to end. It ends by SIGTERM as
 * a program without a handler does, so that its end is never taken for a success;
 * all other signals are meant for the script, and are ignored.
 *
 * With --hold it is the program of an allocation (kalloc) on its first node. The agent passes on
 * what kalloc says: that it is there, and in the end its status, which becomes that of
 * the job. An allocation whose kalloc is silent for too long ends as by SIGHUP.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_frames.h"

#define AGAIN_MS 500 /* between two attempts to reach the agent */

static void
ignore_other_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        if (number != SIGTERM)
            (void)signal(number, SIG_IGN); /* SIGKILL, SIGSTOP: refused */
}

/* The shepherd may have started this with that signal blocked. */
static void
accept_end(int number)
{
    sigset_t end;

    (void)signal(number, SIG_DFL);
    sigemptyset(&end);
    sigaddset(&end, number);
    (void)sigprocmask(SIG_UNBLOCK, &end, NULL);
}

/* ---- The program of an allocation ---- */

struct hold {
    const char *socket, *pod;
    int fd; /* -1: the agent is away */
    struct step_reader in;
    int64_t heard_ms;
};

static int64_t
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void
lose_agent(struct hold *h)
{
    if (h->fd >= 0)
        close(h->fd);
    h->fd = -1;
    step_reader_fini(&h->in);
    h->in = (struct step_reader){0};
}

/* A path may be longer than an address can hold, so its directory is opened first. */
static int
dial(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder[4096];
    CLEANUP_FD int dir = -1;
    int fd, n;

    if (slash == NULL || (size_t)(slash - path) >= sizeof(folder))
        return -1;
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    n = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir, slash + 1);
    if (dir < 0 || n < 0 || (size_t)n >= sizeof(address.sun_path))
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void
reach_agent(struct hold *h)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    h->fd = dial(h->socket);
    if (h->fd < 0)
        return;
    step_frame_add(&out, &(struct step_frame){
                             .type = STEP_FRAME_AWAIT,
                             .task = STEP_ALL_TASKS,
                             .payload = h->pod,
                             .length = strlen(h->pod),
                         });
    if (send(h->fd, out.text, out.length, MSG_NOSIGNAL) != (ssize_t)out.length)
        lose_agent(h);
}

static void
end_lost(void)
{
    accept_end(SIGHUP);
    raise(SIGHUP);
    exit(129);
}

/* Takes what is here now. The agent refuses while it is restarted; it is asked again. */
static void
listen_to_agent(struct hold *h)
{
    struct step_exit end;
    struct step_frame f;
    size_t room;
    char *at = step_reader_space(&h->in, &room);
    const ssize_t n = recv(h->fd, at, room, MSG_DONTWAIT);
    int r;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        lose_agent(h);
        return;
    }
    step_reader_add(&h->in, (size_t)n);
    while ((r = step_reader_next(&h->in, &f)) == 1) {
        if (f.type == STEP_FRAME_BEAT)
            h->heard_ms = now_ms();
        else if (f.type == STEP_FRAME_EXIT && step_frame_exit(&f, &end) == 0)
            exit((int)(end.exit_code & 0xFF));
        else
            break;
    }
    if (r != 0)
        lose_agent(h);
}

/* The clock goes on while the job is suspended, so what has come meanwhile is read before it is
 * judged. A detached allocation has no kalloc that could be silent.
 */
static int
hold(bool is_detached)
{
    struct hold h = {
        .socket = getenv("KILN_STEP_SOCKET"),
        .pod = getenv("KILN_POD_UID"),
        .fd = -1,
        .heard_ms = now_ms(),
    };

    if (h.socket == NULL || h.pod == NULL || strlen(h.pod) > 256) {
        fputs("kiln-pause: the agent of this node starts no steps, which an allocation needs\n",
              stderr);
        return 1;
    }
    for (;;) {
        struct pollfd p = {.events = POLLIN};

        if (h.fd < 0)
            reach_agent(&h);
        p.fd = h.fd;
        (void)poll(&p, 1, h.fd < 0 ? AGAIN_MS : STEP_BEAT_MS);
        if (h.fd >= 0) {
            listen_to_agent(&h);
            if (h.fd < 0)
                (void)poll(NULL, 0, AGAIN_MS);
        }
        if (!is_detached && now_ms() - h.heard_ms > STEP_HOLD_MS)
            end_lost();
    }
}

int
main(int argc, char **argv)
{
    const bool holds = argc == 2 && strcmp(argv[1], "--hold") == 0;
    const bool is_detached = argc == 2 && strcmp(argv[1], "--hold=detached") == 0;

    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        printf("Usage: kiln-pause [--hold[=detached]]\n"
               "Holds the resources of a pod until it is told to end. kiln-agent starts it on\n"
               "the nodes of a job on which its script does not run.\n"
               "\n"
               "      --hold[=detached]  be the program of an allocation: end when its kalloc\n"
               "                         does, or is silent for 90 s; detached: when told to\n"
               "      --help             show this help\n");
        return 0;
    }
    if (argc > 1 && !holds && !is_detached) {
        fprintf(stderr, "kiln-pause: unexpected argument '%s'; see 'kiln-pause --help'\n", argv[1]);
        return 2;
    }
    ignore_other_signals();
    accept_end(SIGTERM);
    if (holds || is_detached)
        return hold(is_detached);
    for (;;)
        pause();
}
