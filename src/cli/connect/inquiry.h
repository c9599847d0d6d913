/* SPDX-License-Identifier: Apache-2.0 */
/* inquiry.h - one request to a path outside the API's kinds (/kiln/v1/...),
 * which blocks
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

/* The answer's tree is in the arena. The body may be NULL. Errors have the
 * server's text: -EACCES for a 403, -EINVAL for a 400, -EAGAIN for a 429,
 * -ENOENT for a 404, -EREMOTEIO for others.
 */
int inquiry_run(struct connection *connection, enum http_method method, const char *target,
                const struct json *body, struct arena *arena, struct json **ret_answer,
                struct error *err);

/* The same as a GET. While the answer is pending, `work` is called repeatedly,
 * for a short time each, until it returns false because all work is done.
 * Returns when both the request and the work are done.
 */
typedef bool inquiry_work_fn(void *context);
int inquiry_run_beside(struct connection *connection, const char *target, inquiry_work_fn *work,
                       void *context, struct arena *arena, struct json **ret_answer,
                       struct error *err);
