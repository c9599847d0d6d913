/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_file.h - what the agent itself is doing, as a file that Prometheus'
 * node exporter reads (its textfile collector)
 *
 * An agent listens on no port. The file is written anew every 15 s, whole or
 * not at all; it is removed when the agent ends, so that nobody reads what was.
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

/* Life. The agent's workers are drained before it is freed. It is written at
 * once; stop: not any more.
 */
void metrics_file_free(struct metrics_file *file);
struct metrics_file *metrics_file_new(const struct agent_context *agent,
                                      const struct pods *pods,
                                      const char *path)
    OWNED_BY(metrics_file_free);
void metrics_file_stop(struct metrics_file *file);

/* Events that are counted: a pod is over; the controller has acknowledged a
 * heartbeat now. NULL is no file.
 */
void metrics_file_note_over(struct metrics_file *file);
void metrics_file_note_heard(struct metrics_file *file);
