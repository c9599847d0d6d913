/* SPDX-License-Identifier: Apache-2.0 */
/* discovery_documents.h - what discovery answers about groups and resources
 *
 * Plain documents, one for a path, and the aggregated ones that kubectl asks
 * for first, which say everything at once and carry an ETag.
 *
 * Called by: discovery.c. Each makes the reply; false: there is no such thing.
 * Thread:    the loop's.
 */
#pragma once

#include <stdbool.h>

struct request;

/* discovery_plain.c */
void discovery_api_versions(struct request *q); /* /api */
void discovery_groups(struct request *q);       /* /apis */
bool discovery_group(struct request *q, const char *name);
bool
discovery_resources(struct request *q, const char *group, const char *version);

/* discovery_aggregated.c: of /api the core group, of /apis all others.
 * `if_none_match` may be NULL.
 */
void discovery_aggregated(struct request *q,
                          bool is_core,
                          bool is_v2beta1,
                          const char *if_none_match);
