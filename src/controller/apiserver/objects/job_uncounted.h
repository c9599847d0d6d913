/* SPDX-License-Identifier: Apache-2.0 */
/* job_uncounted.h - what remains in a Job of a pod that is removed
 *
 * The transaction that removes the pod of an unfinished Job adds its end to the
 * Job (lib/api/job/removed_pod.h), so that the job controller counts it whenever
 * the process is killed.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct json;
struct object;
struct request;
struct store_txn;

/* To be called for every pod that the transaction removes; `tree` is its last
 * state. Returns false when the reply is a 500.
 */
bool job_uncounted_note(struct request *q, struct store_txn *txn, const struct object *pod,
                        const struct json *tree);
