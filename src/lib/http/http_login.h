/* SPDX-License-Identifier: Apache-2.0 */
/* http_login.h - how a client proves itself on its connections, and checks
 * that it is the controller that answers
 *
 * Given to http_client_new in the settings. By session: each connection opens
 * one, its requests and answers carry MACs, and the frames of streams are
 * proven before they are handed on. By request: each carries a credential,
 * one exchange instead of two; for programs that ask once, and not for
 * streams, which open a session all the same. On a Unix socket of the
 * controller's own machine the kernel vouches, and no login is needed.
 *
 * Thread: the loop's. Without workers the credential service is asked on the
 *         spot, which blocks; daemons give workers.
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

/* Life. Freed after the clients that use it, and after its workers. */
void http_login_free(struct http_login *login);
struct http_login *http_login_new(struct loop *loop,
                                  struct workers *workers,
                                  const struct auth_client_settings *settings,
                                  enum http_login_mode mode)
    OWNED_BY(http_login_free);
DEFINE_CLEANUP(struct http_login, http_login_free)
