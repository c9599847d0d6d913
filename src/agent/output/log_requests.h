/* SPDX-License-Identifier: Apache-2.0 */
/* log_requests.h - what the controller asks of this node: the output of its
 * pods
 *
 * It keeps a stream to nodes/NAME/requests open, on which the controller
 * announces readers and takes them back. When the stream ends it opens another,
 * and tries again until one is open.
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

/* Life. Starts at once; `program` is kiln-output. */
void log_requests_free(struct log_requests *requests);
struct log_requests *log_requests_new(const struct agent_context *agent,
                                      struct http_client *http,
                                      const struct pods *pods,
                                      const char *program)
    OWNED_BY(log_requests_free);
DEFINE_CLEANUP(struct log_requests, log_requests_free)
