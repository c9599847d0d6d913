/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/call_timeout.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

/* A signal handler gets no argument, so this is static. */
static const struct call_timeout *pending;

static void
write_record(const struct call_timeout *t)
{
    int fd = open(t->temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int directory = open(t->directory, O_RDONLY | O_DIRECTORY);

    if (fd < 0 || write(fd, t->bytes, t->length) != (ssize_t)t->length || fsync(fd) < 0
        || rename(t->temporary, t->final) < 0 || fsync(directory) < 0)
        _exit(2);
}

static void
on_timeout(int signo)
{
    (void)signo;
    write_record(pending);
    _exit(0);
}

static void
allow_alarm(int how)
{
    sigset_t alarm_only;

    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    sigprocmask(how, &alarm_only, NULL);
}

int
call_timeout_start(const struct call_timeout *t, int64_t ms)
{
    struct sigaction action = {.sa_handler = on_timeout};
    struct itimerval timer = {
        .it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000},
    };

    pending = t;
    if (sigaction(SIGALRM, &action, NULL) < 0 || setitimer(ITIMER_REAL, &timer, NULL) < 0)
        return -errno;
    allow_alarm(SIG_UNBLOCK);
    return 0;
}

void
call_timeout_stop(void)
{
    struct itimerval never = {0};

    setitimer(ITIMER_REAL, &never, NULL);
    allow_alarm(SIG_BLOCK);
    pending = NULL;
}
