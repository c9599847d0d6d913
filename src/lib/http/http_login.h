/* SPDX-License-Identifier: Apache-2.0 */
/* http_login.h - authenticates a client on its connections, and the controller
 * to the client
 *
 * It is passed to http_client_new in the settings. By session: each connection opens one, its
 * requests and answers carry MACs, and the frames of streams are checked before they are
 * passed on. By request: each request carries a credential, one exchange instead of two; for
 * programs that send a single request. Streams open a session in both modes. On a Unix socket
 * of the controller's own host the kernel authenticates, and no login is needed.
 *
 * Thread: the loop's. Without workers the credential service is called on the
 *         loop's thread, which blocks; daemons pass workers.
 */
#pragma once

#include "lib/base/macro.h"

struct auth_client_settings;
struct http_login;
struct loop;
struct workers;

enum http_login_mode {
    HTTP_LOGIN_SESSION,
    HTTP_LOGIN_REQUEST,
};

/* Life. Free it after the clients that use it, and after its workers. */
void http_login_free(struct http_login *login);
struct http_login *http_login_new(struct loop *loop, struct workers *workers,
                                  const struct auth_client_settings *settings,
                                  enum http_login_mode mode) OWNED_BY(http_login_free);
DEFINE_CLEANUP(struct http_login, http_login_free)
