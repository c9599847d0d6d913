/* SPDX-License-Identifier: Apache-2.0 */
/* pod_reports.h - POST /kiln/v1/podreports: what an agent has to say of several
 * pods, in one request
 *
 *   {"reports": [{"namespace": "default", "name": "job-7",
 *                 "patch": {"status": {...}}}, ...]}
 *
 * Each is a strategic merge patch of pods/NAME/status and goes through all that
 * one alone does, in the order of the list: rights, validation, a transaction of
 * its own. One that is refused keeps no other back. Answered once all are on the
 * disk, a 200:
 *
 *   {"reports": [{"code": 200}, {"code": 409, "reason": "Conflict",
 *                 "message": "..."}, ...]}
 *
 * Thread: the loop's; all are taken in one turn of it, which is why they are
 * counted.
 */
#pragma once

#include <stdbool.h>

struct http_peer;
struct request;

#define POD_REPORTS_MOST 64u

/* False: it is another path. Else the request will be finished. */
bool pod_reports_serve(struct request *q,
                       const char *path,
                       const struct http_peer *from);
