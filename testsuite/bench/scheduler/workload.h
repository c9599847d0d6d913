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
    const char *spec;   /* further members of the spec, comma first */
    const char *cpu, *memory;
};

#define MAX_INIT 5

/* Counts are in per cent: of nodes where they are asked for by node, of the
 * pods asked for elsewhere.
 */
struct workload {
    const char *name;
    const struct pod_kind_of *pods;
    unsigned percent;          /* of the pods that were asked for; 0: all */
    unsigned percent_of_nodes; /* instead */
    const struct pod_kind_of *init[MAX_INIT];
    unsigned init_percent_of_nodes; /* of each kind, placed before */
    unsigned nodes_percent;         /* of the nodes asked for; 0: all */
    bool has_topology;      /* nodes of 8 NUMA nodes, 16 cores and 2 PUs each */
    bool has_unschedulable; /* some pods more that fit nowhere come meanwhile */
    bool has_churn;         /* so do nodes and pods that come and go */
    bool has_preemptors;    /* so do some that end others */
    bool is_hopeless;       /* nothing is to be placed */
};

extern const struct workload workloads[];
extern const unsigned n_workloads;
extern const struct pod_kind_of huge; /* fits nowhere */
extern const struct pod_kind_of high; /* ends those of less priority */

/* Where objects go that are there from now on. */
struct stage {
    void (*put)(void *context, const struct kind *kind, const char *json);
    void *context;
};

void
add_nodes(const struct stage *stage, const struct workload *w, unsigned count);
void add_pods(const struct stage *stage,
              const struct pod_kind_of *kind,
              const char *prefix,
              unsigned count);

/* How many nodes and pods, of those that were asked for. */
unsigned workload_nodes(const struct workload *w, unsigned nodes);
unsigned workload_pods(const struct workload *w, unsigned nodes, unsigned pods);
