/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - POST /kiln/v1/pipelines: creates several Jobs in one transaction
 *
 *   {"key": "...", "dryRun": false, "stages": [
 *     {"name": "prepare", "job": {...}},
 *     {"name": "train", "job": {... "spec": {"dependencies": {"jobs": [
 *       {"type": "afterok", "stage": "prepare"}]}}}}]}
 *
 * Each Job goes through all that a create of it alone does, in the order of the
 * list, and sees those before it: rights, admission, quotas, validation, a line
 * in the audit log. When one is refused none is created, and the refusal names
 * its stage. A dependency on a stage that stands before becomes one on the
 * number that its Job got; so no circle can be made. The key makes it happen
 * once, however often the same request is sent. The answer, a 201 (or a 200 of
 * one sent again):
 *
 *   {"stages": [{"name": "prepare", "id": 1042, "job": "job-1042",
 *     "namespace": "default", "warnings": ["..."]}, ...]}
 *
 * Thread: the loop's; the transaction is made in one turn of it, which is why
 * stages are counted.
 */
#pragma once

#include <stdbool.h>

struct http_peer;
struct request;

#define PIPELINE_STAGES_MOST 128u

/* False: it is another path. Else the request will be finished. */
bool pipeline_serve(struct request *q,
                    const char *path,
                    const struct http_peer *from);
