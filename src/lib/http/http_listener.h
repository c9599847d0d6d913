/* SPDX-License-Identifier: Apache-2.0 */
/* http_listener.h - the sockets that a server accepts from
 *
 * evhttp_bind_socket listens with a backlog of 128, so that thousands of nodes
 * that reconnect at once wait for seconds; these sockets have a backlog of
 * 4,096, or of net.core.somaxconn if that is less. When file descriptors run
 * out, accepting stops until the server resumes it, instead of spinning.
 *
 * Called by: http_server.c; the agent, for a port that does not speak HTTP.
 * Thread:    the loop's.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/list.h"

struct error;
struct evhttp;
struct loop;

/* Life. Both append to `listeners`, which owns them; 0 or a negative errno. */
int http_listener_open(struct loop *loop, struct evhttp *evhttp, struct list *listeners,
                       const char *address, struct error *err);
int http_listener_open_unix(struct loop *loop, struct evhttp *evhttp, struct list *listeners,
                            const char *path, mode_t mode, struct error *err);

/* A listening socket that is the caller's: "HOST:PORT", "[V6]:PORT" or
 * "*:PORT". Check only looks at the text.
 */
int http_listener_bind(const char *address, int *ret_fd, struct error *err);
int http_listener_check(const char *address, struct error *err);
void http_listener_resume_all(struct list *listeners);
void http_listener_close_all(struct list *listeners);

/* The port; 0 if there is none. */
int http_listener_port(const struct list *listeners);

/* Whether only this host can reach the address: a numeric loopback address, or
 * "localhost".
 */
bool http_listener_is_loopback(const char *address);
