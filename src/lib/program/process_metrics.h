/* SPDX-License-Identifier: Apache-2.0 */
/* process_metrics.h - what this process takes, which build it is, and how much
 * room there is for its state: process_*, kiln_build_info, kiln_state_*
 *
 * Read when somebody looks.
 *
 * Thread: any, once.
 * Source: Prometheus, "Writing client libraries", process metrics.
 */
#pragma once

struct metric_registry;

/* Adds them. `state_dir` is borrowed and outlives the registry. */
void process_metrics_add(struct metric_registry *registry,
                         const char *state_dir);
