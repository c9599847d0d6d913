/* SPDX-License-Identifier: Apache-2.0 */
/* user_limits.h - the site's limits on what one user may have of the server:
 * requests, watches, readers of output, connections
 *
 * Those on objects are rules of admission (admission_limits.c). Root of the
 * controller's own socket, agents and the controller's own clients are bound
 * by none.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>

#include "controller/apiserver/access/user_counts.h"

struct principal;
struct http_request;
struct policy;
struct request;

bool user_limits_bind(const struct request *q);

/* One request: false, and a 429, when the user has made too many. */
bool user_limits_take_request(struct request *q);

/* One request did the work of so many more. */
void user_limits_charge_requests(const struct request *q, unsigned count);

/* One question to the scheduler (pods/NAME/why), likewise. */
bool user_limits_take_question(struct request *q);

/* Such a question that begins to wait for its answer: false, and a 429, when
 * the user has too many that wait. Its end: user_limits_end_stream.
 */
bool user_limits_begin_question(struct request *q);

/* A stream that begins, and its end. False, and a 429, when the user has too
 * many; end is for those that began.
 */
bool user_limits_begin_stream(struct request *q, enum user_stream stream);
void user_limits_end_stream(struct request *q, enum user_stream stream);

/* The connection is the principal's from now on: false, and a 429, when the
 * principal has too many. An agent's counts for its node, without a limit.
 */
bool user_limits_take_connection(struct request *q, struct http_request *http);
