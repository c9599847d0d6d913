/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for two functions of the C library, for the program and for libevent,
 * which finds them in the program first. They do what the kernel does until
 * skip_waits() has been called, so tests of the same program that do not call it see
 * no difference.
 */
#include "testsuite/lib/skipped_waits.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static bool is_skipping;
static int64_t skipped_ms;

void
skip_waits(void)
{
    is_skipping = true;
}

EXPORTED int
clock_gettime(clockid_t clock, struct timespec *time)
{
    int result = (int)syscall(SYS_clock_gettime, clock, time);

    if (!is_skipping || result < 0)
        return result;
    time->tv_sec += skipped_ms / 1000;
    time->tv_nsec += skipped_ms % 1000 * 1000000;
    if (time->tv_nsec >= 1000000000) {
        time->tv_sec++;
        time->tv_nsec -= 1000000000;
    }
    return 0;
}

EXPORTED int
epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
    bool is_skipped = is_skipping && timeout_ms > 0;
    int n = (int)syscall(SYS_epoll_pwait, fd, events, max, is_skipped ? 0 : timeout_ms, NULL,
                         (size_t)(_NSIG / 8));

    if (is_skipped && n == 0)
        skipped_ms += timeout_ms;
    return n;
}
