/* SPDX-License-Identifier: Apache-2.0 */
/* responder.h - questions that a client in this process answers
 *
 * A request that the API cannot answer by itself (pods/NAME/why) goes to the
 * thread of the client that said that it answers, and comes back. The API
 * knows no scheduler: it knows that somebody responds, or that nobody does.
 *
 * One question at a time is passed on, and all together take at most a tenth of
 * the client's thread: the others wait here for their turn, ten seconds at most.
 *
 * A responder belongs to both threads until both have let go of it. Its
 * callback is the client's alone.
 *
 * Owns:    the questions that wait.
 * Thread:  the loop's, but for responder_new and responder_close, which are
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

/* The client's side: registers, and stops to answer. The loop is the client's.
 */
struct responder *responder_new(struct apiserver *server,
                                struct loop *loop,
                                client_respond_fn *respond,
                                void *context);
void responder_close(struct responder *r);

/* Life. Stop fails the questions under way with a 503. */
void responders_free(struct responders *all);
struct responders *responders_new(struct apiserver *server)
    OWNED_BY(responders_free);
void responders_stop(struct responders *all);

/* Asks about the pod or the Job and calls `done` with the answer, in the request's arena;
 * or the reply is a failure, and the answer is NULL. `done` finishes the
 * request.
 */
typedef void responder_done_fn(struct request *q, struct json *answer);
void responders_ask(struct request *q,
                    const struct object *object,
                    bool is_hypothetical,
                    responder_done_fn *done);
