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
 * and the job as it ended, which the caller unrefs. -ECANCELED: it was deleted. `program` begins
 * the lines about a controller that does not answer.
 */
int wait_for_job(const char *program, struct client *client, const struct object *job,
                 const struct object **ret_ended, struct error *err);
