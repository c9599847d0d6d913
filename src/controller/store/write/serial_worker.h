/* SPDX-License-Identifier: Apache-2.0 */
/* serial_worker.h - one thread that works off tasks in order and answers on the
 * loop
 *
 * Unlike lib/loop's workers a serial worker can end with its owner: whatever
 * was submitted is worked off and answered before serial_worker_free returns,
 * and nothing comes after it.
 *
 * Thread:     the loop's, but for `work`.
 * Invariant:  `work`, then `done`, run once for each task, in order.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct serial_worker;
struct loop;

/* Embedded in what the task is about; not to be touched until it is done,
 * when it may be freed or submitted again. `done` may be NULL.
 */
struct serial_worker_task {
    struct serial_worker_task *next;
    void (*work)(struct serial_worker_task *task);
    void (*done)(struct serial_worker_task *task);
};

/* Life. The name is seen in top(1), 15 bytes. */
void serial_worker_free(struct serial_worker *worker);
struct serial_worker *serial_worker_new(struct loop *loop, const char *name)
    OWNED_BY(serial_worker_free);

/* Change. Drain waits until nothing is under way, answering meanwhile. */
void serial_worker_drain(struct serial_worker *worker);
void serial_worker_submit(struct serial_worker *worker,
                          struct serial_worker_task *task);

/* Look: submitted and not done yet. */
size_t serial_worker_length(const struct serial_worker *worker);
