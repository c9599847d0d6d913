/* SPDX-License-Identifier: Apache-2.0 */
/* full_cluster.h - a full cluster with many waiting pods, for benchmarks
 *
 * Nodes of 40 CPUs in two NUMA nodes, full of pods on whole cores that end at
 * many different times (20 per node); and waiting pods, of jobs of 20000.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fake_client;
struct informers;
struct object;
struct scheduler;

#define ELEMENTS 20000u

#define ON_CORES ",\"placement\":{\"cpuPolicy\":\"exclusive\",\"numaPolicy\":\"%s\"}"

struct full_cluster {
    unsigned nodes, waiting;
    bool waits_for_label; /* that no node has, and not for room */
    /* Settings of the scheduler (scheduler.h). */
    void (*run_aside)(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *context);
    void *aside_context;
    bool without_forecast;

    struct fake_client *api;
    struct scheduler *scheduler;
    struct informers *informers;
};

/* Life. Ends the program if it fails. */
void full_cluster_init(struct full_cluster *c);
void full_cluster_fini(struct full_cluster *c);

/* Does what there is to do for the scheduler. */
void full_cluster_work(struct full_cluster *c);

/* `spec` has further members of the spec, each after a comma. */
const struct object *full_cluster_add_pod(struct fake_client *api, const char *name, unsigned job,
                                          unsigned cpus, unsigned more_mib, const char *spec);

int64_t thread_cpu_ns(void);
