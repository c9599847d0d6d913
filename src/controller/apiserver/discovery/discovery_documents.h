/* SPDX-License-Identifier: Apache-2.0 */
/* discovery_documents.h - the discovery documents of groups and resources
 *
 * There are plain documents, one for each path, and aggregated ones, which
 * kubectl asks for first: each has everything, and an ETag.
 *
 * Called by:  discovery.c. Each function makes the reply, or returns false when
 *             there is no such group or version.
 * Thread:     the loop's.
 */
#pragma once

#include <stdbool.h>

struct request;

/* discovery_plain.c */
void discovery_api_versions(struct request *q); /* /api */
void discovery_groups(struct request *q);       /* /apis */
bool discovery_group(struct request *q, const char *name);
bool discovery_resources(struct request *q, const char *group, const char *version);

/* discovery_aggregated.c: for /api the core group, for /apis all others.
 * `if_none_match` may be NULL.
 */
void discovery_aggregated(struct request *q, bool is_core, bool is_v2beta1,
                          const char *if_none_match);
