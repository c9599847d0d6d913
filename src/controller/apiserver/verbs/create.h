/* SPDX-License-Identifier: Apache-2.0 */
/* create.h - creating an object as a part of a larger request
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct request;
struct store_txn;

/* Creates the Job of the request's body in the caller's transaction and with
 * the caller's job_id. The caller has looked up the ended jobs that the Job
 * depends on. Returns true when the reply is the object, which is valid once
 * the transaction is committed; false when the reply says why not (a 200 when
 * the submission key was used before) and the transaction is to be rolled back.
 */
bool create_job_within(struct request *q, struct store_txn *txn);
