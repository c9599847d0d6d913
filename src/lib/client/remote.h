/* SPDX-License-Identifier: Apache-2.0 */
/* remote.h - the client of an API server at the other end of HTTP
 *
 * Texts to objects and back over an http_client, which knows the server's
 * address and how to prove who calls. An answer that is no object of the
 * asked kind (a Status, the reply to an enrolment) is there as text.
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
struct client *remote_client_new(struct loop *loop, struct http_client *http)
    OWNED_BY(client_free);
