/* SPDX-License-Identifier: Apache-2.0 */
/* pending_calls.h - the API calls for one key of a workqueue, which end the
 * work on the key when the last call has been answered
 *
 * Called by:  the loops, from within their work function.
 * Thread:     the lifecycle loop's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct pending_calls;
struct client;
struct client_request;
struct json;
struct object;
struct workqueue;

/* Life. After pending_calls_end no more calls are made. The key is done when
 * all calls are answered, and is retried when one has failed. A reply of 404 is
 * not a failure.
 */
struct pending_calls *pending_calls_begin(struct client *client, struct workqueue *queue,
                                          const char *key);
void pending_calls_end(struct pending_calls *calls TAKES);

/* Patch sends a merge patch of the object, or of the subresource.
 * Patch_seen applies only to the resource version of `object`; if the object
 * has changed since, the key is retried. Retry_after adds the key again in any
 * case.
 */
void pending_calls_send(struct pending_calls *calls, struct arena *arena TAKES,
                        const struct client_request *request);
void pending_calls_patch(struct pending_calls *calls, struct arena *arena TAKES,
                         const struct object *object, const char *subresource, struct json *body);
void pending_calls_patch_seen(struct pending_calls *calls, struct arena *arena TAKES,
                              const struct object *object, const char *subresource,
                              struct json *body);
void pending_calls_delete(struct pending_calls *calls, const struct object *object);
void pending_calls_remove_finalizer(struct pending_calls *calls, const struct object *object,
                                    const char *name);
void pending_calls_retry_after(struct pending_calls *calls, int64_t ms);
