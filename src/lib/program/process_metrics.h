/* SPDX-License-Identifier: Apache-2.0 */
/* process_metrics.h - metrics of this process, its build, and the space left
 * for its state: process_*, kiln_build_info, kiln_state_*
 *
 * The values are read when the metrics are formatted.
 *
 * Thread: any, once.
 * Source: Prometheus, "Writing client libraries", process metrics.
 */
#pragma once

struct metric_registry;

/* Adds them. `state_dir` is borrowed and must outlive the registry. */
void process_metrics_add(struct metric_registry *registry, const char *state_dir);
