/* SPDX-License-Identifier: Apache-2.0 */
/* state_counts.h - how many nodes, Jobs and pods there are in each state
 *
 *   kiln_nodes{state}                    Ready, NotReady, Cordoned, Fenced
 *   kiln_jobs{namespace,state,reason}    Pending, Held, Running, Complete, Failed
 *   kiln_pods{namespace,phase,reason}    upstream's phases
 *
 * Kept by what the watch brings, so that looking costs nothing. The reasons are
 * a list of ours, other words are "Other"; of namespaces the first thousand
 * have their own series, the rest is "(others)".
 *
 * Thread: the lifecycle loop's; read by any.
 */
#pragma once

#include "lib/base/macro.h"

struct metric_registry;
struct state_counts;
struct object_cache;

/* Life. The object cache and the registry outlive them. Free sets all to 0: who
 * does not lead does not know.
 */
void state_counts_free(struct state_counts *counts);
struct state_counts *state_counts_new(struct object_cache *cache,
                                      struct metric_registry *registry)
    OWNED_BY(state_counts_free);
