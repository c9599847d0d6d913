/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/bench/scheduler/sampling.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/alloc.h"

int64_t
thread_cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

long
resident_mib(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0;

    if (f == NULL)
        return 0;
    if (fscanf(f, "%*s %ld", &pages) != 1)
        pages = 0;
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024) / 1024;
}

void
sampling_fini(struct sampling *s)
{
    free(s->cycles);
    free(s->spans);
}

void
sampling_cycle(struct sampling *s, int64_t took_ns)
{
    xgrow(s->cycles, s->n_cycles, s->cycle_capacity);
    s->cycles[s->n_cycles++] = took_ns;
}

void
sampling_look(struct sampling *s, int64_t now_ns, uint64_t placed)
{
    int64_t span = now_ns - s->began_ns;

    if (span < s->span_ns)
        return;
    xgrow(s->spans, s->n_spans, s->span_capacity);
    s->spans[s->n_spans++] = (double)(placed - s->began_placed) * 1e9 / (double)span;
    s->began_ns = now_ns;
    s->began_placed = placed;
}

void
sampling_reset(struct sampling *s, int64_t now_ns, uint64_t placed)
{
    s->n_cycles = s->n_spans = 0;
    s->began_ns = now_ns;
    s->began_placed = placed;
}

static int
compare_cycles(const void *a, const void *b)
{
    int64_t ca = *(const int64_t *)a, cb = *(const int64_t *)b;

    return (ca > cb) - (ca < cb);
}

static int
compare_spans(const void *a, const void *b)
{
    double sa = *(const double *)a, sb = *(const double *)b;

    return (sa > sb) - (sa < sb);
}

struct sampling_figures
sampling_figures(struct sampling *s)
{
    struct sampling_figures f = {0};

    if (s->n_cycles > 0) {
        qsort(s->cycles, s->n_cycles, sizeof(*s->cycles), compare_cycles);
        f.p50_us = (double)s->cycles[s->n_cycles / 2] / 1e3;
        f.p99_us = (double)s->cycles[(size_t)s->n_cycles * 99 / 100] / 1e3;
    }
    if (s->n_spans > 0) {
        qsort(s->spans, s->n_spans, sizeof(*s->spans), compare_spans);
        f.p50_rate = s->spans[s->n_spans / 2];
        f.p99_rate = s->spans[s->n_spans / 100];
    }
    return f;
}
