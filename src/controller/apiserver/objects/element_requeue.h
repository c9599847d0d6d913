/* SPDX-License-Identifier: Apache-2.0 */
/* element_requeue.h - requeues elements of an array
 *
 * An element that has ended, or whose pod has a node, waits for its next
 * attempt as soon as its record says so: the result of its present pod does not
 * count any more, and the job controller ends that pod.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/value/task_list.h"

struct arena;
struct error;
struct object;
struct request;
struct store;
struct store_txn;

/* The most elements of one request: each is looked up by itself. */
#define ELEMENT_REQUEUE_MOST 10000

struct element_requeue {
    struct task_list tasks; /* those to requeue */
    int64_t n_cancelled;    /* not in `tasks` because they are cancelled */
};

/* Finds the tasks that have started and are not cancelled. Returns -EINVAL with
 * a message.
 */
int element_requeue_find(const struct store *store, const struct object *job,
                         const struct task_list *meant, struct arena *arena,
                         struct element_requeue *ret_found, struct error *err);

/* Records in the transaction that these tasks run again. */
void element_requeue_note(struct request *q, struct store_txn *txn, const struct object *job,
                          const struct task_list *tasks);

/* The newest pod of an element, or NULL. `attempt` is the number of its next
 * attempt according to its record.
 */
const struct object *element_requeue_pod(const struct store *store, const struct object *job,
                                         int64_t index, int64_t attempt);

/* Calls `visit` with the newest pod of each task of the list that has one, until it
 * returns false. Each task is looked up by itself.
 */
void element_requeue_visit(const struct store *store, const struct object *job,
                           const struct task_list *tasks,
                           bool (*visit)(const struct object *pod, void *context), void *context);
