/* SPDX-License-Identifier: Apache-2.0 */
/* agent_relay.h - the output of pods, from the agents that have it to those who
 * may read it
 *
 * An agent keeps a stream open, nodes/NAME/requests, on which it is asked; it
 * answers by POSTs to nodes/NAME/requests/ID, one piece after the other, each
 * acknowledged when the reader has taken it. So nothing is kept here beyond
 * one piece, and nobody connects to a node.
 *
 * Owns:    the agents' streams, and the readers that wait or are being served.
 * Thread:  the loop's.
 * See:     doc/decisions.md, "Output of jobs".
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
struct agent_relay *agent_relay_new(struct apiserver *server)
    OWNED_BY(agent_relay_free);

/* A reader of pods/NAME/log, or an agent's nodes/NAME/requests: true, and the
 * request, its HTTP side and its grant are the relay's; or false, and the
 * reply is made.
 */
bool agent_relay_start(struct request *q,
                       struct http_request *http,
                       struct auth_grant *grant);

/* The verb of nodes/NAME/requests/ID: a piece of output. */
void agent_relay_take_piece(struct request *q);
