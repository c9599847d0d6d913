/* SPDX-License-Identifier: Apache-2.0 */
/* spawn - processes per second, of any command
 *
 *     testsuite/bench/spawn --count=N [--at-once=N] COMMAND [ARGUMENT]...
 *     testsuite/bench/spawn --connect=ADDRESS:PORT
 *     testsuite/bench/spawn --wait COMMAND [ARGUMENT]...
 *
 * Runs the command `count` times, `at-once` at a time, and prints how many
 * ended per second and how long one took. The two other forms are baselines for
 * such commands: a process that only connects, and one that only runs another.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/program/option.h"
#include "lib/program/program.h"

struct options {
    const char *connect;
    int64_t count;
    int64_t at_once;
    bool wait;
};

struct pod_run {
    pid_t pid;
    int64_t began_us;
};

static void
die(const char *what)
{
    fprintf(stderr, "spawn: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static int
connect_to(const char *target)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    const char *colon = strrchr(target, ':');
    char host[64];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    errno = EINVAL;
    if (colon == NULL || (size_t)(colon - target) >= sizeof(host))
        die(target);
    memcpy(host, target, (size_t)(colon - target));
    host[colon - target] = '\0';
    address.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1
        || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        die(target);
    close(fd);
    return EXIT_SUCCESS;
}

static pid_t
start(char **command, const posix_spawn_file_actions_t *actions)
{
    pid_t pid;
    int r = posix_spawnp(&pid, command[0], actions, NULL, command, environ);

    if (r != 0) {
        errno = r;
        die(command[0]);
    }
    return pid;
}

static int
run_one(char **command)
{
    pid_t pid = start(command, NULL);
    int status;

    if (waitpid(pid, &status, 0) != pid)
        die("waiting");
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

/* The entry of a process that has ended, or an empty one. */
static struct pod_run *
find(struct pod_run *runs, int64_t n, pid_t pid)
{
    for (int64_t i = 0; i < n; i++)
        if (runs[i].pid == pid)
            return &runs[i];
    errno = ECHILD;
    die("waiting");
    return NULL;
}

static int
by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void
tell(int64_t *took_us, int64_t n, int64_t all_us, int64_t failed)
{
    qsort(took_us, (size_t)n, sizeof(*took_us), by_value);
    printf("rate %.0f /s\n", (double)n * 1e6 / (double)all_us);
    printf("p50 %.3f ms\n", (double)took_us[n / 2] / 1000);
    printf("p99 %.3f ms\n", (double)took_us[n - 1 - n / 100] / 1000);
    printf("failed %" PRId64 " processes\n", failed);
}

static int
run_many(const struct options *o, char **command)
{
    struct pod_run *runs = xnew_array(struct pod_run, (size_t)o->at_once);
    int64_t *took_us = xnew_array(int64_t, (size_t)o->count);
    posix_spawn_file_actions_t quiet;
    int64_t started = 0, ended = 0, failed = 0;
    int64_t began = clock_monotonic_us(&clock_system);
    struct pod_run *r;
    int status;

    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    while (ended < o->count) {
        while (started < o->count && started - ended < o->at_once) {
            r = find(runs, o->at_once, 0);
            r->began_us = clock_monotonic_us(&clock_system);
            r->pid = start(command, &quiet);
            started++;
        }
        r = find(runs, o->at_once, waitpid(-1, &status, 0));
        took_us[ended++] = clock_monotonic_us(&clock_system) - r->began_us;
        failed += status != 0;
        r->pid = 0;
    }
    tell(took_us, ended, clock_monotonic_us(&clock_system) - began, failed);
    posix_spawn_file_actions_destroy(&quiet);
    free(took_us);
    free(runs);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const struct option_spec option_specs[] = {
    {.name = "count",
     .argument = "N",
     .help = "how many (100)",
     .type = OPTION_INT,
     .min = 1,
     .max = 10000000,
     .offset = offsetof(struct options, count)},
    {.name = "at-once",
     .argument = "N",
     .help = "at any time (1)",
     .type = OPTION_INT,
     .min = 1,
     .max = 1000,
     .offset = offsetof(struct options, at_once)},
    {.name = "connect",
     .argument = "ADDRESS:PORT",
     .help = "only connect",
     .type = OPTION_TEXT,
     .offset = offsetof(struct options, connect)},
    {.name = "wait",
     .help = "only run the command, once",
     .type = OPTION_FLAG,
     .offset = offsetof(struct options, wait)},
};

static const struct option_table option_table = {
    .name = "spawn",
    .usage = "[OPTION]... COMMAND [ARGUMENT]...",
    .summary = "Says how many processes of a command end in a second.",
    OPTION_ROWS(option_specs),
    .stops_at_operand = true,
};

int
main(int argc, char **argv)
{
    struct options o = {.count = 100, .at_once = 1};
    int first = program_begin(&option_table, argc, argv, &o);

    if (o.connect != NULL)
        return connect_to(o.connect);
    if (first >= argc)
        program_refuse(&option_table, "no command is given");
    return o.wait ? run_one(argv + first) : run_many(&o, argv + first);
}
