/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/replay/schedule_score.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "testsuite/replay/job_log.h"

#define SHORTEST_S 10

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double
slowdown(const struct log_job *j)
{
    int64_t run_s = j->run_s > SHORTEST_S ? j->run_s : SHORTEST_S;
    double ratio = (double)(j->start_s + j->run_s - j->submit_s) / (double)run_s;

    return ratio > 1 ? ratio : 1;
}

struct schedule_score
schedule_score(const struct job_log *log, unsigned processors)
{
    CLEANUP_FREE double *waits = xnew_array(double, log->count);
    CLEANUP_FREE double *slowdowns = xnew_array(double, log->count);
    double count = (double)log->count, work = 0;
    size_t p95 = (log->count * 95 + 99) / 100 - 1;
    int64_t last_s = 0;
    struct schedule_score s = {0};

    for (size_t i = 0; i < log->count; i++) {
        const struct log_job *j = &log->jobs[i];

        waits[i] = (double)(j->start_s - j->submit_s);
        slowdowns[i] = slowdown(j);
        s.mean_wait_s += waits[i] / count;
        s.mean_slowdown += slowdowns[i] / count;
        work += (double)j->procs * (double)j->run_s;
        if (j->start_s + j->run_s > last_s)
            last_s = j->start_s + j->run_s;
    }
    qsort(waits, log->count, sizeof(*waits), compare);
    qsort(slowdowns, log->count, sizeof(*slowdowns), compare);
    s.p95_wait_s = (int64_t)waits[p95];
    s.p95_slowdown = slowdowns[p95];
    s.longest_wait_s = (int64_t)waits[log->count - 1];
    s.makespan_s = last_s - log->jobs[0].submit_s;
    s.utilization = work / ((double)processors * (double)s.makespan_s);
    return s;
}
