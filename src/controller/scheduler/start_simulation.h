/* SPDX-License-Identifier: Apache-2.0 */
/* start_simulation.h - when waiting pods will start, found by running the
 * scheduler on a copy of the cluster
 *
 * A second scheduler gets the nodes, the pods that run and the first pods that
 * wait, a clock that goes from event to event, and an API that accepts every
 * binding. Running pods end when they are expected to end. So the order, the
 * reservations, backfill, NUMA nodes and partitions count exactly as they do in
 * reality, because the same code decides. Not simulated are pods that
 * nobody has submitted yet, preemption, extenders and volumes.
 *
 * Owns:       the second scheduler, and references to the pods.
 * Called by:  forecast_input.c.
 * Thread:     one at a time, which need not be the scheduler's.
 * Invariant:  nothing that the original scheduler decides by is changed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct error;
struct object;
struct scheduler;
struct scheduler_settings;
struct start_simulation;

/* A pod that waits at the beginning, and what the simulation found. */
struct simulated_start {
    int64_t at_us;   /* 0: it did not start */
    bool is_assumed; /* a pod without a time limit was assumed to end before */
};

/* Life. The settings are those of the original scheduler, with the memory of
 * its order, which must outlive the simulation; the simulation replaces the
 * client, the clock and what only reports.
 */
void start_simulation_free(struct start_simulation *s);
int start_simulation_new(const struct scheduler_settings *settings, int64_t now_us,
                         struct start_simulation **ret_simulation, struct error *err);
DEFINE_CLEANUP(struct start_simulation, start_simulation_free)

/* The simulation is filled in this order: other objects and nodes, by the scheduler's own
 * functions; running pods; waiting pods. A pod without a time limit is a guess.
 */
struct scheduler *start_simulation_scheduler(const struct start_simulation *s);

/* Adds a running pod. node_name is NULL if the pod has started; otherwise it starts now on
 * that node.
 */
void start_simulation_add_running(struct start_simulation *s, const struct object *pod,
                                  const char *node_name, int64_t end_us, bool is_guess);

void start_simulation_add_waiting(struct start_simulation *s, const struct object *pod,
                                  int64_t run_us, bool is_guess);

/* Adds a time at which room may become free although no pod ends. */
void start_simulation_add_turn(struct start_simulation *s, int64_t at_us);

/* Runs a part of the simulation. False: it is over. */
bool start_simulation_step(struct start_simulation *s);

/* The waiting pod of that index, in the order in which they were added. */
struct simulated_start start_simulation_get(const struct start_simulation *s, size_t index);
