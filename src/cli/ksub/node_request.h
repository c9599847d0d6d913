/* SPDX-License-Identifier: Apache-2.0 */
/* node_request.h - a job of several nodes: -N and --per-node
 *
 * Such a job is an Indexed Job whose pods are placed together, each on its own
 * node. The script runs on the first of them, and with --per-node on all.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct client;
struct error;
struct json;
struct strbuf;
struct submission;

bool node_request_is_several(const struct submission *submission);

/* After all options are read. Amounts that are given for all nodes become those
 * of one node. Refuses what jobs of several nodes do not have.
 */
int node_request_settle(struct submission *submission, struct error *err);

/* A job with -n and without -N that no node could run takes the fewest equal nodes
 * that could: the controller is asked what it would say. Then the submission and
 * the manifest, which are those of one node, are replaced. `asked` is the
 * submission before it was settled.
 */
struct node_spread {
    const char *program; /* of messages about waiting */
    const struct submission *asked;
    const struct strbuf *script;
    struct client *client;
    int64_t patience_ms;
    struct arena *arena;
};
bool node_request_may_spread(const struct submission *asked);
int node_request_spread(const struct node_spread *spread, struct submission *submission,
                        const struct json **manifest, struct error *err);

/* Says how many tasks each node gets, if not all get as many; otherwise adds
 * nothing.
 */
void node_request_format_division(const struct submission *submission, struct strbuf *out);

/* Makes the Job one of several nodes, if it is. */
int node_request_add(struct arena *arena, const struct submission *submission, struct json *spec,
                     struct error *err);
