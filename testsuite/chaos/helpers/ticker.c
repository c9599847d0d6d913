/* SPDX-License-Identifier: Apache-2.0 */
/* ticker FILE TAG SECONDS CODE [stubborn] - writes a line each 20 ms as long as it runs
 *
 * It ends after so many ticks, or with 143 at SIGTERM unless it is stubborn. Linked statically, so
 * that it starts fast. Lines: start|tick|term|end TAG JOB ATTEMPT NODE PID CPUS MS-SINCE-BOOT
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int fd;
static const char *tag;
static volatile sig_atomic_t termed;
static const char *
env(const char *n)
{
    const char *v = getenv(n);
    return v && *v ? v : "-";
}

static long
ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec * 1000L + t.tv_nsec / 1000000;
}

static void
say(const char *what)
{
    char b[400];
    int n = snprintf(b, sizeof b, "%s %s %s %s %s %d %s %ld\n", what, tag, env("KILN_JOB_ID"),
                     env("KILN_POD_NAME"), env("KILN_NODE_NAME"), getpid(), env("KILN_CPUS"), ms());
    if (write(fd, b, n) != n)
        _exit(99);
}

static void
on_term(int s)
{
    (void)s;
    termed = 1;
}

int
main(int c, char **v)
{
    if (c < 5)
        return 98;
    fd = open(v[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return 97;
    tag = v[2];
    long ticks = atof(v[3]) * 50;
    int stubborn = c > 5 && !strcmp(v[5], "stubborn");
    struct sigaction a = {.sa_handler = on_term};
    sigaction(SIGTERM, &a, NULL);
    say("start");
    for (long i = 0; i < ticks; i++) {
        struct timespec t = {0, 20000000};
        nanosleep(&t, NULL);
        say("tick");
        if (termed == 1) {
            termed = 2;
            say("term");
            if (!stubborn)
                return 143;
        }
    }
    say("end");
    return atoi(v[4]);
}
