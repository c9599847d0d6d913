/* SPDX-License-Identifier: Apache-2.0 */
/* local_client_state.h - the internals of a local client
 *
 * Called by:  local_client.c and local_watch.c only.
 * Thread:     the client's.
 */
#pragma once

#include "controller/apiserver/local/local_client.h"
#include "lib/base/list.h"
#include "lib/client/client.h"

struct mailbox;
struct responder;

struct local_client {
    struct client client;
    struct apiserver *server;
    const struct principal *principal;
    struct mailbox *mailbox;
    struct responder *responder; /* or NULL */
    struct list calls;
    struct list watches;
};

/* The watch functions of client_ops (local_watch.c), and one that stops all
 * watches.
 */
struct client_watch *local_watch_start(struct client *client,
                                       const struct client_watch_request *request,
                                       client_event_fn *event, void *context);
void local_watch_stop(struct client_watch *base);
void local_watch_stop_all(struct local_client *c);
