/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/cluster/metrics.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/table.h"
#include "lib/api/value/rows.h"

/* clang-format off */
static const struct field node_metrics_fields[] = {
    TYPE_META,
    METADATA(node_metrics),
    TIME("timestamp", node_metrics, taken_at_us, ALWAYS | REQUIRED,
        HELP("The end of the window.")),
    STRING("window", node_metrics, window, ALWAYS | REQUIRED,
        HELP("The length of the window; cpu is its mean.")),
    MAP(QUANTITY, "usage", node_metrics, usage, ALWAYS | REQUIRED,
        HELP("cpu in cores; memory as the working set in bytes, which is "
             "what cannot be dropped when memory gets short.")),
};
static RECORD(node_metrics, node_metrics,
       "io.k8s.metrics.pkg.apis.metrics.v1beta1.NodeMetrics",
       HELP("The current usage of a node, by jobs and everything else."));

static const struct field container_metrics_fields[] = {
    STRING("name", container_metrics, name, ALWAYS | REQUIRED,
        HELP("The container, as the pod's spec calls it.")),
    MAP(QUANTITY, "usage", container_metrics, usage, ALWAYS | REQUIRED,
        HELP("cpu in cores, and memory as the working set in bytes.")),
};
static RECORD(container_metrics, container_metrics,
       "io.k8s.metrics.pkg.apis.metrics.v1beta1.ContainerMetrics",
       HELP("The current usage of a container."));

static const struct field pod_metrics_fields[] = {
    TYPE_META,
    METADATA(pod_metrics),
    TIME("timestamp", pod_metrics, taken_at_us, ALWAYS | REQUIRED,
        HELP("The end of the window.")),
    STRING("window", pod_metrics, window, ALWAYS | REQUIRED,
        HELP("The length of the window; cpu is its mean.")),
    OBJECTS("containers", pod_metrics, containers, container_metrics,
        ALWAYS | REQUIRED, BY_KEY("name"),
        HELP("The process of the job, under its container's name.")),
    OBJECT("total", pod_metrics, total, pod_usage, OPTIONAL | KILN,
        HELP("The usage of the pod since its start.")),
};
static RECORD(pod_metrics, pod_metrics,
       "io.k8s.metrics.pkg.apis.metrics.v1beta1.PodMetrics",
       HELP("The current usage of a running pod, as its node reports it."));

static const struct field usage_figures_fields[] = {
    INT64("windowMilliseconds", usage_figures, window_ms, 0,
        HELP("The length of the window.")),
    INT64("cpuNanocores", usage_figures, cpu_nanocores, 0,
        HELP("Cores in use, times 10^9.")),
    INT64("memoryBytes", usage_figures, memory_bytes, 0,
        HELP("The working set.")),
    BOOL("hasGpus", usage_figures, has_gpus, 0,
        HELP("Whether the use of its GPUs is known.")),
    INT64("gpuMilli", usage_figures, gpu_milli, 0,
        HELP("Busy GPUs, times 1000.")),
    INT64("gpuMemoryBytes", usage_figures, gpu_memory_bytes, 0,
        HELP("Memory of GPUs in use.")),
};
static RECORD(usage_figures, usage_figures, "hpc.kiln.v1.UsageFigures",
       HELP("The usage in a window of time."));

static const struct field usage_of_pod_fields[] = {
    STRING("namespace", usage_of_pod, namespace, REQUIRED,
        HELP("Of the pod.")),
    STRING("name", usage_of_pod, name, REQUIRED,
        HELP("Of the pod.")),
    STRING("uid", usage_of_pod, uid, REQUIRED,
        HELP("Of the pod.")),
    OBJECT("figures", usage_of_pod, figures, usage_figures, 0,
        HELP("The current usage.")),
    OBJECT("total", usage_of_pod, total, pod_usage, 0,
        HELP("The usage since its start.")),
};
static RECORD(usage_of_pod, usage_of_pod, "hpc.kiln.v1.UsageOfPod",
       HELP("The usage of a pod."));

static const struct field usage_report_fields[] = {
    INT64("intervalMilliseconds", usage_report, interval_ms, REQUIRED,
        HELP("Time until the next report.")),
    OBJECT("node", usage_report, node, usage_figures, 0,
        HELP("Of the whole machine.")),
    OBJECTS("pods", usage_report, pods, usage_of_pod, 0,
        HELP("Of each pod that runs.")),
};
RECORD(usage_report, usage_report, "hpc.kiln.v1.UsageReport",
       HELP("The usage of a node and its pods, as its agent reports it."));
/* clang-format on */

static const struct node_metrics *
node_metrics_of(const struct object *object)
{
    return object->view;
}

static const struct pod_metrics *
pod_metrics_of(const struct object *object)
{
    return object->view;
}

void
metrics_format_window(int64_t ms, char out[METRICS_WINDOW_SIZE])
{
    int64_t rest = ms % 60000;
    int n = 0;

    if (ms >= 3600000)
        n += snprintf(out + n, METRICS_WINDOW_SIZE - (size_t)n, "%" PRId64 "h", ms / 3600000);
    if (ms >= 60000)
        n += snprintf(out + n, METRICS_WINDOW_SIZE - (size_t)n, "%" PRId64 "m", ms / 60000 % 60);
    snprintf(out + n, METRICS_WINDOW_SIZE - (size_t)n, "%gs", (double)rest / 1000.0);
}

/* A pod has one process here, so its first container has all of its usage. */
static const struct string_map *
usage_of(const struct object *object)
{
    static const struct string_map nothing;
    const struct pod_metrics *pod;

    if (object->kind == &node_metrics_kind)
        return &node_metrics_of(object)->usage;
    pod = pod_metrics_of(object);
    return pod->containers.count > 0 ? &pod->containers.items[0].usage : &nothing;
}

static void
add_cpu(struct table_row *row)
{
    table_cell(row, string_map_find(usage_of(row->object), "cpu"));
}

static void
add_memory(struct table_row *row)
{
    table_cell(row, string_map_find(usage_of(row->object), "memory"));
}

static void
add_window(struct table_row *row)
{
    table_cell(row, row->object->kind == &node_metrics_kind ? node_metrics_of(row->object)->window
                                                            : pod_metrics_of(row->object)->window);
}

/* The columns of upstream's metrics-server. */
/* clang-format off */
static const struct table_column columns[] = {
    TABLE_NAME,
    COLUMN("cpu", add_cpu, "Cores in use, as the mean of the window.",
        FORMAT("quantity")),
    COLUMN("memory", add_memory, "The working set.", FORMAT("quantity")),
    COLUMN("Window", add_window, "The length of the window.",
        FORMAT("duration")),
};
static const struct table table = {TABLE_COLUMNS(columns)};
/* clang-format on */

const struct kind node_metrics_kind = {
    .group = "metrics.k8s.io",
    .version = "v1beta1",
    .api_version = "metrics.k8s.io/v1beta1",
    .name = "NodeMetrics",
    .list_name = "NodeMetricsList",
    .plural = "nodes",
    .singular = "",
    .flags = KIND_MEASURED | KIND_KILN,
    .record = &node_metrics_record,
    .measured = &node_kind,
    .table = &table,
};

const struct kind pod_metrics_kind = {
    .group = "metrics.k8s.io",
    .version = "v1beta1",
    .api_version = "metrics.k8s.io/v1beta1",
    .name = "PodMetrics",
    .list_name = "PodMetricsList",
    .plural = "pods",
    .singular = "",
    .flags = KIND_MEASURED | KIND_KILN | KIND_NAMESPACED,
    .record = &pod_metrics_record,
    .measured = &pod_kind,
    .table = &table,
};
