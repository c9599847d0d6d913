/* SPDX-License-Identifier: Apache-2.0 */
/* array_calls.h - the API calls that only arrays need: reading the states of
 * elements, creating their pods and recording their ends, many in one request
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct array_ends;
struct client;
struct job_plan_pod;
struct job_sync;
struct json;
struct object;

/* Read: `elements` is the answer of jobs/NAME/elements; NULL: the call failed.
 * Settled: the store has recorded the ends that were sent, except those of the
 * indexes in `kept`, whose pods have a node, and in `stale`, which are to run
 * again; kept NULL: the call failed. The elements in `held` were interrupted
 * too often and are held from now on.
 */
typedef void array_read_fn(const struct object *job, const struct json *elements, void *context);
typedef void array_settled_fn(const struct object *job, const struct json *kept,
                              const struct json *stale, const struct json *held, void *context);

void array_calls_read(struct client *client, const struct object *job, array_read_fn *done,
                      void *context);

/* Sends the first ends of the list, and marks them as sent. */
void array_calls_settle(struct client *client, const struct object *job, struct array_ends *ends,
                        array_settled_fn *done, void *context);

/* Creates the pods of a sync in one request. No Event is recorded for them. */
void array_calls_make(struct job_sync *sync, const struct job_plan_pod *pods, unsigned n);
