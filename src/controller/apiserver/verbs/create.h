/* SPDX-License-Identifier: Apache-2.0 */
/* create.h - a create that is a part of something larger
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>

struct object;
struct request;
struct store_txn;

/* Creates the Job of the request's body in a transaction of the caller's, with
 * its job_id; the jobs that are gone were looked for. True: the
 * reply is the object, which holds once the transaction is committed. False:
 * the reply says why not (a 200 when its submission key was used before), and
 * the transaction is to be rolled back.
 */
bool create_job_within(struct request *q, struct store_txn *txn);

/* The Job that was created with this request's submission key, or NULL; and
 * whether it came with the same text.
 */
const struct object *create_find_submitted(const struct request *q);
bool create_is_same_submission(struct request *q, const struct object *job);
