/* SPDX-License-Identifier: Apache-2.0 */
/* binding_client.h - a client whose API accepts every binding at once
 *
 * The owner is notified of bindings; all other writes succeed and change
 * nothing. So a scheduler can decide about a cluster that does not exist: the
 * cluster as it will be (start_simulation.h), or that of a log of jobs
 * (testsuite/replay).
 *
 * Owns:       the calls, until they are answered.
 * Called by:  start_simulation.c.
 * Thread:     its owner's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct binding_client;
struct client;
struct json;

/* `bound` is called in binding_client_run, after the scheduler has its answer.
 * The allocation is NULL where the node has no topology.
 */
typedef void binding_client_bound_fn(const char *namespace, const char *pod_name,
                                     const char *node_name, const struct json *allocation,
                                     void *context);

void binding_client_free(struct binding_client *b);
struct binding_client *binding_client_new(binding_client_bound_fn *bound, void *context)
    OWNED_BY(binding_client_free);
struct client *binding_client_client(struct binding_client *b);

/* Answers all pending calls; false: there were none. */
bool binding_client_run(struct binding_client *b);
