/* SPDX-License-Identifier: Apache-2.0 */
/* http_listener.h - the sockets a server accepts from
 *
 * evhttp_bind_socket listens with a backlog of 128, which makes thousands of
 * nodes that reconnect at once wait for seconds; these have 4,096, or what
 * net.core.somaxconn allows. When descriptors run out, accepting rests until
 * the server resumes it, instead of spinning.
 *
 * Called by: http_server.c.
 * Thread:    the loop's.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/list.h"

struct error;
struct evhttp;
struct loop;

/* Life. Both add to `listeners`, which owns them; 0 or a negative errno. */
int http_listener_open(struct loop *loop,
                       struct evhttp *evhttp,
                       struct list *listeners,
                       const char *address,
                       struct error *err);
int http_listener_open_unix(struct loop *loop,
                            struct evhttp *evhttp,
                            struct list *listeners,
                            const char *path,
                            mode_t mode,
                            struct error *err);
int http_listener_check(const char *address, struct error *err);
void http_listener_resume_all(struct list *listeners);
void http_listener_close_all(struct list *listeners);

/* Look: 0 if there is none. */
int http_listener_port(const struct list *listeners);

/* Whether this machine alone can reach it: a number of that kind, or
 * "localhost".
 */
bool http_listener_is_loopback(const char *address);
