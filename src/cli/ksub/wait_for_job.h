/* SPDX-License-Identifier: Apache-2.0 */
/* wait_for_job.h - wait for the end of a job: ksub --wait
 *
 * Thread: the main one.
 */
#pragma once

struct client;
struct error;
struct object;

/* Blocks, through restarts of the controller, until the job has ended: 0 and
 * its exit code (128 and the signal's number when it was killed by one, 1
 * when it ended without one). A job that is not Completed is told to standard
 * error in one line, with its cause. -ECANCELED: it was deleted.
 */
int wait_for_job(struct client *client,
                 const struct object *job,
                 int *ret_exit_code,
                 struct error *err);
