/* SPDX-License-Identifier: Apache-2.0 */
/* inquiry.h - one request that is of no kind of the API (/kiln/v1/...), waited
 * for
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

#include "lib/http/http.h"

struct arena;
struct connection;
struct error;
struct json;

/* The answer's tree is in the arena. The body may be NULL. Errors are in the
 * server's words: -EACCES for a 403, -EINVAL for a 400, -EAGAIN for a 429,
 * -ENOENT for a 404, -EREMOTEIO for others.
 */
int inquiry_run(struct connection *connection,
                enum http_method method,
                const char *target,
                const struct json *body,
                struct arena *arena,
                struct json **ret_answer,
                struct error *err);

/* The same as a GET, and meanwhile work is called again and again, for a moment
 * each time, until it returns false: nothing is left. Returns when both are
 * done.
 */
typedef bool inquiry_work_fn(void *context);
int inquiry_run_beside(struct connection *connection,
                       const char *target,
                       inquiry_work_fn *work,
                       void *context,
                       struct arena *arena,
                       struct json **ret_answer,
                       struct error *err);
