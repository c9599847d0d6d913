/* SPDX-License-Identifier: Apache-2.0 */
/* pod_mounts.h - the directories of a pod's volumes on this node
 *
 * They are looked up in the API when the pod is about to start: each claim, and
 * the volume that it is bound to. Only a directory of the node can be given to
 * a process: local and hostPath volumes.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct client;
struct error;
struct object;
struct pod_mounts;

/* One volume of the pod. `target` is the container's mount path, or NULL. */
struct mount_place {
    char *volume;
    char *source;
    char *target;
    bool read_only;
};

struct mount_list {
    struct mount_place *items;
    size_t count;
};

/* Life. pod_mounts_free calls back all pending lookups with -ECANCELED. */
void pod_mounts_free(struct pod_mounts *m);
struct pod_mounts *pod_mounts_new(struct client *client) OWNED_BY(pod_mounts_free);
DEFINE_CLEANUP(struct pod_mounts, pod_mounts_free)
void mount_list_free(struct mount_list *list);
DEFINE_CLEANUP(struct mount_list, mount_list_free)

/* Calls back once, possibly before it returns: with the list, which the callee
 * owns (NULL: the pod has no volumes), or with the error.
 */
typedef void pod_mounts_got_fn(struct mount_list *list TAKES, const struct error *err,
                               void *context);
void pod_mounts_get(struct pod_mounts *m, const struct object *pod, pod_mounts_got_fn *got,
                    void *context);
