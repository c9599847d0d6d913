/* SPDX-License-Identifier: Apache-2.0 */
/* local_client.h - the API for a component of the controller itself
 *
 * Called by:  apiserver_client_new.
 * Thread:     the one that runs `loop`; any thread may create it.
 */
#pragma once

struct apiserver;
struct client;
struct loop;
struct principal;

/* The principal outlives the client. Free the client on its thread, before the
 * server is freed.
 */
struct client *local_client_new(struct apiserver *server, struct loop *loop,
                                const struct principal *principal);
