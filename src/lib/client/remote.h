/* SPDX-License-Identifier: Apache-2.0 */
/* remote.h - the client of an API server over HTTP
 *
 * Converts between texts and objects, over an http_client that has the server's
 * address and authenticates the caller. An answer that is no object of the
 * requested kind (a Status, the reply to an enrolment) is available as text.
 *
 * Thread: the loop's.
 * See:    client.h, lib/http/http_client.h.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/client/client.h"

struct http_client;
struct loop;

/* Life. The http_client is borrowed: it is freed after the client. */
struct client *remote_client_new(struct loop *loop, struct http_client *http) OWNED_BY(client_free);
