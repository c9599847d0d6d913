/* SPDX-License-Identifier: Apache-2.0 */
/* pod_order.h - a pod to the order its shepherd gets
 *
 * Pure: everything is in the arguments. Refuses, in words for the user, what
 * this node must not or cannot run; that is the pod's failure, not ours.
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
    const char *script; /* its bytes, or NULL */
    size_t script_length;
    const char *environment; /* NAME=value, each ended by a NUL; or NULL */
    size_t environment_length;
    const struct mount_list *mounts; /* of its volumes; NULL: none */
    const char *partition;           /* of this node; or NULL */
    const char *tmp_dir;             /* to be made; NULL: none */
    const char *job_cgroup;          /* cgroup_format; NULL: rootless */
    const char *shepherd_cgroup;
};

/* The pod needs these blobs before its order can be composed. */
struct pod_order_needs {
    const char *job;         /* whose blobs they are; NULL: no job */
    const char *script;      /* digest, or NULL */
    const char *environment; /* digest, or NULL */
};
void pod_order_find_needs(const struct object *pod,
                          struct pod_order_needs *ret_needs);

/* May this pod run here at all: its user, its allocation (is all of it here?),
 * its shape.
 */
int pod_order_check(const struct agent_context *agent,
                    const struct object *pod,
                    struct error *err);

/* Where its output goes: the path it asked for, or the one of the agent's own
 * for a pod that asked for none.
 */
const char *pod_order_output_path(const struct agent_context *agent,
                                  const struct object *pod,
                                  struct arena *arena);

/* The order borrows from the arena and the input. */
int pod_order_compose(const struct pod_order_input *input,
                      struct arena *arena,
                      struct order *ret_order,
                      struct error *err);
