/* SPDX-License-Identifier: Apache-2.0 */
/* http_handler.h - turns HTTP requests into API requests, and replies into HTTP
 *
 * It authenticates the principal (a local peer, a session, a credential), finds
 * what the request is for (the API, discovery, health) and in which form the
 * answer is wanted, and seals the answer. Only this file and the streams depend
 * on HTTP.
 *
 * Thread:  the loop's.
 */
#pragma once

struct http_request;

/* The handler for the HTTP server; `arg` is the struct apiserver. */
void http_handler_serve(struct http_request *http, void *arg);
