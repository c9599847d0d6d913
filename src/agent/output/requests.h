/* SPDX-License-Identifier: Apache-2.0 */
/* requests.h - what the controller asks of this node: the output of its pods
 *
 * Keeps a stream to nodes/NAME/requests open, on which readers are announced
 * and taken back; opens it again, for as long as it takes, when it ends.
 *
 * Owns:    the playbacks under way.
 * Thread:  the loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct agent_context;
struct http_client;
struct pods;
struct requests;

/* Life. Starts at once; `program` is kiln-output. */
void requests_free(struct requests *requests);
struct requests *requests_new(const struct agent_context *agent,
                              struct http_client *http,
                              const struct pods *pods,
                              const char *program) OWNED_BY(requests_free);
DEFINE_CLEANUP(struct requests, requests_free)
