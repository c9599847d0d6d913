/* SPDX-License-Identifier: Apache-2.0 */
/* element_requeue.h - elements of an array that are to run again
 *
 * An element that has ended, or whose pod has a node, waits for its next
 * attempt as soon as that is noted in its record: what its pod comes to counts
 * no more, and the job controller ends that pod.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdint.h>

#include "lib/api/value/task_list.h"

struct arena;
struct error;
struct object;
struct request;
struct store;
struct store_txn;

/* The most of one request: each is looked up by itself. */
#define ELEMENT_REQUEUE_MOST 10000

struct element_requeue {
    struct task_list tasks; /* those that run again */
    int64_t n_cancelled;    /* of the others */
};

/* Which of these tasks have begun, and are not cancelled. -EINVAL with words. */
int element_requeue_find(const struct store *store,
                         const struct object *job,
                         const struct task_list *meant,
                         struct arena *arena,
                         struct element_requeue *ret_found,
                         struct error *err);

/* Notes in the transaction that these run again. */
void element_requeue_note(struct request *q,
                          struct store_txn *txn,
                          const struct object *job,
                          const struct task_list *tasks);

/* The newest pod of an element whose next one, by its record, has that number;
 * or NULL.
 */
const struct object *element_requeue_pod(const struct store *store,
                                         const struct object *job,
                                         int64_t index,
                                         int64_t attempt);
