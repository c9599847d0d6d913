/* SPDX-License-Identifier: Apache-2.0 */
/* news_call.h - what there is to say of a pod, as calls of the API
 *
 * Called by:  recorder.c.
 */
#pragma once

#include <stdint.h>

#include "lib/client/client.h"

struct pod_view;

/* Where the call goes, and its answer. */
struct news_to {
    struct client *client;
    client_done_fn *done;
    void *context;
    int64_t now_us; /* of the clock on the wall */
};

struct news_event {
    const char *name;
    const char *component;
    const char *type; /* "Normal", "Warning" */
    const char *reason;
    const char *message; /* cut where upstream cuts it */
    int64_t count;
    int64_t first_us;
};

/* An event about the pod; the same again, with another count and message. */
struct client_call *news_event_create(const struct news_to *to,
                                      const struct pod_view *pod,
                                      const struct news_event *event);
struct client_call *news_event_update(const struct news_to *to,
                                      const struct pod_view *pod,
                                      const struct news_event *event);

/* PodScheduled=False where there is a message, and the nomination where it is
 * not NULL ("" takes it back).
 */
struct client_call *news_status_patch(const struct news_to *to,
                                      const struct pod_view *pod,
                                      const char *reason,
                                      const char *message,
                                      const char *nominated);
