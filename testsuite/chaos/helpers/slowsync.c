/* SPDX-License-Identifier: Apache-2.0 */
/* slowsync - fsync and fdatasync that take longer
 *
 * Preloaded; the file $SLOWSYNC contains the additional seconds, a decimal number. Without the
 * file nothing is added.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void
late(void)
{
    const char *f = getenv("SLOWSYNC");
    FILE *h = f ? fopen(f, "re") : NULL;
    double s = 0;
    if (!h)
        return;
    if (fscanf(h, "%lf", &s) != 1)
        s = 0;
    fclose(h);
    struct timespec t = {(time_t)s, (long)((s - (time_t)s) * 1e9)};
    nanosleep(&t, NULL);
}

int
fdatasync(int fd)
{
    late();
    int (*r)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    return r(fd);
}

int
fsync(int fd)
{
    late();
    int (*r)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return r(fd);
}
