/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h - /kiln/v1/nodes, /kiln/v1/status, /kiln/v1/whoami,
 * /kiln/v1/history and /kiln/v1/timeline
 *
 * `kctl nodes`, `kctl status` and `kctl whoami` print these, one request each.
 * Anybody may ask: it is what they may read of the objects anyway.
 *
 * Thread:  the loop's; long ones are made in slices.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json;
struct node;
struct parameter;
struct request;

/* False: the path is none of these. Else the request will be finished. */
bool summary_serve(struct request *q, const char *path);

/* The same of history, whose question is in the query. */
bool summary_history_is_asked(const char *path);
void summary_history(struct request *q,
                     const char *path,
                     const struct parameter *parameters,
                     size_t count);

/* The same of the timeline; false: the path is none. */
bool summary_timeline_is_asked(const char *path);
bool summary_timeline(struct request *q,
                      const struct parameter *parameters,
                      size_t count);

/* The files'. Each ends the request. Check: false, and the reply is made, for
 * who is no person and for what is no GET.
 */
bool summary_check(struct request *q);
void summary_nodes(struct request *q);
void summary_status(struct request *q);
void summary_whoami(struct request *q);

/* A node as /kiln/v1/nodes has it (summary_nodes.c). */
struct json *summary_describe_node(struct request *q, const struct node *node);
