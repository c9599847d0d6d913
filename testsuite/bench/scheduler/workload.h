/* SPDX-License-Identifier: Apache-2.0 */
/* workload.h - the workloads of kube-scheduler's scheduler_perf, by name and
 * parameters, and others of our own
 *
 * Source: kube-scheduler, test/integration/scheduler_perf
 *         (performance-config.yaml).
 */
#pragma once

#include <stdbool.h>

struct kind;

/* Pods of one kind. */
struct pod_kind_of {
    const char *labels; /* JSON members */
    const char *spec;   /* further members of the spec, after a comma */
    const char *cpu, *memory;
};

#define MAX_INIT 5

/* Counts are percentages: of the nodes if the name has `nodes`, else of the
 * PODS argument.
 */
struct workload {
    const char *name;
    const struct pod_kind_of *pods;
    unsigned percent;          /* of PODS; 0: all */
    unsigned percent_of_nodes; /* instead, of NODES */
    const struct pod_kind_of *init[MAX_INIT];
    unsigned init_percent_of_nodes; /* of each kind, placed before the run */
    unsigned nodes_percent;         /* of NODES; 0: all */
    bool has_topology;              /* nodes of 8 NUMA nodes, 16 cores and 2 PUs each */
    bool has_unschedulable;         /* pods that fit nowhere are added meanwhile */
    bool has_churn;                 /* nodes and pods are added and deleted meanwhile */
    bool has_preemptors;            /* preempting pods are added meanwhile */
    bool is_hopeless;               /* no pod can be placed */
};

extern const struct workload workloads[];
extern const unsigned n_workloads;
extern const struct pod_kind_of huge; /* fits nowhere */
extern const struct pod_kind_of high; /* preempts pods of lower priority */

/* Where the objects of a workload are put. */
struct stage {
    void (*put)(void *context, const struct kind *kind, const char *json);
    void *context;
};

void add_nodes(const struct stage *stage, const struct workload *w, unsigned count);
void add_pods(const struct stage *stage, const struct pod_kind_of *kind, const char *prefix,
              unsigned count);

/* The number of nodes and pods for that argument. */
unsigned workload_nodes(const struct workload *w, unsigned nodes);
unsigned workload_pods(const struct workload *w, unsigned nodes, unsigned pods);
