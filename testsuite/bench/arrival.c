/* SPDX-License-Identifier: Apache-2.0 */
/* arrival - the time from a submission until the job's program runs
 *
 *     testsuite/bench/arrival --at=SOCKET [--count=N] COMMAND [ARGUMENT]...
 *     testsuite/bench/arrival --note=SOCKET
 *
 * Runs the command (a ksub) repeatedly, each time after the note of the job
 * that the last one submitted has arrived and the cluster has been idle for a
 * while. The job runs the second form, which sends that note. The measured time
 * includes the start of the command, of the shell and of the sender.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/program/option.h"
#include "lib/program/program.h"

#define IDLE_US     50000
#define PATIENCE_MS 10000

struct options {
    const char *at;
    const char *note;
    int64_t count;
};

static void
die(const char *what)
{
    fprintf(stderr, "arrival: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static int
open_socket(const char *path, struct sockaddr_un *ret_address)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    errno = ENAMETOOLONG;
    if (fd < 0 || strlen(path) >= sizeof(ret_address->sun_path))
        die(path);
    strcpy(ret_address->sun_path, path);
    return fd;
}

static int
send_note(const char *path)
{
    struct sockaddr_un address;
    int fd = open_socket(path, &address);

    if (sendto(fd, "", 1, 0, (struct sockaddr *)&address, sizeof(address)) < 0)
        die(path);
    return EXIT_SUCCESS;
}

static int
listen_at(const char *path)
{
    struct sockaddr_un address;
    int fd = open_socket(path, &address);

    /* The jobs run as another user. */
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || chmod(path, 0666) < 0)
        die(path);
    return fd;
}

static int64_t
measure_one(int fd, char **command, const posix_spawn_file_actions_t *quiet)
{
    struct pollfd note = {.fd = fd, .events = POLLIN};
    int64_t began = clock_monotonic_us(&clock_system);
    int64_t arrived;
    int status;
    char byte;
    pid_t pid;

    errno = posix_spawnp(&pid, command[0], quiet, NULL, command, environ);
    if (errno != 0)
        die(command[0]);
    errno = ETIMEDOUT;
    if (poll(&note, 1, PATIENCE_MS) != 1)
        die("waiting for the job");
    arrived = clock_monotonic_us(&clock_system);
    if (recv(fd, &byte, 1, 0) != 1 || waitpid(pid, &status, 0) != pid || status != 0)
        die(command[0]);
    return arrived - began;
}

static int
by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static int
measure(const struct options *o, char **command)
{
    int64_t *took_us = xnew_array(int64_t, (size_t)o->count);
    int fd = listen_at(o->at);
    posix_spawn_file_actions_t quiet;

    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    for (int64_t i = 0; i < o->count; i++) {
        took_us[i] = measure_one(fd, command, &quiet);
        usleep(IDLE_US);
    }
    qsort(took_us, (size_t)o->count, sizeof(*took_us), by_value);
    printf("arrival_p50 %.3f ms\n", (double)took_us[o->count / 2] / 1000);
    printf("arrival_p99 %.3f ms\n", (double)took_us[o->count - 1 - o->count / 100] / 1000);
    posix_spawn_file_actions_destroy(&quiet);
    close(fd);
    unlink(o->at);
    free(took_us);
    return EXIT_SUCCESS;
}

static const struct option_spec option_specs[] = {
    {.name = "at",
     .argument = "SOCKET",
     .help = "where notes come in",
     .type = OPTION_TEXT,
     .offset = offsetof(struct options, at)},
    {.name = "note",
     .argument = "SOCKET",
     .help = "only send a note there",
     .type = OPTION_TEXT,
     .offset = offsetof(struct options, note)},
    {.name = "count",
     .argument = "N",
     .help = "how often (100)",
     .type = OPTION_INT,
     .min = 1,
     .max = 1000000,
     .offset = offsetof(struct options, count)},
};

static const struct option_table option_table = {
    .name = "arrival",
    .usage = "--at=SOCKET [OPTION]... COMMAND [ARGUMENT]...",
    .summary = "Says how long after a submission the job's program runs.",
    OPTION_ROWS(option_specs),
    .stops_at_operand = true,
};

int
main(int argc, char **argv)
{
    struct options o = {.count = 100};
    int first = program_begin(&option_table, argc, argv, &o);

    if (o.note != NULL)
        return send_note(o.note);
    if (o.at == NULL || first >= argc)
        program_refuse(&option_table, "--at and a command are needed");
    return measure(&o, argv + first);
}
