/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - a watch over HTTP: a feed, rendered and sent through a channel
 *
 * A watch exists from the request until its timeout, the client's disconnect,
 * or the end of the server. It sends bookmarks if they were asked for.
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
void watch_start(struct request *q TAKES, const struct view *view, struct http_request *http TAKES,
                 struct auth_grant *grant TAKES);

/* For the end of the server. */
void watch_end_all(struct apiserver *server);
