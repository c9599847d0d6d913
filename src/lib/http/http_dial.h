/* SPDX-License-Identifier: Apache-2.0 */
/* http_dial.h - from an address to a connected socket
 *
 * Looks the name up, then tries what it found in turn; what is connected is put
 * under the layer where the address is secure. Nothing happens before
 * new has returned.
 *
 * Called by: http_client_connection.c, which bounds the time.
 * Thread:    the loop's; names are looked up by a worker, if there are any.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/http/http_client.h"

struct bufferevent;
struct http_address;
struct http_dial;
struct loop;

/* Called once: with a bufferevent that is the callee's now, or NULL, a
 * negative errno and words. The dial is still to be freed; that may be done in
 * here, and stops one that has not finished.
 */
typedef void (*http_dial_fn)(struct bufferevent *bev TAKES,
                             int r,
                             const char *why,
                             void *arg);

void http_dial_free(struct http_dial *d);
struct http_dial *http_dial_new(struct loop *loop,
                                const struct http_client_settings *settings,
                                const struct http_address *address,
                                http_dial_fn fn,
                                void *arg) OWNED_BY(http_dial_free);
