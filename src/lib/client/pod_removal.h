/* SPDX-License-Identifier: Apache-2.0 */
/* pod_removal.h - a pod is told why it must go, then deleted
 *
 * Two calls, one after the other: the condition DisruptionTarget, then the
 * deletion with the pod's own grace. Both are of the very pod that is meant:
 * another that has taken its name meanwhile is left alone.
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
    const char *uid;     /* NULL: whoever has the name */
    const char *reason;  /* of the condition: "PreemptionByScheduler" */
    const char *message; /* of the condition, for people */
    const struct pod_cause *cause; /* Kiln's own words for its owner; or NULL */
    int64_t grace_s;               /* 0: the pod's own */
};

/* `done` runs once, later, with the answer that ended it; the removal is gone
 * by itself behind that. Ask pod_removal_error what the answer means.
 */
struct pod_removal *pod_removal_begin(struct client *client,
                                      struct clock *clock,
                                      const struct pod_removal_order *order,
                                      client_done_fn *done,
                                      void *context) MUST_USE;
/* Before `done`, which does not run then. NULL is none. */
void pod_removal_cancel(struct pod_removal *removal);

/* 0 when the pod goes, or was gone (404), or another has its name (409). */
int pod_removal_error(const struct client_reply *reply, struct error *err);
