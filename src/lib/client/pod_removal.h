/* SPDX-License-Identifier: Apache-2.0 */
/* pod_removal.h - removes a pod: records the reason, then deletes the pod
 *
 * Two calls, one after the other: the condition DisruptionTarget, then the
 * deletion with the pod's own grace period. With a uid, both apply only to that
 * pod: another pod that has taken its name is left alone.
 *
 * Thread: the client's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/client/client.h"

struct clock;
struct pod_cause;
struct pod_removal;

/* The pod and the reason, borrowed until pod_removal_begin returns. */
struct pod_removal_order {
    const char *namespace;
    const char *name;
    const char *uid;               /* NULL: any pod with this name */
    const char *reason;            /* of the condition: "PreemptionByScheduler" */
    const char *message;           /* of the condition, for people */
    const struct pod_cause *cause; /* Kiln's own reason for the owner; or
                                    * NULL */
    int64_t grace_s;               /* 0: the pod's own */
};

/* `done` runs once, later, with the reply that ended the removal; after `done`
 * the removal frees itself. Pod_removal_error tells what the reply means.
 */
struct pod_removal *pod_removal_begin(struct client *client, struct clock *clock,
                                      const struct pod_removal_order *order, client_done_fn *done,
                                      void *context) MUST_USE;
/* Cancels a removal before `done`, which then does not run. NULL is ignored. */
void pod_removal_cancel(struct pod_removal *removal);

/* 0 when the pod is being deleted, was gone (404), or another pod has its name
 * (409).
 */
int pod_removal_error(const struct client_reply *reply, struct error *err);
