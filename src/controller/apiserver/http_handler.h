/* SPDX-License-Identifier: Apache-2.0 */
/* http_handler.h - HTTP in, requests on, replies out
 *
 * Who asks (a local peer, a session, a credential), what for (the API,
 * discovery, health), in which form the answer is wanted; and the seal that
 * proves the answer. Everything of HTTP stays here and in the streams.
 *
 * Thread: the loop's.
 */
#pragma once

struct http_request;

/* The handler of the server; `arg` is the struct apiserver. */
void http_handler_serve(struct http_request *http, void *arg);
