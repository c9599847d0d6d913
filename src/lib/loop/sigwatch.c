/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/sigwatch.h"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "lib/loop/fdwatch.h"

struct sigwatch {
    struct fdwatch *watch;
    int fd;
    sigwatch_fn fn;
    void *arg;
};

static void
on_signal(int fd, unsigned ready, void *arg)
{
    struct sigwatch *s = arg;
    struct signalfd_siginfo info;

    (void)ready;
    if (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        s->fn((int)info.ssi_signo, s->arg);
}

void
sigwatch_free(struct sigwatch *s)
{
    if (s == NULL)
        return;
    fdwatch_free(s->watch);
    close(s->fd);
    free(s);
}

struct sigwatch *
sigwatch_new(struct loop *loop, int signal_number, sigwatch_fn fn, void *arg)
{
    struct sigwatch *s = xnew(struct sigwatch);
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, signal_number);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->fd < 0) {
        log_error("Cannot watch signal %d: %m", signal_number);
        abort();
    }
    s->fn = fn;
    s->arg = arg;
    s->watch = fdwatch_new(loop, s->fd, FDWATCH_READ, on_signal, s);
    return s;
}
