/* SPDX-License-Identifier: Apache-2.0 */
/* state_counts.h - how many nodes, Jobs and pods there are in each state
 *
 *   kiln_nodes{state}                  Ready, NotReady, Cordoned, Fenced
 *   kiln_jobs{namespace,state,reason}  Pending, Held, Running, Complete, Failed
 *   kiln_pods{namespace,phase,reason}  upstream's phases
 *   kiln_cpus{state}                   allocatable CPUs, by the state of their node
 *   kiln_cpus_allocated                CPUs that pods hold
 *
 * The counts are kept up to date from watch events, so a scrape does not visit
 * objects. The reasons are a fixed list; any other reason counts as "Other".
 * The first thousand namespaces have their own series, the rest share
 * "(others)".
 *
 * Thread: the lifecycle loop's; the metrics are read by any.
 */
#pragma once

#include "lib/base/macro.h"

struct metric_registry;
struct state_counts;
struct object_cache;

/* Life. The object cache and the registry outlive the counts. Free sets all
 * series to 0, since a controller that does not lead does not know the counts.
 */
void state_counts_free(struct state_counts *counts);
struct state_counts *state_counts_new(struct object_cache *cache, struct metric_registry *registry)
    OWNED_BY(state_counts_free);
