/* SPDX-License-Identifier: Apache-2.0 */
/* job_action.h - POST /kiln/v1/jobs/ACTION: cancels, holds, releases,
 * requeues or updates many jobs by one request
 *
 *   {"ids": "5,6,10-20"}, or {"names": ["a"], "namespace": "chem"}, or
 *   {"fieldSelector": "...", "labelSelector": "...", "states": ["Pending"],
 *    "name": "sweep*", "namespace": "chem"}; "dryRun": true only counts, and
 * "atMost": 5 does nothing if they are more ("isTooMany": true).
 *
 * "update" says by "update": {...} what is to change (job_update_patch.h).
 *
 * Each job is changed by a patch of its own with all that belongs to one:
 * rights, admission, validation, a line in the audit log. So one that is
 * refused costs the others nothing, and the answer says of each what became of
 * it:
 *
 *   {"action": "cancel", "count": 2, "jobs": [
 *     {"id": 5, "name": "job-5", "namespace": "chem", "outcome": "Done",
 *      "message": "cancelled"}, ...], "continue": "..."}
 *
 * Outcomes are Done, Nothing (there was nothing to do), NotFound and Refused.
 * Of those that a selection finds, a user acts on their own. A request takes
 * 10000 jobs at the most; "continue" of the answer is for the next one.
 *
 * Thread:  the loop's; the work is done in slices.
 */
#pragma once

#include <stdbool.h>

struct http_peer;
struct request;

/* False: the path is no action's. Else the request will be finished. */
bool job_action_serve(struct request *q,
                      const char *path,
                      const struct http_peer *from);
