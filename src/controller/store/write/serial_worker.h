/* SPDX-License-Identifier: Apache-2.0 */
/* serial_worker.h - a thread that runs tasks in order and completes them on the
 * loop
 *
 * Unlike lib/loop's workers, a serial worker can end with its owner: all
 * submitted tasks are run and completed before serial_worker_free returns, and
 * no callback runs after that.
 *
 * Thread:     the loop's, except `work`.
 * Invariant:  `work`, then `done`, run once for each task, in order.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct serial_worker;
struct loop;

/* Embedded in the caller's struct. The caller must not touch the task until it
 * is done; then it may free it or submit it again. `done` may be NULL.
 */
struct serial_worker_task {
    struct serial_worker_task *next;
    void (*work)(struct serial_worker_task *task);
    void (*done)(struct serial_worker_task *task);
};

/* Life. The name is shown by top(1); at most 15 bytes. */
void serial_worker_free(struct serial_worker *worker);
struct serial_worker *serial_worker_new(struct loop *loop, const char *name)
    OWNED_BY(serial_worker_free);

/* Drain waits until no task is pending, and calls `done` meanwhile. */
void serial_worker_drain(struct serial_worker *worker);
void serial_worker_submit(struct serial_worker *worker, struct serial_worker_task *task);

/* Tasks submitted and not done yet. */
size_t serial_worker_length(const struct serial_worker *worker);
