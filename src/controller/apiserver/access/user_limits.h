/* SPDX-License-Identifier: Apache-2.0 */
/* user_limits.h - the site's limits on what one user may use of the server:
 * requests, watches, readers of output, connections
 *
 * Limits on objects are admission rules (admission_limits.c). Root over the
 * controller's socket, agents and the controller's own components have no
 * limits.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

#include "controller/apiserver/access/user_counts.h"

struct http_request;
struct request;

bool user_limits_bind(const struct request *q);

/* Takes one request. Returns false, with a 429, when the user has made too
 * many.
 */
bool user_limits_take_request(struct request *q);

/* Charges a request that did the work of `count` more. */
void user_limits_charge_requests(const struct request *q, unsigned count);

/* The same for a question to the scheduler (pods/NAME/why). */
bool user_limits_take_question(struct request *q);

/* Begins to wait for the answer to such a question. Returns false, with a 429,
 * when too many of the user's questions wait. user_limits_end_stream ends the
 * wait.
 */
bool user_limits_begin_question(struct request *q);

/* The begin and the end of a stream. Returns false, with a 429, when the user
 * has too many; call end only for those that began.
 */
bool user_limits_begin_stream(struct request *q, enum user_stream stream);
void user_limits_end_stream(struct request *q, enum user_stream stream);

/* Assigns the connection to the principal. Returns false, with a 429, when the
 * principal has too many. An agent's connection is counted for its node,
 * without a limit.
 */
bool user_limits_take_connection(struct request *q, struct http_request *http);
