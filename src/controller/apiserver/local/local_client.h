/* SPDX-License-Identifier: Apache-2.0 */
/* local_client.h - the API for a component of the controller itself
 *
 * Called by:  apiserver_client_new.
 * Thread:     the one that runs `loop`; it may be made on any.
 */
#pragma once

struct apiserver;
struct client;
struct loop;
struct principal;

/* The principal outlives it. Free it, on its thread, before the server. */
struct client *local_client_new(struct apiserver *server,
                                struct loop *loop,
                                const struct principal *principal);
