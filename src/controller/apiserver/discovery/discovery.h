/* SPDX-License-Identifier: Apache-2.0 */
/* discovery.h - what the server is and has: groups and resources, version,
 * health, metrics, schemas
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct request;

/* Of the request's headers; both may be NULL. */
struct discovery_question {
    const char *path;
    const char *accept;
    const char *if_none_match;
};

/* Health and version are told to anybody, before identity. */
bool discovery_is_public(const char *path);

/* False: the path is none of these. Else the reply is made. */
bool discovery_serve(struct request *q, const struct discovery_question *asked);

/* Paths that every principal may get and that are no resources: a NULL-
 * terminated list, with "*" at an end; and whether a path is one of them.
 */
const char *const *discovery_paths(void);
bool discovery_knows(const char *path);
