/* SPDX-License-Identifier: Apache-2.0 */
/* debugger.h - what the scheduler knows, and how that differs from the API
 *
 * The dump: every node with the requests and the pods on it, every waiting pod
 * with its state in the queue, and every nomination. The comparison: which
 * nodes, bound pods and waiting pods of the API the scheduler does not know,
 * and which it knows that the API does not have. A change in between may show
 * as a difference that is gone a moment later.
 *
 * Called by:  the scheduler, on SIGUSR2.
 * Thread:     the scheduler's.
 * Source:     kube-scheduler, backend/cache/debugger (comparer, dumper).
 */
#pragma once

#include "lib/base/macro.h"

struct cache;
struct client;
struct debugger;
struct queue;

struct debugger_settings {
    struct client *client;
    struct cache *cache;
    const struct queue *queue;
};

/* Life. Free cancels a comparison under way. */
void debugger_free(struct debugger *d);
struct debugger *debugger_new(const struct debugger_settings *settings) OWNED_BY(debugger_free);
DEFINE_CLEANUP(struct debugger, debugger_free)

/* Logs the dump now, and the comparison when the API has answered. */
void debugger_run(struct debugger *d);
