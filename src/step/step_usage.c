/* SPDX-License-Identifier: Apache-2.0 */
/* step_usage.c - what running tasks use, told now and then
 *
 * The agent finds the peak of the tasks of its node in its file (step_figures.h). Krun is told all,
 * and tells the step manager, which has the record: in a job of several nodes this is how it learns
 * of the other nodes.
 */
#include "step/step_usage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_figures.h"
#include "lib/step/step_frames.h"
#include "step/step_link.h"
#include "step/step_result.h"
#include "step/step_tasks.h"

/* The tasks are disturbed as seldom as possible; the controller gets it no sooner. */
#define FIRST_MS       1000
#define INTERVAL_MS    10000
#define PROCESSES_MOST 4096
#define STATUS_BYTES   4096

struct step_usage {
    const struct cgroup *cgroup; /* NULL: none */
    struct step_result *result;
    struct step_link *link;
    int64_t next_ms; /* 0: not yet */
};

struct step_sample {
    uint64_t peak_bytes;
    uint64_t user_us, system_us; /* of tasks that run, without a cgroup, and of their children */
    unsigned n;
};

/* The most memory that a process had: VmHWM, in KiB. */
static uint64_t
read_peak(pid_t pid)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    unsigned long long kib = 0;
    char path[32];
    const char *at;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (file_read(path, STATUS_BYTES, &text, NULL) < 0)
        return 0;
    at = strstr(text.text, "\nVmHWM:");
    return at != NULL && sscanf(at, "\nVmHWM: %llu kB", &kib) == 1 ? kib * 1024 : 0;
}

static int
add_process(pid_t pid, void *context)
{
    struct step_sample *sample = context;
    const uint64_t peak = pid != getpid() ? read_peak(pid) : 0;

    if (peak > sample->peak_bytes)
        sample->peak_bytes = peak;
    return ++sample->n < PROCESSES_MOST ? 0 : -E2BIG;
}

/* Of the process and of its children that it has waited for, as its own exit will say. */
static void
add_times(pid_t pid, struct step_sample *sample)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const uint64_t tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    unsigned long long user, system, of_user, of_system;
    char path[32];
    const char *at;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (file_read(path, STATUS_BYTES, &text, NULL) < 0)
        return;
    at = strrchr(text.text, ')'); /* a name may have one, too */
    if (at == NULL
        || sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu", &user,
                  &system, &of_user, &of_system)
               != 4)
        return;
    sample->user_us += (user + of_user) * tick_us;
    sample->system_us += (system + of_system) * tick_us;
}

static void
take_sample(struct step_usage *u, const struct step_tasks *tasks, struct step_sample *ret_sample)
{
    struct step_sample sample = {0};

    if (u->cgroup != NULL)
        (void)cgroup_visit_processes(u->cgroup, add_process, &sample);
    for (unsigned i = 0, all = sample.n == 0 ? step_tasks_count(tasks) : 0; i < all; i++) {
        const pid_t pid = step_tasks_pid(tasks, i);

        if (pid > 0) {
            (void)add_process(pid, &sample);
            add_times(pid, &sample);
        }
    }
    step_result_add_peak(u->result, sample.peak_bytes);
    *ret_sample = sample;
}

/* CPU times in the file are of processes that have ended, and are added up. */
static void
report_to_krun(struct step_usage *u, const struct step_sample *sample)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct step_figures f = *step_result_figures(u->result);
    struct cgroup_usage usage = {0};

    if (u->cgroup != NULL)
        cgroup_read_usage(u->cgroup, &usage);
    f.cpu_user_us += sample->user_us;
    f.cpu_system_us += sample->system_us;
    if (usage.has_cpu
        && usage.cpu_user_us + usage.cpu_system_us > f.cpu_user_us + f.cpu_system_us) {
        f.cpu_user_us = usage.cpu_user_us;
        f.cpu_system_us = usage.cpu_system_us;
    }
    step_figures_format(&f, &text);
    step_frame_add(step_link_out(u->link), &(struct step_frame){
                                               .type = STEP_FRAME_BEAT,
                                               .task = STEP_ALL_TASKS,
                                               .payload = text.text,
                                               .length = text.length,
                                           });
    step_link_flush(u->link);
}

struct step_usage *
step_usage_new(const struct cgroup *cgroup, struct step_result *result, struct step_link *link)
{
    struct step_usage *u = xnew(struct step_usage);

    u->cgroup = cgroup;
    u->result = result;
    u->link = link;
    return u;
}

int
step_usage_report(struct step_usage *u, const struct step_tasks *tasks, int64_t now_ms)
{
    if (step_tasks_count_running(tasks) == 0)
        return -1;
    if (u->next_ms == 0)
        u->next_ms = now_ms + FIRST_MS;
    if (now_ms >= u->next_ms) {
        struct step_sample sample;

        take_sample(u, tasks, &sample);
        if (step_link_is_flushed(u->link)) /* a krun that reads nothing needs none */
            report_to_krun(u, &sample);
        u->next_ms = now_ms + INTERVAL_MS;
    }
    return (int)(u->next_ms - now_ms);
}
