/* SPDX-License-Identifier: Apache-2.0 */
/* not_served.h - replies to paths and methods that the API does not serve
 *
 * Thread:  the API's loop.
 */
#pragma once

#include <stdbool.h>

#include "controller/apiserver/request/routes.h"

struct reply;

/* Whether the path ends with a subresource of pods that upstream serves and
 * Kiln does not serve yet; and the reply to a request for one. A client that
 * asks without an upgrade gets upstream's reply, any other the reason.
 */
bool not_served_yet(const char *path);
void not_served_reply_later(struct reply *r, bool upgrades);

/* `result` is any but ROUTE_FOUND. */
void not_served_reply(struct reply *r, enum route_result result);
