/* SPDX-License-Identifier: Apache-2.0 */
/* pod_start.h - starts an arrived pod: fetches its blobs, then starts a shepherd
 *
 * Thread: the loop's; a worker makes directories, cgroup and process.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct agent_context;
struct blobs;
struct cgroup;
struct group_nodes;
struct pod_mounts;
struct pod_run;
struct shared_pool;
struct shepherd_process;

enum pod_start_outcome {
    POD_START_STARTED,
    POD_START_FAILED,    /* a part of it may be here */
    POD_START_NOT_BEGUN, /* failed, and nothing is here */
    POD_START_UNWANTED,  /* the pod is not to run any more; nothing is here */
};

struct pod_start_result {
    enum pod_start_outcome outcome;
    const char *words;   /* of a failure */
    bool is_nodes_fault; /* it has a cause outside the pod */
};

struct pod_start_settings {
    struct pod_run *run;
    const struct agent_context *agent;
    struct blobs *blobs;
    struct group_nodes *group_nodes;
    struct pod_mounts *pod_mounts;
    struct shared_pool *shared_pool; /* or NULL */
    /* The worker has made these, also of a start that failed or whose run was freed meanwhile: the
     * run owns it from now on.
     */
    void (*made)(struct pod_run *run, struct cgroup *cgroup TAKES,
                 const struct shepherd_process *shepherd, char *tmp_dir TAKES);
    /* Not called for a run that was freed. */
    void (*done)(struct pod_run *run, const struct pod_start_result *result);
};

/* Work of the run (pod_run_begin_work) until it calls back. */
void pod_start_begin(const struct pod_start_settings *settings);
