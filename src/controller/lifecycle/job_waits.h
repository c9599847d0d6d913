/* SPDX-License-Identifier: Apache-2.0 */
/* job_waits.h - how long Jobs wait in each partition, as metrics
 *
 *   kiln_job_wait_seconds{partition}         histogram: of the Jobs that started
 *   kiln_job_oldest_wait_seconds{partition}  of the Job that waits longest now
 *
 * A wait begins when the Job could have started: it was submitted or released,
 * and its begin time has come. Jobs without pods, which wait for a quota, count
 * too. Held Jobs do not. A Job with several partitions counts for the text that
 * it gave; the first thousand have their own series, the rest share "(others)".
 *
 * Thread: the lifecycle loop's; the metrics are read by any.
 */
#pragma once

#include "lib/base/macro.h"

struct clock;
struct job_waits;
struct metric_registry;
struct object_cache;

/* Life. The object cache, the clock and the registry outlive the waits. */
void job_waits_free(struct job_waits *waits);
struct job_waits *job_waits_new(struct object_cache *cache, struct clock *clock,
                                struct metric_registry *registry) OWNED_BY(job_waits_free);
