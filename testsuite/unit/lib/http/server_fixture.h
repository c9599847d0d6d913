/* SPDX-License-Identifier: Apache-2.0 */
/* server_fixture.h - a server in its own thread, and a plain socket to it
 *
 * The test's thread is the client and blocks; the server's handler runs on a
 * thread of the fixture. Members that both use are atomic, or are read after
 * server_fixture_stop.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/strbuf.h"
#include "lib/http/http_connection.h"
#include "lib/http/http_server.h"

struct loop;

struct server_fixture {
    struct loop *loop;
    struct http_server *server;
    pthread_t thread;
    int port;
    char path[64]; /* of its Unix socket */
};

/* server_fixture_start listens on loopback, and on a Unix socket in /tmp. */
void server_fixture_start(struct server_fixture *s, const struct http_limits *limits,
                          http_server_fn handler, void *arg);
void server_fixture_stop(struct server_fixture *s);

/* Runs `fn` on the fixture's thread, and returns after that. */
void server_fixture_call(struct server_fixture *s, void (*fn)(void *arg), void *arg);
struct http_server_counts server_fixture_counts(struct server_fixture *s);

int server_fixture_connect(const struct server_fixture *s);
int server_fixture_connect_unix(const struct server_fixture *s);
void server_fixture_send(int fd, const char *text);

/* Read until the peer closes, until `text` was received, or one whole answer
 * with a Content-Length; all give up after ten seconds.
 */
void server_fixture_read_all(int fd, struct strbuf *out);
bool server_fixture_read_until(int fd, struct strbuf *out, const char *text);
bool server_fixture_read_answer(int fd, struct strbuf *out);
