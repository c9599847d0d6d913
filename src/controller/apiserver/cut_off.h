/* SPDX-License-Identifier: Apache-2.0 */
/* cut_off.h - a controller whose database is silent answers nothing but reads of
 * old data
 *
 * Seven seconds after the last confirmation of the database another controller
 * may soon lead, so what this one has may be old, and what it would decide or
 * acknowledge may be void. Requests are refused with 503 and the reason
 * NotLeading, after which clients ask the next controller; watches end. There are
 * still answers to reads with resourceVersion=0, whose readers have said that any
 * state will do; to health, metrics and discovery; and to /kiln/v1/status, which says
 * how things are.
 *
 * Owns:    the timer that ends watches.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct apiserver;
struct cut_off;
struct http_request;
struct request;

void cut_off_free(struct cut_off *cut_off);
struct cut_off *cut_off_new(struct apiserver *server) OWNED_BY(cut_off_free);

/* Whether the request is refused now; its reply is made then. */
bool cut_off_refuse(struct request *q, const struct http_request *http);
