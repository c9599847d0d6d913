/* SPDX-License-Identifier: Apache-2.0 */
/* clockshift - a real-time clock that a test sets
 *
 * In every process that has this library preloaded, the clock is the system's plus the microseconds
 * in the file $CLOCKSHIFT.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *shift;
static int64_t zero;

__attribute__((constructor)) static void
begin(void)
{
    const char *f = getenv("CLOCKSHIFT");
    int fd = f ? open(f, O_RDONLY | O_CLOEXEC) : -1;
    void *p = fd >= 0 ? mmap(NULL, 8, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    shift = p != MAP_FAILED ? p : &zero;
    if (fd >= 0)
        close(fd);
}

static int64_t
real_ns(void)
{
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + (shift ? *shift : 0) * 1000;
}

int
clock_gettime(clockid_t id, struct timespec *t)
{
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) {
        int64_t n = real_ns();
        t->tv_sec = n / 1000000000;
        t->tv_nsec = n % 1000000000;
        return 0;
    }
    static int (*next)(clockid_t, struct timespec *);
    if (!next)
        next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    return next(id, t);
}

int
gettimeofday(struct timeval *restrict t, void *restrict z)
{
    (void)z;
    int64_t n = real_ns();
    t->tv_sec = n / 1000000000;
    t->tv_usec = n % 1000000000 / 1000;
    return 0;
}

time_t
time(time_t *t)
{
    time_t s = (time_t)(real_ns() / 1000000000);
    if (t)
        *t = s;
    return s;
}
