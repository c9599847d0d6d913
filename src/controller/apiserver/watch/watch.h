/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - a watch over HTTP: a feed, rendered, down a channel
 *
 * Lives from the request to its timeout, the client's leaving, or the end of
 * the server. Bookmarks where asked for.
 *
 * Owns:    the request and its grant.
 * Thread:  the loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct apiserver;
struct auth_grant;
struct http_request;
struct request;
struct view;

/* The request is authorized and its options are parsed. */
void watch_start(struct request *q TAKES,
                 const struct view *view,
                 struct http_request *http TAKES,
                 struct auth_grant *grant TAKES);

/* At the end of the server. */
void watch_end_all(struct apiserver *server);
