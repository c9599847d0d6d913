/* SPDX-License-Identifier: Apache-2.0 */
/* pod_mounts.h - where on this node the volumes of a pod are
 *
 * Looked up in the API when the pod is to start: claim by claim, and what each
 * is bound to. Only what is a directory of the node can be given to a process:
 * local and hostPath volumes.
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

/* One volume of the pod. Target: where the pod wants to see it, or NULL. */
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

/* Life. Free calls back all that are looked up, with -ECANCELED. */
void pod_mounts_free(struct pod_mounts *m);
struct pod_mounts *pod_mounts_new(struct client *client)
    OWNED_BY(pod_mounts_free);
DEFINE_CLEANUP(struct pod_mounts, pod_mounts_free)
void mount_list_free(struct mount_list *list);
DEFINE_CLEANUP(struct mount_list, mount_list_free)

/* Calls back once, also at once: with the list, which becomes the callee's
 * (NULL: the pod has no volumes), or with what is wrong.
 */
typedef void pod_mounts_got_fn(struct mount_list *list TAKES,
                               const struct error *err,
                               void *context);
void pod_mounts_get(struct pod_mounts *m,
                    const struct object *pod,
                    pod_mounts_got_fn *got,
                    void *context);
