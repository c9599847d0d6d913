/* SPDX-License-Identifier: Apache-2.0 */
/* status_call.h - why a pod is not placed, as a patch of its status
 *
 * Called by:  recorder_writes.c.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdint.h>

#include "lib/client/client.h"

struct pod_cause;
struct pod_view;

/* The client that makes the call, and the function that gets its answer. */
struct status_call_target {
    struct client *client;
    client_done_fn *done;
    void *context;
    int64_t now_us; /* on the real clock */
};

/* PodScheduled=False if there is a message, the cause for people if it is not
 * NULL, and likewise the nomination ("" clears it).
 */
struct status_call_words {
    const char *reason;
    const char *message;
    const char *nominated;
    const struct pod_cause *cause;
};

struct client_call *status_call_patch(const struct status_call_target *to,
                                      const struct pod_view *pod,
                                      const struct status_call_words *words);
