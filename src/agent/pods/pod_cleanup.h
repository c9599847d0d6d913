/* SPDX-License-Identifier: Apache-2.0 */
/* pod_cleanup.h - one attempt to remove what a pod has left, after reading how it ended
 *
 * Thread: the loop's; a worker does it.
 */
#pragma once

#include <stdbool.h>

#include "agent/pods/unkillable.h"

struct agent_context;
struct cgroup;
struct exit_record;
struct live_record;
struct pod_run;

struct pod_cleanup_result {
    /* As the shepherd left them, or NULL; the callee may take them, and sets them to NULL then. */
    struct exit_record *exit_record;
    struct live_record *live;
    bool is_clean;          /* else it has to be tried again */
    bool had_trouble;       /* which was logged */
    struct unkillable left; /* processes that it has killed */
};
typedef void pod_cleanup_done_fn(struct pod_run *run, struct pod_cleanup_result *result);

struct pod_cleanup_settings {
    struct pod_run *run;
    const struct agent_context *agent;
    const char *tmp_dir;   /* NULL: unknown to this agent */
    struct cgroup *cgroup; /* borrowed until it is done; NULL: none */
    bool was_killed;       /* before: whoever holds processes of the pod lets them go */
    bool reads_records;
    pod_cleanup_done_fn *done; /* not called for a run that was freed */
};

/* Work of the run (pod_run_begin_work) until it calls back. */
void pod_cleanup_begin(const struct pod_cleanup_settings *settings);
