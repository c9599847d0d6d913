/* SPDX-License-Identifier: Apache-2.0 */
/* not_served.h - replies to paths and methods that lead to nothing
 *
 * Thread: the API's loop.
 */
#pragma once

#include <stdbool.h>

#include "controller/apiserver/request/routes.h"

struct reply;

/* Whether it is a subresource of pods that upstream serves and Kiln does not
 * yet, by the last word of its path; and the reply: to who asks without an
 * upgrade as upstream's, the others learn why not.
 */
bool not_served_yet(const char *path);
void not_served_reply_later(struct reply *r, bool upgrades);

/* `result`: any but ROUTE_FOUND. */
void not_served_reply(struct reply *r, enum route_result result);
