/* SPDX-License-Identifier: Apache-2.0 */
/* job_action.h - POST /kiln/v1/jobs/ACTION: cancels, holds, releases, requeues
 * or updates many jobs with one request
 *
 *   {"ids": "5,6,10-20"}, or {"names": ["a"], "namespace": "chem"}, or
 *   {"fieldSelector": "...", "labelSelector": "...", "states": ["Pending"],
 *    "name": "sweep*", "namespace": "chem"}
 *
 * "states" beside ids: of these jobs only those that are in one of the states by then;
 * tasks that are named are changed in any state.
 *
 * "dryRun": true only counts; "atMost": 5 changes nothing if more jobs match
 * ("isTooMany": true). The action "update" takes the changes in "update": {...}
 * (job_update_patch.h).
 *
 * Each job is changed by a patch of its own with all steps of a patch: rights,
 * admission, validation, a line in the audit log. So a refused patch does not
 * affect the others, and the answer has the outcome of each:
 *
 *   {"action": "cancel", "count": 2, "jobs": [
 *      {"id": 5, "name": "job-5", "namespace": "chem", "outcome": "Done",
 *       "message": "cancelled"}, ...], "continue": "..."}
 *
 * Outcomes are Done, Nothing (there was nothing to do), NotFound, TaskNotFound
 * (the array has none of the tasks) and Refused. A selection only finds jobs that the user may change. A request takes at most
 * 10000 jobs; the answer's "continue" is for the next request.
 *
 * Thread:  the loop's; the work is done in slices.
 */
#pragma once

#include <stdbool.h>

struct http_peer;
struct request;

/* Returns false when the path is not of an action. Otherwise the request will
 * be finished.
 */
bool job_action_serve(struct request *q, const char *path, const struct http_peer *from);
