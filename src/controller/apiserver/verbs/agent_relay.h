/* SPDX-License-Identifier: Apache-2.0 */
/* agent_relay.h - passes the output of pods from their agents to the clients
 * that may read it
 *
 * An agent keeps a stream open, nodes/NAME/requests, on which it receives
 * requests for output. It answers by POSTs to nodes/NAME/requests/ID, one piece
 * after the other; each is acknowledged when the reader has taken it. So the
 * relay keeps at most one piece of a reader, and nobody connects to a node.
 *
 * Owns:    the agents' streams, and the readers that wait or receive output.
 * Thread:  the loop's.
 * See:     doc/decisions.md, 65.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct apiserver;
struct auth_grant;
struct http_request;
struct agent_relay;
struct request;

/* Life. Free ends all streams. */
void agent_relay_free(struct agent_relay *agent_relay);
struct agent_relay *agent_relay_new(struct apiserver *server) OWNED_BY(agent_relay_free);

/* Starts a reader of pods/NAME/log or jobs/NAME/log, or an agent's
 * nodes/NAME/requests. Returns true when the relay has taken over the request,
 * its HTTP request and its grant; false when the reply is made.
 */
bool agent_relay_start(struct request *q, struct http_request *http, struct auth_grant *grant);

/* The verb of nodes/NAME/requests/ID: takes a piece of output. */
void agent_relay_take_piece(struct request *q);
