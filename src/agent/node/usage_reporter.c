/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/usage_reporter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cgroup/cgroup.h"
#include "agent/hardware/gpu_meter.h"
#include "agent/hardware/machine_load.h"
#include "agent/node/process_usage.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/files/gpu_use.h"
#include "agent/pods/pod_record.h"
#include "agent/pods/pod_run.h"
#include "agent/pods/pods.h"
#include "lib/api/cluster/metrics.h"
#include "lib/api/node/allocation.h"
#include "lib/api/node/gpu_vendor.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/random.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"

#define FIRST_MS        1000
#define LEAST_MS        50 /* a shorter window is too short for a rate */
#define INTERVAL_MIN_MS 100

struct usage_reporter {
    const struct agent_context *agent;
    const struct pods *pods;
    const char *gpu_library; /* or NULL */
    struct gpu_meter *gpus;  /* NULL: no pod had a GPU of NVIDIA so far */
    int64_t interval_ms;
    struct timer *timer;
    bool is_stopped;           /* what is under way is only freed */
    int64_t started_us;        /* wall clock */
    struct map *last_readings; /* by uid: the latest struct cpu_reading */
    bool has_node;
    uint64_t node_cpu_us;
    int64_t node_at_us;
};

/* The CPU time that was used until a moment. */
struct cpu_reading {
    uint64_t cpu_us;
    int64_t at_us; /* monotonic */
};

/* One pod's part of a measurement. */
struct pod_measurement {
    const struct object *pod;
    struct cgroup *cgroup; /* a copy; NULL: its processes are summed */
    pid_t shepherd;
    int64_t started_at_us;
    int64_t at_us;
    bool is_known;
    struct cgroup_usage usage;
    uint64_t memory_bytes;
    bool has_gpus; /* the use of its GPUs is known */
    struct gpu_use_sample gpus;
    struct gpu_use gpu_use; /* a copy, to be written */
};

struct measurement {
    struct usage_reporter *m;
    struct pod_measurement *pods;
    size_t count, capacity;
    struct machine_load load;
    int64_t at_us;
    bool has_load;
};

static void
measurement_free(struct measurement *t)
{
    for (size_t i = 0; i < t->count; i++) {
        object_unref(t->pods[i].pod);
        cgroup_free(t->pods[i].cgroup);
    }
    free(t->pods);
    free(t);
}

/* ---- On a worker ---- */

static void
measure_processes(struct measurement *t)
{
    CLEANUP_FREE struct process_usage *list = xnew_array(struct process_usage, t->count);
    size_t n = 0;

    for (size_t i = 0; i < t->count; i++)
        if (t->pods[i].cgroup == NULL && t->pods[i].shepherd > 0)
            list[n++].ancestor = t->pods[i].shepherd;
    if (n == 0 || process_usage_read("", list, n) < 0)
        return;
    for (size_t i = 0; i < t->count; i++)
        for (size_t k = 0; t->pods[i].cgroup == NULL && k < n; k++)
            if (list[k].is_there && list[k].ancestor == t->pods[i].shepherd) {
                t->pods[i].at_us = clock_monotonic_us(t->m->agent->clock);
                t->pods[i].is_known = true;
                t->pods[i].usage.cpu_user_us = list[k].cpu_user_us;
                t->pods[i].usage.cpu_system_us = list[k].cpu_system_us;
                t->pods[i].memory_bytes = list[k].memory_bytes;
            }
}

static void
write_gpu_use(const struct measurement *t)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct pod_measurement *p = &t->pods[i];
        const char *uid = p->pod->meta->uid;
        CLEANUP_FREE char *dir = NULL;
        int r;

        if (!p->has_gpus || p->gpu_use.samples == 0)
            continue;
        dir = pod_record_state_path(t->m->agent, uid, "");
        r = gpu_use_write(&p->gpu_use, dir, uid);
        if (r < 0 && r != -ENOENT) /* the pod may be gone */
            log_debug("the use of GPUs was not written to '%s': %s", dir, strerror(-r));
    }
}

static void
measure(void *arg)
{
    struct measurement *t = arg;
    struct clock *clock = t->m->agent->clock;

    for (size_t i = 0; i < t->count; i++) {
        struct pod_measurement *p = &t->pods[i];

        if (p->cgroup == NULL)
            continue;
        p->at_us = clock_monotonic_us(clock);
        cgroup_read_usage(p->cgroup, &p->usage);
        p->is_known = p->usage.has_cpu;
        (void)cgroup_read_working_set(p->cgroup, &p->memory_bytes);
    }
    measure_processes(t);
    write_gpu_use(t);
    t->at_us = clock_monotonic_us(clock);
    t->has_load = machine_load_read("", &t->load, NULL) == 0;
}

/* ---- Figures ---- */

static int64_t
rate(uint64_t cpu_us, uint64_t before_us, int64_t window_us)
{
    if (cpu_us < before_us || window_us <= 0)
        return 0;
    return (int64_t)((double)(cpu_us - before_us) * 1e9 / (double)window_us);
}

/* The rate is that since the last reading. A pod without one is measured since
 * its start, if it started after this reporter.
 */
static void
set_pod_rate(const struct usage_reporter *m, const struct pod_measurement *p,
             struct usage_figures *f)
{
    const struct cpu_reading *last_readings = map_find(m->last_readings, p->pod->meta->uid);
    uint64_t cpu_us = p->usage.cpu_user_us + p->usage.cpu_system_us;
    int64_t window_us = 0;
    uint64_t before_us = 0;

    if (last_readings != NULL) {
        window_us = p->at_us - last_readings->at_us;
        before_us = last_readings->cpu_us;
    } else if (p->started_at_us >= m->started_us)
        window_us = clock_real_us(m->agent->clock) - p->started_at_us;
    if (window_us < LEAST_MS * 1000)
        return;
    f->window_ms = window_us / 1000;
    f->cpu_nanocores = rate(cpu_us, before_us, window_us);
}

static void
add_pod(const struct measurement *t, const struct pod_measurement *p, struct usage_of_pod *out)
{
    out->namespace = p->pod->meta->namespace;
    out->name = p->pod->meta->name;
    out->uid = p->pod->meta->uid;
    out->figures.memory_bytes = (int64_t)p->memory_bytes;
    out->figures.has_gpus = p->has_gpus;
    out->figures.gpu_milli = p->gpus.milli;
    out->figures.gpu_memory_bytes = p->gpus.bytes;
    set_pod_rate(t->m, p, &out->figures);
    out->total.peak_memory_bytes = (int64_t)p->usage.peak_memory_bytes;
    out->total.user_cpu_us = (int64_t)p->usage.cpu_user_us;
    out->total.system_cpu_us = (int64_t)p->usage.cpu_system_us;
}

static void
set_node(const struct measurement *t, struct usage_figures *f)
{
    const struct usage_reporter *m = t->m;

    if (!t->has_load)
        return;
    f->memory_bytes = (int64_t)t->load.memory_bytes;
    if (!m->has_node || t->at_us - m->node_at_us < LEAST_MS * 1000)
        return;
    f->window_ms = (t->at_us - m->node_at_us) / 1000;
    f->cpu_nanocores = rate(t->load.cpu_us, m->node_cpu_us, t->at_us - m->node_at_us);
}

static void
clear_last_readings(struct usage_reporter *m)
{
    size_t at = 0;
    void *cpu_reading;

    while (map_next(m->last_readings, &at, NULL, &cpu_reading))
        free(cpu_reading);
    map_clear(m->last_readings);
}

static void
keep_readings(struct usage_reporter *m, const struct measurement *t)
{
    clear_last_readings(m);
    for (size_t i = 0; i < t->count; i++) {
        const struct pod_measurement *p = &t->pods[i];
        struct cpu_reading *r;

        if (!p->is_known)
            continue;
        r = xnew(struct cpu_reading);
        r->cpu_us = p->usage.cpu_user_us + p->usage.cpu_system_us;
        r->at_us = p->at_us;
        map_put(m->last_readings, p->pod->meta->uid, r);
    }
    m->has_node = t->has_load;
    m->node_cpu_us = t->load.cpu_us;
    m->node_at_us = t->at_us;
}

/* ---- Reports ---- */

static void
on_answer(const struct client_reply *reply, void *context)
{
    struct usage_reporter *m = context;
    struct error err = {0};

    if (m->is_stopped)
        return;
    if (reply->code != 201) {
        client_reply_error(reply, &err);
        log_debug("the controller did not accept the usage report: %s", err.text);
    }
    timer_start(m->timer, m->interval_ms);
}

static void
report(struct usage_reporter *m, const struct measurement *t)
{
    struct arena *arena = arena_new(0);
    struct usage_report said = {.interval_ms = m->interval_ms};
    struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &node_kind,
        .name = m->agent->node,
        .subresource = "usage",
        .raw = true,
    };

    set_node(t, &said.node);
    said.pods.items = arena_alloc(arena, (t->count + 1) * sizeof(*said.pods.items));
    for (size_t i = 0; i < t->count; i++)
        if (t->pods[i].is_known)
            add_pod(t, &t->pods[i], &said.pods.items[said.pods.count++]);
    request.body = record_encode(&usage_report_record, arena, &said);
    client_call(m->agent->client, arena, &request, on_answer, m);
}

static void
on_measured(void *arg)
{
    struct measurement *t = arg;

    if (!t->m->is_stopped) {
        report(t->m, t);
        keep_readings(t->m, t);
    }
    measurement_free(t);
}

/* The number of the device's file; -1: its use cannot be measured. */
static int
metered_number(const struct topology *t, const char *device)
{
    for (unsigned i = 0; i < t->n_devices; i++)
        if (strcmp(t->devices[i].name, device) == 0)
            return gpu_vendor_number(&gpu_vendors[GPU_VENDOR_NVIDIA], t->devices[i].path);
    return -1;
}

/* The use is known if that of all GPUs of NVIDIA is known that the pod has. */
static void
read_gpus(struct usage_reporter *m, struct pod_measurement *p)
{
    const struct allocation *allocation = pod_of(p->pod)->status.allocation;
    bool is_unknown = false;

    if (allocation == NULL || m->agent->topology == NULL || m->gpu_library == NULL)
        return;
    for (size_t i = 0; i < allocation->devices.count; i++) {
        const int minor = metered_number(m->agent->topology, allocation->devices.items[i]);
        struct gpu_reading reading;

        if (minor < 0)
            continue;
        if (m->gpus == NULL)
            m->gpus = gpu_meter_new(m->gpu_library, m->interval_ms);
        if (m->gpus == NULL || !gpu_meter_read(m->gpus, (unsigned)minor, &reading)) {
            is_unknown = true;
            continue;
        }
        if (!p->has_gpus || reading.at_us < p->gpus.at_us)
            p->gpus.at_us = reading.at_us;
        p->has_gpus = true;
        p->gpus.count++;
        p->gpus.milli += (int64_t)reading.busy_percent * 10;
        p->gpus.bytes += (int64_t)reading.memory_bytes;
        p->gpus.total_bytes += (int64_t)reading.memory_total_bytes;
    }
    p->has_gpus = p->has_gpus && !is_unknown;
}

/* Leaves out what was read before the pod's start, and the time for which the
 * pod is suspended, which its elapsed time leaves out, too.
 */
static void
sum_gpus(const struct usage_reporter *m, struct pod_measurement *p, struct gpu_use *sum)
{
    struct clock *clock = m->agent->clock;
    const int64_t ago_us = clock_real_us(clock) - p->started_at_us;

    if (p->has_gpus && !pod_is_frozen(pod_of(p->pod))
        && clock_monotonic_us(clock) - p->gpus.at_us < ago_us)
        gpu_use_add(sum, &p->gpus);
    p->gpu_use = *sum;
}

static void
add_running_pod(const struct running_pod *running, void *context)
{
    struct measurement *t = context;
    struct pod_measurement *p;

    xgrow(t->pods, t->count, t->capacity);
    p = &t->pods[t->count++];
    *p = (struct pod_measurement){
        .pod = object_ref(running->pod),
        .cgroup = running->cgroup != NULL ? cgroup_dup(running->cgroup) : NULL,
        .shepherd = running->shepherd,
        .started_at_us = running->started_at_us,
    };
    read_gpus(t->m, p);
    sum_gpus(t->m, p, running->gpu_use);
}

static void
begin(void *context)
{
    struct usage_reporter *m = context;
    struct measurement *t = xnew(struct measurement);

    t->m = m;
    pods_visit_running(m->pods, add_running_pod, t);
    workers_submit(m->agent->workers, m->agent->loop, measure, on_measured, t);
}

struct usage_reporter *
usage_reporter_new(const struct agent_context *agent, const struct pods *pods,
                   const char *gpu_library, int64_t interval_ms)
{
    struct usage_reporter *m = xnew(struct usage_reporter);

    m->agent = agent;
    m->pods = pods;
    m->gpu_library = gpu_library;
    m->interval_ms = interval_ms > INTERVAL_MIN_MS ? interval_ms : INTERVAL_MIN_MS;
    m->last_readings = map_new();
    m->started_us = clock_real_us(agent->clock);
    m->timer = timer_new(agent->loop, begin, m);
    return m;
}

void
usage_reporter_stop(struct usage_reporter *m)
{
    if (m == NULL)
        return;
    timer_stop(m->timer);
    m->is_stopped = true;
}

void
usage_reporter_free(struct usage_reporter *m)
{
    if (m == NULL)
        return;
    timer_free(m->timer);
    gpu_meter_free(m->gpus);
    clear_last_readings(m);
    map_free(m->last_readings);
    free(m);
}

/* Agents that start together send their reports at different times. */
void
usage_reporter_start(struct usage_reporter *m)
{
    struct machine_load load;
    uint32_t chance;

    random_bytes(&chance, sizeof(chance));
    m->has_node = machine_load_read("", &load, NULL) == 0;
    m->node_cpu_us = m->has_node ? load.cpu_us : 0;
    m->node_at_us = clock_monotonic_us(m->agent->clock);
    if (m->interval_ms < FIRST_MS)
        timer_start(m->timer, m->interval_ms);
    else
        timer_start(m->timer, FIRST_MS + chance % m->interval_ms / 4);
}
