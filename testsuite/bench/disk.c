/* SPDX-License-Identifier: Apache-2.0 */
/* disk - how long fdatasync takes
 *
 *     testsuite/bench/disk DIRECTORY [COUNT]
 *
 * Appends 4 KiB and syncs, like a log: no durable acknowledgement can be
 * faster.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"

static void
die(const char *what)
{
    fprintf(stderr, "disk: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static int
by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

int
main(int argc, char **argv)
{
    size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 200;
    char block[4096] = "";
    char *path;
    int64_t *took_us;
    int fd;

    if (argc < 2 || count == 0) {
        fprintf(stderr, "usage: disk DIRECTORY [COUNT]\n");
        return EXIT_FAILURE;
    }
    path = xasprintf("%s/disk-XXXXXX", argv[1]);
    took_us = xnew_array(int64_t, count);
    fd = mkstemp(path);
    if (fd < 0)
        die(path);
    for (size_t i = 0; i < count; i++) {
        took_us[i] = clock_monotonic_us(&clock_system);
        if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block) || fdatasync(fd) < 0)
            die(path);
        took_us[i] = clock_monotonic_us(&clock_system) - took_us[i];
    }
    qsort(took_us, count, sizeof(*took_us), by_value);
    printf("fdatasync_p50 %.3f ms\n", (double)took_us[count / 2] / 1000);
    printf("fdatasync_p99 %.3f ms\n", (double)took_us[count - 1 - count / 100] / 1000);
    unlink(path);
    free(path);
    free(took_us);
    return EXIT_SUCCESS;
}
