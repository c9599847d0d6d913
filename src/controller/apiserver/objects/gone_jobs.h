/* SPDX-License-Identifier: Apache-2.0 */
/* gone_jobs.h - the jobs that a Job is to wait for and that are gone: looked up
 * in history before anything of the request is decided
 *
 * Thread: the loop's.
 */
#pragma once

struct arena;
struct json;
struct request;

/* The key of request->gone_jobs of what a dependency names: a job, or tasks of
 * it. NULL: its list of tasks cannot be read.
 */
const char *gone_jobs_key(struct arena *arena, const struct json *dependency);

/* The body is a Job or a merge patch of one; a job that an update names with its
 * uid was known before. Calls `then` once request->gone_jobs has all of them that the principal may
 * read; perhaps before it returns. When history cannot tell now, the request is
 * finished instead, with a 503.
 */
typedef void gone_jobs_fn(struct request *q);
void gone_jobs_find(struct request *q, gone_jobs_fn *then);
