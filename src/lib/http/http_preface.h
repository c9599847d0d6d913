/* SPDX-License-Identifier: Apache-2.0 */
/* http_preface.h - what a relay says about a connection before its first byte
 *
 * A connection is held back until its first bytes are there, without being read
 * from the socket: evhttp, or a layer such as TLS, sees only what follows a
 * preface.
 *
 * Called by: http_connection.c.
 * Thread:    the loop's.
 */
#pragma once

struct http_connection;

/* Life, of one connection's wait. Stop gives the descriptor back, so that it is closed with
 * the connection.
 */
void http_preface_await(struct http_connection *c);
void http_preface_stop(struct http_connection *c);
