/* SPDX-License-Identifier: Apache-2.0 */
/* impersonation.h - an administrator asks as another user (Impersonate-User)
 *
 * Only where nobody between the two can have added the header: by the
 * controller's socket, by TLS, or sealed by version 2 of requests. The user is
 * resolved on a worker, and the groups are that user's, whatever was asked.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>

struct principal;
struct http_request;
struct request;

/* Whether the request wants to be another's. */
bool impersonation_is_asked(const struct http_request *http);

/* Makes `principal` the user that is asked for, if q->principal, who is proven,
 * may: then `done` runs with true, later. Else the reply is made, and it runs
 * with false. All of it is in the request's arena.
 */
typedef void (*impersonation_fn)(bool is_granted, void *arg);
void impersonation_start(struct request *q,
                         const struct http_request *http,
                         struct principal *principal,
                         impersonation_fn done,
                         void *arg);
