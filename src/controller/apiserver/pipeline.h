/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - POST /kiln/v1/pipelines: creates several Jobs in one transaction
 *
 *   {"key": "...", "dryRun": false, "stages": [
 *      {"name": "prepare", "job": {...}},
 *      {"name": "train", "job": {... "spec": {"dependencies": {"jobs": [
 *        {"type": "afterok", "stage": "prepare"}]}}}}]}
 *
 * Each Job takes all steps of a create, in the order of the list, and sees
 * those before it: rights, admission, quotas, validation, a line in the audit
 * log. When one is refused none is created, and the refusal names its stage. A
 * dependency on an earlier stage becomes a dependency on the number of its Job,
 * so no cycle is possible. With a key the pipeline is created once, however
 * often the request is sent. The answer is a 201, or a 200 for a repeated
 * request:
 *
 *   {"stages": [{"name": "prepare", "id": 1042, "job": "job-1042",
 *      "namespace": "default", "warnings": ["..."]}, ...]}
 *
 * Thread:  the loop's; the transaction is made in one turn, so the number of
 *          stages is limited.
 */
#pragma once

#include <stdbool.h>

struct http_peer;
struct request;

#define PIPELINE_STAGES_MOST 128u

/* Returns false when the path is another. Otherwise the request will be
 * finished.
 */
bool pipeline_serve(struct request *q, const char *path, const struct http_peer *from);
