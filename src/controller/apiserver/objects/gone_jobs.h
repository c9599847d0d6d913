/* SPDX-License-Identifier: Apache-2.0 */
/* gone_jobs.h - the jobs that a Job depends on and that are gone: looked up in
 * history before the request is processed
 *
 * Thread:  the loop's.
 */
#pragma once

struct arena;
struct json;
struct request;

/* The key in request->gone_jobs for a dependency: a job, or tasks of it.
 * Returns NULL when its list of tasks is invalid.
 */
const char *gone_jobs_key(struct arena *arena, const struct json *dependency);

/* The body is a Job or a merge patch of one. In an update, a dependency with a
 * uid was resolved before and is skipped. Calls `then`, perhaps before it
 * returns, once request->gone_jobs has all those that the principal may read.
 * When history cannot answer now, the request is finished with a 503 instead.
 */
typedef void gone_jobs_fn(struct request *q);
void gone_jobs_find(struct request *q, gone_jobs_fn *then);
