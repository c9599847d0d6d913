/* SPDX-License-Identifier: Apache-2.0 */
/* event_call.h - what there is to say of a pod, as calls of the API
 *
 * Called by:  recorder.c.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdint.h>

#include "lib/client/client.h"

struct pod_view;

/* Where the call goes, and its answer. */
struct event_call_target {
    struct client *client;
    client_done_fn *done;
    void *context;
    int64_t now_us; /* of the clock on the wall */
};

struct event_content {
    const char *name;
    const char *component;
    const char *type; /* "Normal", "Warning" */
    const char *reason;
    const char *message; /* cut where upstream cuts it */
    int64_t count;
    int64_t first_us;
};

/* An event about the pod; the same again, with another count and message. */
struct client_call *event_call_create(const struct event_call_target *to,
                                      const struct pod_view *pod,
                                      const struct event_content *event);
struct client_call *event_call_update(const struct event_call_target *to,
                                      const struct pod_view *pod,
                                      const struct event_content *event);

/* PodScheduled=False where there is a message, and the nomination where it is
 * not NULL ("" takes it back).
 */
struct client_call *event_call_patch_status(const struct event_call_target *to,
                                            const struct pod_view *pod,
                                            const char *reason,
                                            const char *message,
                                            const char *nominated);
