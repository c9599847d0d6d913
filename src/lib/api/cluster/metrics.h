/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - the present resource usage of nodes and pods (metrics.k8s.io)
 *
 * These are never stored: agents report their node's figures (struct usage_report, POST to
 * nodes/NAME/usage), and NodeMetrics and PodMetrics are made from the last report on request.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"

struct node_metrics {
    struct meta meta;
    int64_t taken_at_us;
    const char *window;      /* "15s": cpu is the mean over this time */
    struct string_map usage; /* cpu in cores, memory: the working set */
};

struct container_metrics {
    const char *name;
    struct string_map usage;
};

struct pod_metrics {
    struct meta meta;
    int64_t taken_at_us;
    const char *window;
    LIST_OF(struct container_metrics) containers;
    const struct pod_usage *total; /* Kiln: since the pod started */
};

struct usage_figures {
    int64_t window_ms; /* 0: CPU rate not known yet */
    int64_t cpu_nanocores;
    int64_t memory_bytes; /* working set */
    bool has_gpus;        /* the use of the pod's GPUs is known */
    int64_t gpu_milli;    /* busy GPUs, times 1000 */
    int64_t gpu_memory_bytes;
};

struct usage_of_pod {
    const char *namespace;
    const char *name;
    const char *uid;
    struct usage_figures figures;
    struct pod_usage total;
};

struct usage_report {
    int64_t interval_ms; /* until the next one */
    struct usage_figures node;
    LIST_OF(struct usage_of_pod) pods;
};

extern const struct record usage_report_record;

/* A duration in upstream's form: "15s", "2.5s", "1m30s". */
#define METRICS_WINDOW_SIZE 32
void metrics_format_window(int64_t ms, char out[METRICS_WINDOW_SIZE]);
