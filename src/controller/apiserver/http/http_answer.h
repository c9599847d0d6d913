/* SPDX-License-Identifier: Apache-2.0 */
/* http_answer.h - the answer to a request over HTTP: written, sealed and sent
 *
 * A long list is written a little at a time (time_slice.h), so the answer may
 * be sent some turns of the loop later.
 *
 * Owns:    its arguments, until the answer is handed to HTTP.
 * Thread:  the loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct auth_grant;
struct http_request;
struct request;
struct view;

/* The grant may be NULL. The view is copied, and its time is set here. */
void http_answer_start(struct request *q TAKES, const struct view *view,
                       struct http_request *http TAKES, struct auth_grant *grant TAKES);
