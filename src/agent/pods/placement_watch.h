/* SPDX-License-Identifier: Apache-2.0 */
/* placement_watch.h - checks from time to time where the processes of a run are
 *
 * Thread: the loop's; a worker reads /proc.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/api/node/allocation.h"
#include "lib/base/macro.h"

struct agent_context;
struct cgroup;
struct observation;
struct placement_watch;
struct pod_run;
struct shared_pool;

struct placement_watch_settings {
    struct pod_run *run;
    const struct agent_context *agent;
    struct shared_pool *shared_pool; /* or NULL */
    allocation_given_fn *given;      /* memory given to all pods here; or NULL */
    void *given_context;
    void (*changed)(struct pod_run *run); /* what is reported of a running pod */
};

/* The job's first process, and its cgroup (NULL: none), which is borrowed until the end. */
struct placement_watch_process {
    const struct cgroup *cgroup;
    pid_t pid;
    int64_t start; /* ticks, as live_record.h has it */
};

void placement_watch_free(struct placement_watch *w);
struct placement_watch *placement_watch_new(const struct placement_watch_settings *settings)
    OWNED_BY(placement_watch_free);

/* The process runs; it has ended. Recheck: the node's topology, or the memory that is
 * allocated to other pods, has changed; the cgroup is the run's, or NULL.
 */
void placement_watch_begin(struct placement_watch *w, const struct placement_watch_process *process,
                           bool is_resumed);
void placement_watch_end(struct placement_watch *w);
void placement_watch_recheck(struct placement_watch *w, const struct cgroup *cgroup);

/* The fault of the allocation is a condition's reason; NULL: there is none. Seen: the latest
 * look that was worth a report, or NULL. Was_restored: a worker may still write to the cgroup.
 */
const char *placement_watch_find_fault(const struct placement_watch *w, const char **ret_words);
const struct observation *placement_watch_seen(const struct placement_watch *w, int64_t *ret_at_us);
bool placement_watch_has_lost(const struct placement_watch *w);
bool placement_watch_was_restored(const struct placement_watch *w);
