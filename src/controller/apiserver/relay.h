/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h - the output of pods, from the agents that have it to those who may
 * read it
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
struct relay;
struct request;

/* Life. Free ends all streams. */
void relay_free(struct relay *relay);
struct relay *relay_new(struct apiserver *server) OWNED_BY(relay_free);

/* A reader of pods/NAME/log, or an agent's nodes/NAME/requests: true, and the
 * request, its HTTP side and its grant are the relay's; or false, and the
 * reply is made.
 */
bool relay_start(struct request *q,
                 struct http_request *http,
                 struct auth_grant *grant);

/* The verb of nodes/NAME/requests/ID: a piece of output. */
void relay_take_piece(struct request *q);
