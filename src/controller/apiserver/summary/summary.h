/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h - /kiln/v1/nodes, /kiln/v1/status, /kiln/v1/whoami and
 * /kiln/v1/history
 *
 * `kctl nodes`, `kctl status` and `kctl whoami` print these, one request each.
 * Anybody may ask: it is what they may read of the objects anyway.
 *
 * Thread:  the loop's; long ones are made in slices.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

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

/* The files'. Each ends the request. Check: false, and the reply is made, for
 * who is no person and for what is no GET.
 */
bool summary_check(struct request *q);
void summary_nodes(struct request *q);
void summary_status(struct request *q);
void summary_whoami(struct request *q);
