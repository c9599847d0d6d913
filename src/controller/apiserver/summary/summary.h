/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h - /kiln/v1/nodes, /kiln/v1/status and /kiln/v1/whoami
 *
 * `kctl nodes`, `kctl status` and `kctl whoami` print these, one request each.
 * Anybody may ask: it is what they may read of the objects anyway.
 *
 * Thread:  the loop's; long ones are made in slices.
 */
#pragma once

#include <stdbool.h>

struct request;

/* False: the path is none of these. Else the request will be finished. */
bool summary_serve(struct request *q, const char *path);

/* The files'. Each ends the request. */
void summary_nodes(struct request *q);
void summary_status(struct request *q);
void summary_whoami(struct request *q);
