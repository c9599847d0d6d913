/* SPDX-License-Identifier: Apache-2.0 */
/* discovery.h - what the server offers: groups and resources, version, health,
 * metrics, schemas
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct request;

/* From the request. Both headers may be NULL. */
struct discovery_question {
    const char *path;
    const char *accept;
    const char *if_none_match;
};

/* Whether the path needs no authentication: health and version. */
bool discovery_is_public(const char *path);

/* Returns false when the path is none of discovery's. Otherwise the reply is
 * made.
 */
bool discovery_serve(struct request *q, const struct discovery_question *asked);

/* Non-resource paths that every principal may get: a NULL-terminated list, with
 * "*" at the end of some; and whether a path is one of them.
 */
const char *const *discovery_paths(void);
bool discovery_knows(const char *path);
