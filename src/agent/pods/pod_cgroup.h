/* SPDX-License-Identifier: Apache-2.0 */
/* pod_cgroup.h - the limits of a pod's cgroup: CPUs, memory and devices
 *
 * Called by: pod_host.c, on a worker.
 * Thread:    a worker's.
 */
#pragma once

#include <stdbool.h>

struct agent_context;
struct cgroup;
struct error;
struct object;
struct topology;

struct pod_cgroup_limits {
    const struct agent_context *agent;
    const struct topology *topology; /* a copy of the loop's pointer */
    const struct object *pod;
    const char *shared_cpus; /* for a pod without exclusive CPUs; or NULL */
};

/* Sets all limits of the pod that the machine can enforce. It is no failure if
 * the pod's CPUs cannot become a partition: *ret_unpartitioned tells why.
 */
int pod_cgroup_set_limits(const struct pod_cgroup_limits *c, struct cgroup *cgroup,
                          char **ret_unpartitioned, struct error *err);

/* Whether a pod cannot open the device files of others. */
bool pod_cgroup_hides_devices(const struct agent_context *agent);

/* The NUMA nodes of the pod's cpuset: those of the allocation, or, where these
 * are only preferred, all that jobs may use (a GPU's own memory is not one).
 * The caller frees them; NULL: the nodes that all jobs may use.
 */
char *pod_cgroup_memory_nodes(const struct topology *topology, const struct object *pod);
