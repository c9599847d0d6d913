/* SPDX-License-Identifier: Apache-2.0 */
/* pod_cgroup.h - what a pod's cgroup lets it have: CPUs, memory and devices
 *
 * Called by: pod_host.c, on a worker.
 * Thread:    a worker's.
 */
#pragma once

struct agent_context;
struct cgroup;
struct error;
struct object;
struct topology;

struct pod_cgroup_limits {
    const struct agent_context *agent;
    const struct topology *topology; /* of the loop's now */
    const struct object *pod;
    const char *shared_cpus; /* for a pod without CPUs of its own; or NULL */
};

/* Sets all that the machine can enforce and the pod has not more of. A reason
 * that keeps its CPUs from being a partition is told and is no failure.
 */
int pod_cgroup_set_limits(const struct pod_cgroup_limits *c,
                          struct cgroup *cgroup,
                          char **ret_unpartitioned,
                          struct error *err);

/* The NUMA nodes that its cpuset has: those of the allocation, or where they
 * are merely preferred, all that are for jobs (a GPU's own memory is not). The
 * caller's to free; NULL: whatever all jobs may use.
 */
char *pod_cgroup_memory_nodes(const struct topology *topology,
                              const struct object *pod);
