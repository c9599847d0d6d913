/* SPDX-License-Identifier: Apache-2.0 */
/* pod_order.h - translates a pod into the order for its shepherd
 *
 * Pure: everything is in the arguments. Refuses, with a message for the user,
 *       pods that this node must not or cannot run; such a refusal is a failure
 *       of the pod, not of the agent.
 *
 * Thread: any; pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct agent_context;
struct arena;
struct error;
struct mount_list;
struct object;
struct order;
struct topology;

struct pod_order_input {
    const struct agent_context *agent;
    const struct topology *topology;
    const struct object *pod;
    const char *script; /* the script's bytes, or NULL */
    size_t script_length;
    const char *environment; /* NAME=value, each ended by a NUL; or NULL */
    size_t environment_length;
    const struct mount_list *mounts; /* of the pod's volumes; NULL: none */
    const char *nodes;               /* of its group, "n[1-4]"; or NULL */
    const char *hostfile;            /* path of the file with them; NULL: none */
    const char *partition;           /* the partition of this node, or NULL */
    bool hides_devices;              /* other pods' device files cannot be opened */
    const char *tmp_dir;             /* path to be made; NULL: none */
    const char *job_cgroup;          /* cgroup_format's text; NULL: rootless */
    const char *shepherd_cgroup;
};

/* The blobs that are needed before the order can be composed. */
struct pod_order_needs {
    const char *job;         /* the job that the blobs belong to; NULL: none */
    const char *script;      /* digest, or NULL */
    const char *environment; /* digest, or NULL */
};
void pod_order_find_needs(const struct object *pod, struct pod_order_needs *ret_needs);

/* Whether this pod may run here: checks its user, its shape, and whether the
 * node has everything that is in its allocation.
 */
int pod_order_check(const struct agent_context *agent, const struct object *pod, struct error *err);

/* Whether this node runs anything as the pod's user: its jobs, and the readers
 * of their outputs. pod_order_check includes it.
 */
int pod_order_check_user(const struct agent_context *agent, const struct object *pod,
                         struct error *err);

/* The path of the pod's output: the requested one, or one of the agent's own
 * for a pod that requests none.
 */
const char *pod_order_output_path(const struct agent_context *agent, const struct object *pod,
                                  struct arena *arena);

/* The path of its standard error; NULL: it is in the output. */
const char *pod_order_error_path(const struct agent_context *agent, const struct object *pod,
                                 struct arena *arena);

/* The order borrows from the arena and the input. */
int pod_order_compose(const struct pod_order_input *input, struct arena *arena,
                      struct order *ret_order, struct error *err);
