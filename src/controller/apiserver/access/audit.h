/* SPDX-License-Identifier: Apache-2.0 */
/* audit.h - who did what: one line of JSON for each request that changes
 * something, and for each that is refused
 *
 *   {"time":"2026-11-23T02:46:06.123456Z","user":"alice","uid":1001,
 *    "rank":"user","from":"192.0.2.7:40112","proof":"session",
 *    "verb":"patch","resource":"jobs.batch","namespace":"physics",
 *    "name":"job-7","code":200,"client":"kctl"}
 *
 * Of an administrator who asks as another user, user, uid and rank are the
 * other's, and "impersonator" is the administrator's name.
 *
 * A refusal has the reason and message of its Status. Left out are reads that
 * succeed, dry runs, questions about rights, reports of agents on themselves
 * and their pods, and requests of the controller's own components. Refusals of
 * clients without a valid proof are logged at most some a second, so that
 * nobody washes the log away from outside; the others are counted.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct http_peer;
struct request;

/* The request has its reply. `is_proven`: its principal has proved who he is.
 */
void audit_note(struct request *q,
                const struct http_peer *from,
                const char *path,
                bool is_proven);
