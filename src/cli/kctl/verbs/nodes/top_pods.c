/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "cli/kctl/client/step_list.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/output/step_table.h"
#include "cli/kctl/verbs/nodes/top.h"
#include "cli/print/grid.h"
#include "cli/print/human.h"
#include "lib/api/node/gpu_vendor.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/map.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

/* A running pod, or all running pods of a job. */
struct top_pods_line {
    const char *name;
    const char *user;
    const char *node; /* of the first pod */
    unsigned pods;
    int64_t mcpu; /* allocated */
    int64_t used_mcpu;
    int64_t cpu_us;     /* used so far */
    double possible_us; /* the most that the allocated CPUs could have given so
                         * far */
    int64_t run_us;     /* of the pod that has run longest */
    int64_t memory_bytes, peak_bytes, wanted_bytes;
    bool has_gpus;
    int64_t gpu_milli, gpu_memory_bytes;
    bool is_known; /* its node has reported */
};

struct lines {
    struct top_pods_line *items;
    size_t count, capacity;
};

static const char *
label(const struct json *object, const char *name)
{
    return json_get_text(json_get_path(object, "metadata.labels"), name);
}

static int64_t
requested(const struct json *pod, const char *name, bool milli)
{
    const struct json *containers = json_get_path(pod, "spec.containers");
    int64_t sum = 0;

    for (uint32_t i = 0; i < json_count(containers); i++) {
        const char *text =
            json_get_text(json_get_path(json_at(containers, i), "resources.requests"), name);

        sum += milli ? quantity_text_milli(text) : quantity_text_value(text);
    }
    return sum;
}

/* The CPUs that the pod has exclusively, or its share of the shared pool. */
static int64_t
allocated_mcpu(const struct json *pod)
{
    const char *cpus = json_path_text(pod, "status.allocation.cpus");
    struct bitset set = {0};

    if (cpus != NULL && cpuset_parse(cpus, &set, NULL) == 0 && bitset_count(&set) > 0)
        return (int64_t)bitset_count(&set) * 1000;
    return requested(pod, "cpu", true);
}

static int64_t
run_time(const struct json *pod)
{
    const struct json *container = json_at(json_get_path(pod, "status.containerStatuses"), 0);
    const char *text = json_path_text(container, "state.running.startedAt");
    int64_t since = 0;

    if (text == NULL)
        text = json_path_text(pod, "status.startTime");
    if (text == NULL || time_parse(text, &since) < 0)
        return 0;
    return clock_real_us(&clock_system) - since;
}

static void
add_usage(struct top_pods_line *line, const struct json *metrics)
{
    const struct json *containers = json_get(metrics, "containers");
    const struct json *total = json_get(metrics, "total");

    for (uint32_t i = 0; i < json_count(containers); i++) {
        const struct json *usage = json_get(json_at(containers, i), "usage");

        line->used_mcpu += quantity_text_milli(json_get_text(usage, "cpu"));
        line->memory_bytes += quantity_text_value(json_get_text(usage, "memory"));
        for (const struct gpu_vendor *v = gpu_vendors; v < gpu_vendors + GPU_VENDOR_COUNT; v++) {
            if (v->usage == NULL || json_get(usage, v->usage) == NULL)
                continue;
            line->has_gpus = true;
            line->gpu_milli += quantity_text_milli(json_get_text(usage, v->usage));
            line->gpu_memory_bytes += quantity_text_value(json_get_text(usage, v->memory_usage));
        }
    }
    line->cpu_us += json_get_int(total, "userCpuMicroseconds", 0)
                    + json_get_int(total, "systemCpuMicroseconds", 0);
    line->peak_bytes += json_get_int(total, "peakMemoryBytes", 0);
    line->is_known = line->is_known || metrics != NULL;
}

static void
add_pod(struct top_pods_line *line, const struct json *pod, const struct json *metrics)
{
    int64_t mcpu = allocated_mcpu(pod);
    int64_t run_us = run_time(pod);

    line->pods++;
    line->mcpu += mcpu;
    line->wanted_bytes += requested(pod, "memory", false);
    if (run_us > line->run_us)
        line->run_us = run_us;
    if (metrics != NULL)
        line->possible_us += (double)run_us * (double)mcpu / 1000.0;
    add_usage(line, metrics);
}

static struct top_pods_line *
new_line(struct lines *lines, const char *name, const struct json *pod)
{
    struct top_pods_line *line;

    xgrow(lines->items, lines->count, lines->capacity);
    line = &lines->items[lines->count++];
    *line = (struct top_pods_line){
        .name = name,
        .user = label(pod, LABEL_USER),
        .node = json_path_text(pod, "spec.nodeName"),
    };
    return line;
}

static const char *
key_of(struct arena *arena, const struct json *object)
{
    return arena_printf(arena, "%s/%s", json_path_text(object, "metadata.namespace"),
                        json_path_text(object, "metadata.name"));
}

/* ---- Selection ---- */

struct top_pods_query {
    struct kctl *kctl;
    struct arena *arena;
    const char *label_selector;
    bool by_job;
    struct lines lines;
    struct step_list steps; /* running ones of the jobs that are named */
};

/* The pods of a job are adjacent in the list, except for later attempts. */
static struct top_pods_line *
find_line(struct top_pods_query *s, const struct json *pod)
{
    const char *job = label(pod, LABEL_JOB_NAME);

    if (!s->by_job)
        return new_line(&s->lines, json_path_text(pod, "metadata.name"), pod);
    if (job == NULL)
        return NULL;
    if (strncmp(job, "job-", 4) == 0)
        job += 4; /* the id that users know */
    for (size_t i = s->lines.count; i-- > 0;)
        if (strcmp(s->lines.items[i].name, job) == 0)
            return &s->lines.items[i];
    return new_line(&s->lines, job, pod);
}

static int
add_collection(struct top_pods_query *s, const char *namespace, const char *selector,
               struct error *err)
{
    const struct target_object pods = {.kind = &pod_kind, .namespace = namespace};
    const struct target_object all = {.kind = &pod_metrics_kind, .namespace = namespace};
    CLEANUP(map_freep) struct map *metrics = map_new();
    struct json *items = NULL;
    int r = kctl_list(s->kctl, &all, selector, NULL, s->arena, &items, err);

    for (uint32_t i = 0; i < json_count(items); i++)
        map_put(metrics, key_of(s->arena, json_at(items, i)), json_at(items, i));
    if (r == 0)
        r = kctl_list(s->kctl, &pods, selector, "status.phase=Running", s->arena, &items, err);
    for (uint32_t i = 0; r == 0 && i < json_count(items); i++) {
        const struct json *pod = json_at(items, i);
        struct top_pods_line *line = find_line(s, pod);

        if (line != NULL)
            add_pod(line, pod, map_find(metrics, key_of(s->arena, pod)));
    }
    return r;
}

static int
add_named_pod(struct top_pods_query *s, const struct target_object *wanted, struct error *err)
{
    struct target_object metrics_of = *wanted;
    struct json *pod = NULL;
    struct json *metrics = NULL;
    int r = kctl_get(s->kctl, wanted, s->arena, &pod, err);

    metrics_of.kind = &pod_metrics_kind;
    if (r == 0)
        r = kctl_find(s->kctl, &metrics_of, s->arena, &metrics, err);
    if (r == 0)
        add_pod(find_line(s, pod), pod, metrics);
    return r;
}

static int
add_named_job(struct top_pods_query *s, const struct target_object *wanted, struct error *err)
{
    struct json *job = NULL;
    int r = kctl_get(s->kctl, wanted, s->arena, &job, err);

    if (r == 0)
        r = add_collection(s, wanted->namespace,
                           arena_printf(s->arena, LABEL_JOB_NAME "=%s", wanted->name), err);
    if (r < 0)
        return r;
    r = step_list_add(&s->steps, s->kctl, json_get_int(json_get(job, "status"), "id", 0), NULL,
                      true, err);
    return r == -ENOENT ? 0 : r; /* of a controller that does not know them */
}

/* ---- Rows ---- */

static const char *
duration(struct arena *arena, int64_t us)
{
    char text[HUMAN_TEXT_SIZE];

    human_duration(us, text);
    return arena_strdup(arena, text);
}

static void
show_line(struct top_pods_query *s, struct grid *grid, const struct top_pods_line *line)
{
    struct arena *a = s->arena;
    const char *unknown = "-";
    const char *cells[] = {
        line->name,
        line->user != NULL ? line->user : unknown,
        s->by_job ? arena_printf(a, "%u", line->pods) : line->node,
        duration(a, line->run_us),
        line->mcpu > 0 ? top_cpus(a, line->mcpu) : unknown,
        line->is_known ? arena_printf(a, "%.2f", (double)line->used_mcpu / 1000) : unknown,
        line->is_known ? duration(a, line->cpu_us) : unknown,
        top_percent(a, (double)line->cpu_us, line->possible_us),
        line->is_known ? top_bytes(a, line->memory_bytes) : unknown,
        line->peak_bytes > 0 ? top_bytes(a, line->peak_bytes) : unknown,
        line->wanted_bytes > 0 ? top_bytes(a, line->wanted_bytes) : unknown,
        line->has_gpus ? arena_printf(a, "%.2f", (double)line->gpu_milli / 1000) : unknown,
        line->has_gpus ? top_bytes(a, line->gpu_memory_bytes) : unknown,
    };

    grid_add_row(grid, cells);
}

/* Steps share the memory of their pods, so only their largest process is known. */
static void
show_step(struct top_pods_query *s, struct grid *grid, const struct json *step)
{
    struct arena *a = s->arena;
    const char *unknown = "-";
    const char *user = json_get_text(step, "user");
    const int64_t run_us = clock_real_us(&clock_system) - step_table_time(step, "startTime");
    const int64_t cpus = json_get_int(step, "cpus", 0);
    const bool is_known = json_get(step, "cpuUserMicros") != NULL;
    const int64_t cpu_us =
        json_get_int(step, "cpuUserMicros", 0) + json_get_int(step, "cpuSystemMicros", 0);
    const int64_t peak = json_get_int(step, "peakMemoryBytes", 0);
    const int64_t seen_us =
        step_table_time(step, "observedTime") - step_table_time(step, "startTime");
    const char *cells[] = {
        step_table_name(a, step),
        user != NULL ? user : unknown,
        unknown,
        duration(a, run_us > 0 ? run_us : 0),
        cpus > 0 ? top_cpus(a, cpus * 1000) : unknown,
        unknown,
        is_known ? duration(a, cpu_us) : unknown,
        is_known ? top_percent(a, (double)cpu_us, (double)seen_us * (double)cpus) : unknown,
        unknown,
        peak > 0 ? top_bytes(a, peak) : unknown,
        unknown,
        unknown,
        unknown,
    };

    grid_add_row(grid, cells);
}

static int
top(struct top_pods_query *s, const struct top_query *q, struct grid *grid, struct error *err)
{
    const struct grid_column columns[] = {
        {.name = "Name", .least = 8},
        {.name = "User", .least = 4, .weight = 1},
        {.name = s->by_job ? "Pods" : "Node", .least = 4},
        {.name = "Running"},
        {.name = "CPUs"},
        {.name = "Using"},
        {.name = "CPU time"},
        {.name = "Efficiency", .least = 4},
        {.name = "Memory"},
        {.name = "Peak"},
        {.name = "of"},
        {.name = "GPUs"},
        {.name = "GPU mem"},
    };
    size_t n_columns = ARRAY_SIZE(columns) - 2;
    int r = 0;

    for (size_t i = 0; r == 0 && i < q->wanted->count; i++) {
        const struct target_object *wanted = &q->wanted->items[i];

        if (wanted->name == NULL)
            r = add_collection(s, q->all_namespaces ? NULL : wanted->namespace, q->label_selector,
                               err);
        else if (s->by_job)
            r = add_named_job(s, wanted, err);
        else
            r = add_named_pod(s, wanted, err);
    }
    for (size_t i = 0; i < s->lines.count; i++)
        if (s->lines.items[i].has_gpus)
            n_columns = ARRAY_SIZE(columns);
    for (size_t i = 0; i < n_columns; i++)
        grid_add_styled(grid, &columns[i]);
    for (size_t i = 0; r == 0 && i < s->lines.count; i++)
        show_line(s, grid, &s->lines.items[i]);
    for (uint32_t i = 0; r == 0 && i < json_count(s->steps.items); i++)
        show_step(s, grid, json_at(s->steps.items, i));
    grid_sort(grid, 1);
    free(s->lines.items);
    return r;
}

int
top_pods(struct kctl *kctl, const struct top_query *question, struct arena *arena,
         struct grid *grid, struct error *err)
{
    struct top_pods_query s = {.kctl = kctl, .arena = arena};

    return top(&s, question, grid, err);
}

int
top_jobs(struct kctl *kctl, const struct top_query *question, struct arena *arena,
         struct grid *grid, struct error *err)
{
    struct top_pods_query s = {
        .kctl = kctl, .arena = arena, .by_job = true, .steps = step_list_make(arena)};

    return top(&s, question, grid, err);
}
