/* SPDX-License-Identifier: Apache-2.0 */
/* forecast [NODES [WAITING [label]]] - what a forecast of all starts takes
 *
 * A full cluster of NODES (10000), on which WAITING (100000) pods wait for room;
 * with "label", for a label that no node has, so that the forecast visits all of
 * them and finds none. Shows how long the scheduler's thread collects, in how
 * many ticks and for how long at once, the simulation on the other thread, what
 * its result costs the scheduler's thread (all in CPU time), and the memory that
 * all of it takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/scheduler.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/start_forecast.h"
#include "testsuite/bench/scheduler/full_cluster.h"

struct aside {
    void (*work)(void *arg), (*done)(void *arg);
    void *arg;
};

static void
put_aside(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *context)
{
    struct aside *a = context;

    *a = (struct aside){work, done, arg};
}

/* A line of /proc/self/status, in MiB. */
static double
read_mib(const char *name)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;

    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            kib = strtol(line + strlen(name), NULL, 10);
    if (f != NULL)
        fclose(f);
    return (double)kib / 1024;
}

static void
forget_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");

    if (f == NULL)
        return;
    (void)fputs("5", f);
    fclose(f);
}

/* CPU time of this thread, since others may be on the CPU, too. */
static double
used_ms(int64_t since_ns)
{
    return (double)(thread_cpu_ns() - since_ns) / 1e6;
}

int
main(int argc, char **argv)
{
    struct aside aside = {0};
    struct full_cluster c = {
        .nodes = argc > 1 ? (unsigned)atoi(argv[1]) : 10000,
        .waiting = argc > 2 ? (unsigned)atoi(argv[2]) : 100000,
        .waits_for_label = argc > 3 && strcmp(argv[3], "label") == 0,
        .run_aside = put_aside,
        .aside_context = &aside,
        .without_forecast = true,
    };
    double longest_ms = 0, collected_ms = 0, before_mib;
    unsigned ticks = 0;
    int64_t began_ns;

    full_cluster_init(&c);
    c.scheduler->settings.without_forecast = false;
    before_mib = read_mib("VmRSS:");
    forget_peak();
    printf("%u nodes, %llu pods run, %u wait\n", c.nodes,
           (unsigned long long)scheduler_count(c.scheduler).scheduled, c.waiting);
    while (aside.work == NULL && ticks < 100000) {
        double ms;

        began_ns = thread_cpu_ns();
        start_forecast_tick(c.scheduler->forecast);
        ms = used_ms(began_ns);
        collected_ms += ms;
        longest_ms = ms > longest_ms ? ms : longest_ms;
        ticks++;
    }
    if (aside.work == NULL) {
        fprintf(stderr, "forecast: none was begun\n");
        return EXIT_FAILURE;
    }
    printf("collected in %u ticks: %.1f ms in all, %.2f ms at most at once; %.0f MiB\n", ticks,
           collected_ms, longest_ms, read_mib("VmRSS:") - before_mib);
    began_ns = thread_cpu_ns();
    aside.work(aside.arg);
    printf("simulated in %.2f s; %.0f MiB at most\n", used_ms(began_ns) / 1e3,
           read_mib("VmHWM:") - before_mib);
    began_ns = thread_cpu_ns();
    aside.done(aside.arg);
    printf("the result: %.2f ms\n", used_ms(began_ns));
    full_cluster_fini(&c);
    return EXIT_SUCCESS;
}
