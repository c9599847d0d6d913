/* SPDX-License-Identifier: Apache-2.0 */
/* connection.h - finds the controller and authenticates the user to it
 *
 * The server is, in this order: the argument of --server, $KILN_SERVER,
 * `server` of the configuration file ($KILN_CONFIG, otherwise
 * /etc/kiln/client.yaml), and the controller's socket on this host. Over a Unix
 * socket the kernel authenticates the user; otherwise MUNGE does.
 *
 * Owns: the loop that its client runs on.
 * Thread: the main one.
 */
#pragma once

#include "lib/base/macro.h"

struct arena;
struct client;
struct connection;
struct error;
struct http_client;

/* Once: each request carries its own credential, which saves an exchange for a
 * program that sends one request.
 */
enum connection_use {
    CONNECTION_ONCE, /* one request, which may be repeated at another controller */
    CONNECTION_OFTEN,
};

/* Life. Open reads the configuration, as far as it is needed, and does not
 * connect. `server` may be NULL, and so may `as_user`, which is not copied: the
 * user whom an administrator impersonates.
 */
void connection_close(struct connection *connection);
int connection_open(const char *server, const char *as_user, enum connection_use use,
                    struct connection **ret_connection, struct error *err);
DEFINE_CLEANUP(struct connection, connection_close)

/* The result is borrowed. */
struct client *connection_client(struct connection *connection);
struct http_client *connection_http(struct connection *connection);
const char *connection_server(const struct connection *connection);

/* Makes the calls of this connection wait for a controller that is away
 * (call_retry.h); `program` is borrowed. Retry: never NULL.
 */
struct call_retry;
void connection_wait_for_server(struct connection *connection, const char *program);
struct call_retry *connection_retry(struct connection *connection);

/* Decodes a credential that the controller made for the user, as text in the
 * arena. -EKEYREJECTED when it was not the controller that made it.
 */
int connection_unseal(struct connection *connection, const char *credential, struct arena *arena,
                      const char **ret_text, struct error *err);

/* Makes an error one for people: an answer of the server without the API's names
 * of objects; and if `r` means that the server cannot be reached, with where the
 * server is configured. Returns r.
 */
int connection_advise(int r, struct error *err);
