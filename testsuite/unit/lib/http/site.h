/* SPDX-License-Identifier: Apache-2.0 */
/* site.h - a server in a thread of its own, and a plain socket to it
 *
 * The test's thread is the client and blocks; the server's handler runs on the
 * site's thread. What both look at is atomic or looked at after site_stop.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/strbuf.h"
#include "lib/http/http_server.h"

struct loop;

struct site {
    struct loop *loop;
    struct http_server *server;
    pthread_t thread;
    int port;
    char path[64]; /* of its Unix socket */
};

/* Start listens on loopback, and on a Unix socket in /tmp. */
void site_start(struct site *s,
                const struct http_limits *limits,
                http_server_fn handler,
                void *arg);
void site_stop(struct site *s);

/* Runs on the site's thread; returns when it has. */
void site_call(struct site *s, void (*fn)(void *arg), void *arg);
struct http_server_counts site_counts(struct site *s);

int site_connect(const struct site *s);
int site_connect_unix(const struct site *s);
void site_send(int fd, const char *text);

/* Read until the peer closes, until `text` has come, or one whole answer with
 * a Content-Length; all give up after ten seconds.
 */
void site_read_all(int fd, struct strbuf *out);
bool site_read_until(int fd, struct strbuf *out, const char *text);
bool site_read_answer(int fd, struct strbuf *out);
