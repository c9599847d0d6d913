/* SPDX-License-Identifier: Apache-2.0 */
/* binding_client.h - a client whose API accepts every binding at once
 *
 * The owner is notified of bindings; all other writes succeed and change
 * nothing. So a replay of a year of jobs measures the scheduler, not an API.
 *
 * Thread: its owner's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct binding_client;
struct client;

/* `bound` is called in binding_client_run, after the scheduler has its answer.
 */
typedef void binding_client_bound_fn(const char *pod_name, const char *node_name, void *context);

void binding_client_free(struct binding_client *b);
struct binding_client *binding_client_new(binding_client_bound_fn *bound, void *context)
    OWNED_BY(binding_client_free);
struct client *binding_client_client(struct binding_client *b);

/* Answers all pending calls; false: there were none. */
bool binding_client_run(struct binding_client *b);
