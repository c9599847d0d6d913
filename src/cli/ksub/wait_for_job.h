/* SPDX-License-Identifier: Apache-2.0 */
/* wait_for_job.h - waits for the end of a job: ksub --wait
 *
 * Thread: the main one.
 */
#pragma once

struct client;
struct error;
struct object;

/* Blocks, also across restarts of the controller, until the job has ended: 0
 * and its exit code (128 plus the signal's number when a signal killed it, 1
 * when it ended without an exit code). If the job is not Completed, prints one
 * line with the cause to standard error. -ECANCELED: it was deleted.
 */
int wait_for_job(struct client *client, const struct object *job, int *ret_exit_code,
                 struct error *err);
