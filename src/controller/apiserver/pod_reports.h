/* SPDX-License-Identifier: Apache-2.0 */
/* pod_reports.h - POST /kiln/v1/podreports: an agent's reports on several pods
 * in one request
 *
 *   {"reports": [{"namespace": "default", "name": "job-7",
 *      "patch": {"status": {...}}}, ...]}
 *
 * Each is a strategic merge patch of pods/NAME/status and takes all steps of
 * one, in the order of the list: rights, validation, a transaction of its own.
 * A refused report does not affect the others. The answer, a 200, is sent when
 * all are on the disk:
 *
 *   {"reports": [{"code": 200}, {"code": 409, "reason": "Conflict",
 *      "message": "..."}, ...]}
 *
 * Thread:  the loop's; all are started in one turn, so their number is limited.
 */
#pragma once

#include <stdbool.h>

struct http_peer;
struct request;

#define POD_REPORTS_MOST 64u

/* Returns false when the path is another. Otherwise the request will be
 * finished.
 */
bool pod_reports_serve(struct request *q, const char *path, const struct http_peer *from);
