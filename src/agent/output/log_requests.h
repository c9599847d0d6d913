/* SPDX-License-Identifier: Apache-2.0 */
/* log_requests.h - the controller's requests to this node for the output of
 * pods
 *
 * The agent keeps a stream from nodes/NAME/requests open, on which the
 * controller announces readers, and cancels those that have gone. When the
 * stream ends, the agent opens another, and tries again until one is open.
 *
 * Owns:    the streams under way.
 * Thread:  the loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct agent_context;
struct http_client;
struct log_requests;
struct pods;

/* Life. The stream is opened at once; `program` is the path of kiln-output. */
void log_requests_free(struct log_requests *requests);
struct log_requests *log_requests_new(const struct agent_context *agent, struct http_client *http,
                                      const struct pods *pods, const char *program)
    OWNED_BY(log_requests_free);
DEFINE_CLEANUP(struct log_requests, log_requests_free)
