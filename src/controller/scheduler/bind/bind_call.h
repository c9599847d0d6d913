/* SPDX-License-Identifier: Apache-2.0 */
/* bind_call.h - binds a pod with its allocation (POST pods/NAME/binding), or
 * several pods at once, all or none (POST bindings)
 *
 * Thread: the scheduler's.
 */
#pragma once

#include "lib/client/client.h"

struct grant;
struct pod_view;
struct topology_index;

/* Grant NULL: the node has no topology, and the pod gets no allocation. */
struct pod_to_bind {
    const struct pod_view *pod;
    const char *node_name;
    const char *domains; /* of the node; NULL: the pod is not told */
    const struct grant *grant;
    const struct topology_index *topology_index;
};

struct client_call *bind_call(struct client *client, const struct pod_to_bind *member,
                              client_done_fn *done, void *context);

/* The pods are of one namespace, at most 512 of them. */
struct client_call *bind_call_group(struct client *client, const struct pod_to_bind *members,
                                    unsigned count, client_done_fn *done, void *context);
