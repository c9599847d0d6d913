/* SPDX-License-Identifier: Apache-2.0 */
/* pi.c - a job with several threads, to see where they run
 *
 * Starts OMP_NUM_THREADS threads that sum up pi together and says, from what
 * the kernel tells the process about itself, which cores it may use.
 *
 *   cc -O2 -pthread -o pi pi.c && ksub -c 4 --wrap ./pi
 */
#define _GNU_SOURCE /* sched_getcpu */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS       200000000L
#define MAX_THREADS 1024

struct part {
    int number, of;
    int cpu; /* where it was at its end */
    double sum;
};

static void *
add_up(void *arg)
{
    struct part *p = arg;
    const double width = 1.0 / STEPS;

    for (long i = p->number; i < STEPS; i += p->of) {
        double x = ((double)i + 0.5) * width;

        p->sum += 4.0 / (1.0 + x * x);
    }
    p->cpu = sched_getcpu();
    return NULL;
}

static void
tell_allowed(void)
{
    char line[4096];
    FILE *f = fopen("/proc/self/status", "r");

    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, "Cpus_allowed_list:", 18) == 0
            || strncmp(line, "Mems_allowed_list:", 18) == 0)
            fputs(line, stdout);
    if (f != NULL)
        fclose(f);
}

int
main(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    int n = text != NULL ? atoi(text) : 1;
    static pthread_t threads[MAX_THREADS];
    static struct part parts[MAX_THREADS];
    double sum = 0;

    if (n < 1 || n > MAX_THREADS)
        n = 1;
    tell_allowed();
    for (int i = 0; i < n; i++) {
        parts[i].number = i;
        parts[i].of = n;
        if (pthread_create(&threads[i], NULL, add_up, &parts[i]) != 0)
            return EXIT_FAILURE;
    }
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        sum += parts[i].sum;
        printf("thread %d ended on CPU %d\n", i, parts[i].cpu);
    }
    printf("pi is about %.9f\n", sum / STEPS);
    return EXIT_SUCCESS;
}
