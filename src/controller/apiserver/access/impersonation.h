/* SPDX-License-Identifier: Apache-2.0 */
/* impersonation.h - an administrator acts as another user (Impersonate-User)
 *
 * Allowed only where nobody in between can have added the header: over the
 * controller's socket, over TLS, or in requests sealed by version 2. A worker
 * looks up the user; the groups are always the user's own, whatever was
 * requested.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct principal;
struct http_request;
struct request;

/* Whether the request has impersonation headers. */
bool impersonation_is_asked(const struct http_request *http);

/* Makes `principal` the requested user if q->principal, which is authenticated,
 * may do that: then `done` runs later, with true. Otherwise the reply is made
 * and `done` runs with false. All data is in the request's arena.
 */
typedef void (*impersonation_fn)(bool is_granted, void *arg);
void impersonation_start(struct request *q, const struct http_request *http,
                         struct principal *principal, impersonation_fn done, void *arg);
