/* SPDX-License-Identifier: Apache-2.0 */
/* connection.h - finds the controller and proves the caller to it
 *
 * The server is, in this order: the argument of --server, $KILN_SERVER,
 * `server` of the configuration file ($KILN_CONFIG, else
 * /etc/kiln/client.yaml), and the controller's socket on this machine. Over a
 * Unix socket the kernel vouches for the caller; otherwise MUNGE does.
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

/* Once: each request carries its own credential, which saves an exchange for
 * a program that asks one thing.
 */
enum connection_use {
    CONNECTION_ONCE,
    CONNECTION_OFTEN,
};

/* Life. Open reads the configuration, as far as it is needed, and connects to
 * nothing yet. `server` may be NULL, and so may `as_user`, for good: the user
 * as whom an administrator asks.
 */
void connection_close(struct connection *connection);
int connection_open(const char *server,
                    const char *as_user,
                    enum connection_use use,
                    struct connection **ret_connection,
                    struct error *err);
DEFINE_CLEANUP(struct connection, connection_close)

/* Look. Borrowed. */
struct client *connection_client(struct connection *connection);
struct http_client *connection_http(struct connection *connection);
const char *connection_server(const struct connection *connection);

/* Opens a credential that the controller made for the caller, as text in the
 * arena. -EKEYREJECTED when somebody else made it.
 */
int connection_unseal(struct connection *connection,
                      const char *credential,
                      struct arena *arena,
                      const char **ret_text,
                      struct error *err);

/* Says where a server that cannot be reached is configured, behind the words
 * of an error that means just that. Returns r.
 */
int connection_advise(int r, struct error *err);
