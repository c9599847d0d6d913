/* SPDX-License-Identifier: Apache-2.0 */
/* audit.h - who did what: one line of JSON for each request that changes
 * something, and for each that is refused
 *
 *   {"time":"2026-11-23T02:46:06.123456Z","user":"alice","uid":1001,
 *    "rank":"user","from":"192.0.2.7:40112","proof":"session",
 *    "verb":"patch","resource":"jobs.batch","namespace":"physics",
 *    "name":"job-7","code":200,"client":"kctl"}
 *
 * When an administrator impersonates a user, user, uid and rank are that
 * user's, and "impersonator" is the administrator's name.
 *
 * A refusal has the reason and message of its Status. Not logged are successful
 * reads, dry runs, questions about rights, reports of agents on themselves and
 * their pods, and requests of the controller's own components. Of refusals to
 * clients without a valid proof only some are logged each second, so that
 * nobody can flush the log from outside; the others are counted.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct http_peer;
struct request;

/* Call when the request has its reply. `is_proven`: the principal is
 * authenticated.
 */
void audit_note(struct request *q, const struct http_peer *from, const char *path, bool is_proven);
