/* SPDX-License-Identifier: Apache-2.0 */
/* pending_calls.h - the calls that the work on one key takes, and its end when
 * the last of them has been answered
 *
 * Called by:  the loops that clear up, from within their work function.
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

/* Life. End: no more calls are made; the key is done when all are answered, and
 * comes back when one has failed. An object that is not there is no failure.
 */
struct pending_calls *pending_calls_begin(struct client *client,
                                          struct workqueue *queue,
                                          const char *key);
void pending_calls_end(struct pending_calls *calls TAKES);

/* Change. Patch: a merge patch of the object, or of its status. Patch seen: the
 * object as it was seen; when it is another by now, the key comes back. Retry:
 * the key comes back in any case.
 */
void pending_calls_send(struct pending_calls *calls,
                        struct arena *arena TAKES,
                        const struct client_request *request);
void pending_calls_patch(struct pending_calls *calls,
                         struct arena *arena TAKES,
                         const struct object *object,
                         const char *subresource,
                         struct json *body);
void pending_calls_patch_seen(struct pending_calls *calls,
                              struct arena *arena TAKES,
                              const struct object *object,
                              const char *subresource,
                              struct json *body);
void pending_calls_delete(struct pending_calls *calls,
                          const struct object *object);
void pending_calls_remove_finalizer(struct pending_calls *calls,
                                    const struct object *object,
                                    const char *name);
void pending_calls_retry_after(struct pending_calls *calls, int64_t ms);
