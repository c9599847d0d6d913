/* SPDX-License-Identifier: Apache-2.0 */
/* http_dial.h - connects a socket to an address
 *
 * Resolves the names, then tries the endpoints found in turn, each for a while if
 * there are more; a connected socket is put under the layer if the address is secure. Nothing happens before
 * http_dial_new has returned.
 *
 * Called by: http_client_connection.c, which limits the time.
 * Thread:    the loop's; workers, if there are any, resolve names.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/http/http_client.h"

struct bufferevent;
struct http_address;
struct http_dial;
struct loop;

/* Called once: with a bufferevent that the callee now owns, or with NULL, a
 * negative errno and a text. The dial must still be freed; this callback may do
 * so. Freeing an unfinished dial stops it.
 */
typedef void (*http_dial_fn)(struct bufferevent *bev TAKES, int r, const char *why, void *arg);

void http_dial_free(struct http_dial *d);
struct http_dial *http_dial_new(struct loop *loop, const struct http_client_settings *settings,
                                const struct http_address *address, unsigned first_host,
                                http_dial_fn fn, void *arg) OWNED_BY(http_dial_free);

/* The number of the host that was tried last, in the order of the address. */
unsigned http_dial_host(const struct http_dial *d);
