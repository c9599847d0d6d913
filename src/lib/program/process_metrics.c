/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/process_metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/macro.h"
#include "lib/base/metric.h"
#include "lib/base/version/version.h"

static double
seconds_of(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static double
read_cpu(UNUSED void *context)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) < 0)
        return 0;
    return seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
}

/* /proc/self/statm: total and resident size, in pages. */
static double
read_pages(int which)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long pages[2] = {0, 0};
    int n;

    if (file == NULL)
        return 0;
    n = fscanf(file, "%lu %lu", &pages[0], &pages[1]);
    fclose(file);
    return n == 2 ? (double)pages[which] * (double)sysconf(_SC_PAGESIZE) : 0;
}

static double
read_virtual(UNUSED void *context)
{
    return read_pages(0);
}

static double
read_resident(UNUSED void *context)
{
    return read_pages(1);
}

static double
read_open_fds(UNUSED void *context)
{
    DIR *dir = opendir("/proc/self/fd");
    double n = -3; /* the descriptor of the directory, and the two dots */

    if (dir == NULL)
        return 0;
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static double
read_max_fds(UNUSED void *context)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 0 : (double)limit.rlim_cur;
}

static double
read_free(void *context)
{
    struct statvfs fs;

    return statvfs(context, &fs) < 0 ? 0 : (double)fs.f_bavail * (double)fs.f_frsize;
}

static double
read_size(void *context)
{
    struct statvfs fs;

    return statvfs(context, &fs) < 0 ? 0 : (double)fs.f_blocks * (double)fs.f_frsize;
}

static const struct {
    const char *name;
    const char *help;
    metric_read_fn read;
} gauges[] = {
    {"process_virtual_memory_bytes", "Virtual memory.", read_virtual},
    {"process_resident_memory_bytes", "Resident memory.", read_resident},
    {"process_open_fds", "Open file descriptors.", read_open_fds},
    {"process_max_fds", "The limit of open file descriptors.", read_max_fds},
};

void
process_metrics_add(struct metric_registry *registry, const char *state_dir)
{
    union {
        const char *in;
        void *out;
    } dir = {.in = state_dir};

    for (size_t i = 0; i < ARRAY_SIZE(gauges); i++)
        metric_read(metric_series(metric_gauge(registry, gauges[i].name, gauges[i].help, NULL)),
                    gauges[i].read, NULL);
    metric_read(metric_series(metric_counter(registry, "process_cpu_seconds_total",
                                             "CPU time in user and system mode.", NULL)),
                read_cpu, NULL);
    metric_set(metric_series(metric_gauge(registry, "process_start_time_seconds",
                                          "When this process started, in "
                                          "seconds since 1970.",
                                          NULL)),
               (double)time(NULL));
    metric_set(metric_series(metric_gauge(registry, "kiln_build_info",
                                          "Always 1; the labels identify the "
                                          "build.",
                                          "version"),
                             version_text()),
               1);
    metric_read(metric_series(metric_gauge(registry, "kiln_state_free_bytes",
                                           "Free space of the file system of "
                                           "the state directory.",
                                           NULL)),
                read_free, dir.out);
    metric_read(metric_series(metric_gauge(registry, "kiln_state_size_bytes",
                                           "Size of the file system of the "
                                           "state directory.",
                                           NULL)),
                read_size, dir.out);
}
