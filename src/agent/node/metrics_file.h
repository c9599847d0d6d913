/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_file.h - metrics of the agent itself, as a file that Prometheus' node
 * exporter reads (its textfile collector)
 *
 * An agent listens on no port. The file is replaced atomically every 15 s; it
 * is removed when the agent ends, so that nobody reads old values.
 *
 * Owns:   its registry and timer.
 * Thread: the loop's; a worker writes.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct agent_context;
struct metrics_file;
struct pods;

/* Life. The first write starts at once. metrics_file_stop starts no more
 * writes. Drain the agent's workers between stop and free.
 */
void metrics_file_free(struct metrics_file *file);
struct metrics_file *metrics_file_new(const struct agent_context *agent, const struct pods *pods,
                                      const char *path) OWNED_BY(metrics_file_free);
void metrics_file_stop(struct metrics_file *file);

/* Events that are counted: a pod is over; the controller has acknowledged a
 * heartbeat now. `file` may be NULL.
 */
void metrics_file_note_over(struct metrics_file *file);
void metrics_file_note_heard(struct metrics_file *file);
