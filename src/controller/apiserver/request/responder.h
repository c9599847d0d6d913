/* SPDX-License-Identifier: Apache-2.0 */
/* responder.h - questions that a client in this process answers
 *
 * A request that the API cannot answer itself (pods/NAME/why) is posted to the
 * thread of the client that registered as responder, and the answer is posted
 * back. The API does not depend on the scheduler: it only knows whether a
 * responder is registered.
 *
 * One question at a time is passed on, and all together take at most a tenth of
 * the client's thread. The others wait here for their turn, ten seconds at
 * most.
 *
 * A responder is shared by both threads until both have dropped their
 * reference. Only the client's thread uses its callback.
 *
 * Owns:    the questions that wait.
 * Thread:  the loop's, except responder_new and responder_close, which run on
 *          the client's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"
#include "lib/client/client.h"

struct apiserver;
struct loop;
struct object;
struct request;
struct responder;
struct responders;

/* For the client: registers a responder, and unregisters it. `loop` is the
 * client's.
 */
struct responder *responder_new(struct responders *all, struct loop *loop,
                                client_respond_fn *respond, void *context);
void responder_close(struct responder *r);

/* Life. There is one for the scheduler, and one for the lifecycle component, which
 * knows who waits for a quota. Without an answer that is optional a request goes
 * on; for others the reply is a 503. responders_stop fails the questions under
 * way.
 */
void responders_free(struct responders *all);
struct responders *responders_new(struct apiserver *server, bool is_optional)
    OWNED_BY(responders_free);
void responders_stop(struct responders *all);

/* Asks about the pod or the Job and calls `done` with the answer, which is in
 * the request's arena. On a failure the reply is made, unless the answer is
 * optional, and the answer is NULL. `done` finishes the request.
 */
typedef void responder_done_fn(struct request *q, struct json *answer);
void responders_ask(struct responders *all, struct request *q, const struct object *object,
                    bool is_hypothetical, responder_done_fn *done);
